"""The weights of a saved parser: a safetensors file whose header is checked before anything is built from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from treecrf.arrays import AnyArray
from treecrf.files import DamagedFileError, parse_json
from treecrf.network.runtime.weights import SCALE_PREFIX

_LENGTH_BYTES = 8  # size of the number before the header
_MAX_HEADER_BYTES = 1 << 22
_FLOATS = ("F16", "F32", "F64")
_INTEGERS = ("BOOL", "U8", "I16", "I32", "I64")  # buffers of encoders that transformers implements
_QUANTIZED = "I8"
_MAX_WEIGHT = 1e30  # larger ones become infinite in float32 when they are multiplied

Arrays = dict[str, AnyArray]
Shapes = Mapping[str, tuple[int, ...]]


class StoredWeight(NamedTuple):
    """The type and the shape of a weight in the header of its file."""

    dtype: str
    shape: tuple[int, ...]


def load_weights(data: bytes, expected: Shapes | None, path: Path) -> Arrays:
    """The weights of a safetensors file, as they are stored.

    They have the `expected` shapes, if these are known, and all of them are finite numbers.
    """
    header = _read_header(data, path)
    shapes = {name: weight.shape for name, weight in header.items() if not name.startswith(SCALE_PREFIX)}
    if expected is not None:
        check_shapes(shapes, expected, path)
    for name in header:
        _check_type(name, header, path, has_integers=expected is None)
    try:
        arrays = load_arrays(data)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error!s:.200}") from None
    for name, array in arrays.items():
        if not _is_finite(array):
            raise DamagedFileError(
                f"{path} has a weight in {name!r:.100} that is not a finite number below {_MAX_WEIGHT}"
            )
    return arrays


def check_shapes(actual: Shapes, expected: Shapes, path: str | Path) -> None:
    """Checks that a file has the weights of a model."""
    wrong = [name for name in {**expected, **actual} if expected.get(name) != actual.get(name)]
    if wrong:
        actual_shape, expected_shape = (
            "none" if (shape := shapes.get(wrong[0])) is None else list(shape) for shapes in (actual, expected)
        )
        raise DamagedFileError(
            f"{path} does not contain the weights of this model: '{wrong[0][:100]}' has shape {actual_shape!s:.100}, "
            f"expected {expected_shape}; {len(wrong)} of {len(expected)} differ"
        )


def _read_header(data: bytes, path: Path) -> dict[str, StoredWeight]:
    """The types and shapes of the weights in a safetensors file, without its metadata."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > min(_MAX_HEADER_BYTES, len(data) - _LENGTH_BYTES):
        raise DamagedFileError(f"{path} cannot be read as safetensors: its header would have {length:,} bytes")
    values = parse_json(data[_LENGTH_BYTES : _LENGTH_BYTES + length], path)
    try:
        entries = {name: entry for name, entry in values.items() if name != "__metadata__"}
        header = {name: StoredWeight(entry["dtype"], tuple(entry["shape"])) for name, entry in entries.items()}
    except (AttributeError, KeyError, TypeError):
        raise DamagedFileError(f"{path} cannot be read as safetensors: its header does not describe arrays") from None
    return header


def _check_type(name: str, header: Mapping[str, StoredWeight], path: Path, *, has_integers: bool) -> None:
    """Checks that a weight has floats, or bytes with one scale per row, and that scales belong to bytes."""
    weight = header[name]
    types = (*_FLOATS, *(_INTEGERS if has_integers else ()))
    if name.startswith(SCALE_PREFIX):
        quantized = header.get(name.removeprefix(SCALE_PREFIX))
        is_right = weight.dtype in _FLOATS and quantized is not None and quantized.dtype == _QUANTIZED
        is_right = is_right and quantized is not None and weight.shape == (*quantized.shape[:-1], 1)
    elif weight.dtype == _QUANTIZED:
        is_right = SCALE_PREFIX + name in header and len(weight.shape) > 1
    else:
        is_right = weight.dtype in types
    if not is_right:
        raise DamagedFileError(
            f"{path} has {name!r:.100} with type {weight.dtype!r:.20} and shape {list(weight.shape)!s:.100}; expected "
            f"{', '.join(types)}, or {_QUANTIZED} with one scale per row under '{SCALE_PREFIX}'"
        )


def _is_finite(array: AnyArray) -> bool:
    """Whether all numbers are finite in float32; NaN is the minimum of an array that contains it."""
    if array.dtype.kind != "f" or not array.size:
        return True
    return float(array.min()) > -_MAX_WEIGHT and float(array.max()) < _MAX_WEIGHT
