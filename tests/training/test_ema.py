"""The moving average of weights: its definition, its use in training, and resumed runs."""

from pathlib import Path

import pytest
import torch

from small import small_recipe, whole_and_resumed
from treecrf import Parser
from treecrf.training.checkpoint import STATE, read_safetensors
from treecrf.training.config import TrainConfig
from treecrf.training.loop import fit
from treecrf.training.optimizer import EMA


def test_each_update_decays_the_average() -> None:
    weights = [torch.nn.Parameter(torch.tensor([8.0, 0.0])), torch.nn.Parameter(torch.tensor([[1.0]]))]
    ema = EMA(weights, 0.75)
    with torch.no_grad():
        weights[0].copy_(torch.tensor([0.0, 4.0]))
    ema.update()
    ema.update()
    assert ema.averages[0].tolist() == [8 * 0.75**2, 4 * (1 - 0.75**2)]
    assert ema.averages[1].tolist() == [[1.0]]


def test_averages_are_swapped_in_without_moving_the_weights() -> None:
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    ema = EMA([weight], 0.5)
    with torch.no_grad():
        weight.fill_(6.0)
    ema.update()
    address = weight.data_ptr()
    with pytest.raises(KeyError), ema.swapped_in():
        assert weight.item() == 4.0 and weight.data_ptr() == address
        raise KeyError
    assert weight.item() == 6.0 and ema.averages[0].item() == 4.0


def test_the_saved_parser_has_the_averages_and_training_continues_without_them(tmp_path: Path) -> None:
    fit(small_recipe(epochs=2), tmp_path / "plain", device="cpu")
    fit(small_recipe(epochs=2, ema_decay=0.9), tmp_path / "averaged", device="cpu")
    plain, averaged = (read_safetensors(tmp_path / name / STATE)[0] for name in ("plain", "averaged"))
    for name in (name for name in plain if name.startswith("model.")):
        assert torch.equal(plain[name], averaged[name])  # the averages do not affect the steps
    saved = dict(Parser.load(tmp_path / "averaged", device="cpu").model.named_parameters())
    averages = {name.removeprefix("ema."): value for name, value in averaged.items() if name.startswith("ema.")}
    assert averages and all(torch.equal(saved[name], value) for name, value in averages.items())
    assert any(not torch.equal(saved[name], plain[f"model.{name}"]) for name in averages)


def test_a_resumed_run_ends_with_the_same_averages(tmp_path: Path) -> None:
    recipe = small_recipe(epochs=3, ema_decay=0.9, checkpoint_steps=2)
    whole, resumed = whole_and_resumed(recipe, tmp_path)
    assert whole.keys() == resumed.keys() and all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_decay_of_one_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"ema_decay is 1\.0; expected at least 0"):
        TrainConfig(ema_decay=1.0)
