from pathlib import Path

import pytest
import torch

from treecrf.files import DamagedFileError, reading, write_file
from treecrf.parser.models import model_folder
from treecrf.training import tensor_io
from treecrf.training.tensor_io import read_safetensors, to_safetensors


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
    for module in (reading, model_folder, tensor_io):
        source = Path(module.__file__).read_text()
        assert "pickle" not in source and "torch.load" not in source
