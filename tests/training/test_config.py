"""Tests of the settings of a training run."""

import re
from typing import Any

import pytest

from small import small_recipe
from treecrf.network.data.model_config import ModelConfig
from treecrf.training import DataConfig, Recipe, TrainConfig


def test_invalid_weights_are_errors() -> None:
    with pytest.raises(ValueError, match="2 weights for 1 files of train; expected one for each"):
        small_recipe(data={"weights": (1.0, 2.0)})
    for weights in ((0.0,), (-1.0,), (float("inf"),)):
        with pytest.raises(ValueError, match="expected numbers from 0, and at least one above 0"):
            small_recipe(data={"weights": weights})
    with pytest.raises(ValueError, match="expected a share of the sentences"):
        small_recipe(data={"lowercase": 1.5})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", 0, "epochs is 0; expected 1 or more"),
        ("accumulate", 0, "accumulate is 0; expected 1 or more"),
        ("clip", 0.0, "clip is 0.0; expected more than 0"),
        ("seed", -1, "seed is -1; expected 0 or more"),
        ("checkpoint_seconds", -0.5, "checkpoint_seconds is -0.5; expected 0 or more"),
        ("learning_rate", float("nan"), "learning_rate is nan; expected more than 0"),
        ("warmup", 1.0, "warmup is 1.0; expected a share of the run, at least 0 and less than 1"),
        ("ema_decay", 1.0, "ema_decay is 1.0; expected at least 0 and less than 1"),
        ("distillation_weight", 1.1, "distillation_weight is 1.1; expected a share of the loss, from 0 to 1"),
        ("betas", (0.9, 1.0), "betas are (0.9, 1.0); expected two numbers of at least 0 and less than 1"),
    ],
)
def test_settings_outside_their_limits_are_errors(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        TrainConfig(**{name: value})  # type: ignore[arg-type]


def test_limits_themselves_are_allowed() -> None:
    TrainConfig(epochs=1, seed=0, checkpoint_seconds=0.0, warmup=0.0, ema_decay=0.0, distillation_weight=1.0)


@pytest.mark.parametrize("lowercase", [-0.1, 1.1])
def test_the_share_of_lowercase_sentences_is_checked(lowercase: float) -> None:
    with pytest.raises(ValueError, match=r"expected a share of the sentences, from 0 to 1"):
        DataConfig(train=("a",), dev=("b",), lowercase=lowercase)


def test_teachers_need_a_crf() -> None:
    data, train = DataConfig(train=("a",), dev=("b",)), TrainConfig(teachers=("run",))
    for loss in ("one-stage-margin", "tree"):
        with pytest.raises(ValueError, match=f"model.loss is '{loss}'; expected 'two-stage'"):
            Recipe(data=data, model=ModelConfig(loss=loss), train=train)


@pytest.mark.parametrize("model", [{"loss": "one-stage-margin"}, {"tag_size": 10}])
def test_partial_trees_need_a_crf_without_input_tags(model: dict[str, Any]) -> None:
    data = DataConfig(partial=("a.txt",), dev=("b",))
    assert Recipe(data=data).data.train == ()
    with pytest.raises(ValueError, match=r"data\.partial is set"):
        Recipe(data=data, model=ModelConfig(**model))
    with pytest.raises(ValueError, match=r"data\.partial is set"):
        Recipe(data=data, train=TrainConfig(teachers=("run",)))


def test_training_needs_trees_or_partial_trees() -> None:
    with pytest.raises(ValueError, match=r"data\.train names no file"):
        DataConfig(dev=("b",))
