"""Tests of checkpoints."""

from pathlib import Path

import pytest
import torch

from small import small_recipe
from treecrf import files
from treecrf.files import DamagedFileError, write_file
from treecrf.parser.models import model_folder
from treecrf.training import checkpoint, fit
from treecrf.training.checkpoint import STATE, TrainState, read_safetensors, to_safetensors


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


def test_tensors_and_notes_are_read_back(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6).view(2, 3).t(), "b": torch.tensor(1.5), "c": torch.zeros(0, 4)}
    write_file(tmp_path / "state", to_safetensors(tensors, {"epoch": 3, "best": {"f": 0.1}}))
    loaded, notes = read_safetensors(tmp_path / "state")
    assert notes == {"epoch": 3, "best": {"f": 0.1}}
    assert loaded.keys() == tensors.keys() and all(torch.equal(loaded[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("length", [0, 5, 60, -1])
def test_a_truncated_file_is_rejected(tmp_path: Path, length: int) -> None:
    (tmp_path / "state").write_bytes(to_safetensors({"a": torch.arange(6)})[:length])
    with pytest.raises(DamagedFileError, match="state cannot be read as safetensors"):
        read_safetensors(tmp_path / "state")


def test_equal_tensors_make_equal_bytes() -> None:
    tensors = {"b": torch.arange(6), "a": torch.ones(2)}
    assert to_safetensors(tensors) == to_safetensors(dict(reversed(tensors.items())))


def test_files_are_read_without_pickle() -> None:
    for module in (files, model_folder, checkpoint):
        source = Path(module.__file__).read_text()
        assert "pickle" not in source and "torch.load" not in source
