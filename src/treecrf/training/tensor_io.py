"""Safetensors files with tensors and JSON notes. Reading one never executes its content."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from treecrf.files import DamagedFileError


def to_safetensors(tensors: Mapping[str, Tensor], notes: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    """The content of a safetensors file with these tensors; the notes can be anything that JSON can hold."""
    copies = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    return save(copies, {name: json.dumps(note) for name, note in notes.items()})


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads the tensors and the notes of a file whose content `to_safetensors` made."""
    try:
        with safe_open(path, framework="pt") as file:
            notes = {name: json.loads(note) for name, note in (file.metadata() or {}).items()}
            return {name: file.get_tensor(name) for name in file.keys()}, notes  # noqa: SIM118  # it is no dict
    except (SafetensorError, ValueError) as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None
