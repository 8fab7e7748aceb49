"""Tests of checkpoints."""

from pathlib import Path

import pytest

from small import small_recipe
from treecrf.files import DamagedFileError, write_file
from treecrf.training import fit
from treecrf.training.checkpoint import STATE, TrainState
from treecrf.training.tensor_io import read_safetensors, to_safetensors


def test_a_checkpoint_has_weights_averages_optimizer_and_counters(tmp_path: Path) -> None:
    fit(small_recipe(epochs=1, ema_decay=0.9), tmp_path, device="cpu")
    tensors, notes = read_safetensors(tmp_path / STATE)
    assert {name.partition(".")[0] for name in tensors} == {"model", "ema", "optimizer"}
    assert notes.keys() == {"counters"}
    counters = "epoch batch step best_epoch best_f loss seen_loss seen_batches sentences seconds records"
    assert list(notes["counters"]) == counters.split()


@pytest.mark.parametrize("notes", [{}, {"counters": {"chapter": 1}}])
def test_a_checkpoint_without_counters_is_an_error(tmp_path: Path, notes: dict[str, object]) -> None:
    fit(small_recipe(epochs=1), tmp_path, device="cpu")
    tensors, _ = read_safetensors(tmp_path / STATE)
    write_file(tmp_path / STATE, to_safetensors(tensors, notes))
    with pytest.raises(DamagedFileError, match="does not hold the counters of a training run"):
        fit(small_recipe(epochs=1), tmp_path, device="cpu", resume=True)


def test_a_checkpoint_of_another_model_is_an_error(tmp_path: Path) -> None:
    fit(small_recipe(epochs=1), tmp_path, device="cpu")
    tensors, notes = read_safetensors(tmp_path / STATE)
    name = next(name for name in tensors if name.startswith("model."))
    del tensors[name]
    write_file(tmp_path / STATE, to_safetensors(tensors, notes))
    with pytest.raises(DamagedFileError, match="holds the state of another model"):
        fit(small_recipe(epochs=1), tmp_path, device="cpu", resume=True)


def test_the_next_epoch_starts_without_batches_and_loss() -> None:
    state = TrainState(epoch=2, batch=7, step=40, best_f=90.0, loss=3.0, seen_loss=2.0, seen_batches=5, sentences=9)
    state.start_next_epoch()
    assert state == TrainState(epoch=3, step=40, best_f=90.0)
