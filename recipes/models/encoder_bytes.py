"""Writes an encoder in small files, with a byte for each number of its matrices; or such files as an encoder.

    python recipes/models/encoder_bytes.py pack encoders/gte-small data/encoders/gte-small
    python recipes/models/encoder_bytes.py unpack data/encoders/gte-small runs/encoders/gte-small

Matrices are rounded to 0.06 of the root mean square of each row, which costs about six bits a number in compressed
files.
"""

import gzip
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load, load_file, save, save_file

from treecrf.arrays import AnyArray
from treecrf.network.runtime.weights import dequantize_weights, quantize_weights

STEP = 0.06  # as in `treecrf pack --weight-step`
PART_BYTES = 36 << 20  # before compression
WEIGHTS = "model.safetensors"


def parts(arrays: Mapping[str, AnyArray]) -> Iterator[dict[str, AnyArray]]:
    """Yields the arrays in groups of about the size of a part."""
    part: dict[str, AnyArray] = {}
    for name, array in arrays.items():
        if part and sum(each.nbytes for each in part.values()) + array.nbytes > PART_BYTES:
            yield part
            part = {}
        part[name] = array
    yield part


def copy_settings(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.suffix in (".json", ".txt"):
            shutil.copy(path, target)


def pack(source: Path, target: Path) -> None:
    copy_settings(source, target)
    weights = {name: array.astype(np.float32) for name, array in load_file(source / WEIGHTS).items()}
    for number, part in enumerate(parts(quantize_weights(weights, STEP))):
        (target / f"{WEIGHTS}.{number}.gz").write_bytes(gzip.compress(save(part), 6, mtime=0))


def unpack(source: Path, target: Path) -> None:
    copy_settings(source, target)
    arrays: dict[str, AnyArray] = {}
    for path in sorted(source.glob(f"{WEIGHTS}.*.gz")):
        arrays |= load(gzip.decompress(path.read_bytes()))
    weights = {name: array.astype(np.float16) for name, array in dequantize_weights(arrays).items()}
    save_file(weights, target / WEIGHTS, {"format": "pt"})


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    (pack if sys.argv[1] == "pack" else unpack)(Path(sys.argv[2]), Path(sys.argv[3]))
