"""The running average of weights: by its definition, in training, and over an interruption."""

from pathlib import Path

import pytest
import torch

from small import small_recipe, whole_and_resumed
from treecrf import Parser
from treecrf.atomic_io import unpack
from treecrf.training.checkpoint import STATE
from treecrf.training.config import TrainConfig
from treecrf.training.ema import Average
from treecrf.training.loop import fit


def test_each_step_keeps_a_share_of_the_average() -> None:
    weights = [torch.nn.Parameter(torch.tensor([8.0, 0.0])), torch.nn.Parameter(torch.tensor([[1.0]]))]
    average = Average(weights, 0.75)
    with torch.no_grad():
        weights[0].copy_(torch.tensor([0.0, 4.0]))
    average.update()
    average.update()
    assert average.tensors[0].tolist() == [8 * 0.75**2, 4 * (1 - 0.75**2)]
    assert average.tensors[1].tolist() == [[1.0]]


def test_weights_are_the_average_for_a_while_and_stay_where_they_are() -> None:
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    average = Average([weight], 0.5)
    with torch.no_grad():
        weight.fill_(6.0)
    average.update()
    place = weight.data_ptr()
    with pytest.raises(KeyError), average.in_place():
        assert weight.item() == 4.0 and weight.data_ptr() == place
        raise KeyError
    assert weight.item() == 6.0 and average.tensors[0].item() == 4.0


def test_the_saved_parser_is_the_average_and_the_run_goes_on_without_it(tmp_path: Path) -> None:
    fit(small_recipe(epochs=2), tmp_path / "plain", device="cpu")
    fit(small_recipe(epochs=2, ema_decay=0.9), tmp_path / "averaged", device="cpu")
    plain, averaged = (unpack(tmp_path / name / STATE)[0] for name in ("plain", "averaged"))
    for name in (name for name in plain if name.startswith("model.")):
        assert torch.equal(plain[name], averaged[name])  # the average never enters the steps
    saved = dict(Parser.load(tmp_path / "averaged", device="cpu").model.named_parameters())
    kept = {name.removeprefix("average."): value for name, value in averaged.items() if name.startswith("average.")}
    assert kept and all(torch.equal(saved[name], value) for name, value in kept.items())
    assert any(not torch.equal(saved[name], plain[f"model.{name}"]) for name in kept)


def test_an_interrupted_average_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    recipe = small_recipe(epochs=3, ema_decay=0.9, checkpoint_steps=2)
    whole, resumed = whole_and_resumed(recipe, tmp_path)
    assert whole.keys() == resumed.keys() and all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_an_average_that_never_changes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ema_decay is 1\.0; expected at least 0"):
        TrainConfig(ema_decay=1.0)
