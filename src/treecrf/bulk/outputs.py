"""Where a command writes: standard output, or files that appear whole.

Lines go to a hidden file beside the output, which takes its name at the end. One that an interrupted run left can be
gone on with: it is cut back to whole blocks of lines, so that what follows is computed from the same blocks as without
the interruption, and the end is the same to the last byte.
"""

import gzip
import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from treecrf.bulk.inputs import STDIN, Source, find_sources


def plan(inputs: list[str], output: str, suffix: str) -> list[tuple[Source, Path | None]]:
    """Each input and its output; None is standard output."""
    if output == STDIN:
        return [(source, None) for source in find_sources(inputs)]
    out = Path(output)
    sources = find_sources(inputs, besides=out)
    if len(inputs) == 1 == len(sources) and not Path(inputs[0]).is_dir() and not (out.is_dir() or output[-1] == os.sep):
        jobs = [(sources[0], out)]
    elif out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; several inputs need a folder for their outputs")
    else:
        jobs = [(source, out / _renamed(source.relative, suffix)) for source in sources]
    targets = Counter(target for _, target in jobs)
    for source, target in jobs:
        if source.path != STDIN and target.resolve() == Path(source.path).resolve():
            raise ValueError(f"{target} is an input and would be overwritten; choose another -o")
        if targets[target] > 1:
            raise ValueError(f"several inputs would be written to {target}; parse them one by one")
    return list(jobs)


def _renamed(path: Path, suffix: str) -> Path:
    packed = ".gz" if path.suffix == ".gz" else ""
    plain = path.with_suffix("") if packed else path
    return plain.with_suffix(suffix + packed)


class Sink:
    """Lines to a stream as they come; `done` counts those that an earlier run has written."""

    done = 0

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __enter__(self) -> "Sink":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._stream.flush()

    def write(self, lines: Sequence[str]) -> None:
        """Add lines."""
        self._stream.write("\n".join([*lines, ""]).encode())
        self._stream.flush()

    def end_block(self) -> None:
        """Say that a block of lines is complete."""


class FileSink(Sink):
    """Lines to a file, compressed if its name ends in `.gz`, that appears when all are written.

    `block` is how many lines make a block.
    """

    def __init__(self, path: Path, settings: Mapping[str, object], *, block: int, resume: bool = False) -> None:
        self._path = path = path.resolve()
        self._part = path.with_name(f".{path.name}.part")
        self._settings = path.with_name(f".{path.name}.settings")
        self._is_packed = path.suffix == ".gz"
        self._block: list[bytes] = []  # of a compressed file, which is written block by block
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(settings, indent=1)
        if resume and self._part.exists():
            self._check(text)
            self.done = _cut(self._part, block, is_packed=self._is_packed)
        else:
            self._part.write_bytes(b"")
            self._settings.write_text(text, encoding="utf-8")
        super().__init__(self._part.open("ab"))

    def _check(self, settings: str) -> None:
        begun = self._settings.read_text(encoding="utf-8") if self._settings.exists() else "{}"
        if begun == settings:
            return
        old, new = json.loads(begun), json.loads(settings)
        changed = [f"{name} was {old.get(name)!r}, not {new[name]!r}" for name in new if old.get(name) != new[name]]
        raise ValueError(
            f"{self._path} was begun otherwise: {', '.join(changed)}; say the same, or start anew without --resume"
        )

    def write(self, lines: Sequence[str]) -> None:
        if self._is_packed:
            self._block.append("\n".join([*lines, ""]).encode())
        else:
            super().write(lines)

    def end_block(self) -> None:
        if self._block:
            # neither name nor date, so that the same lines make the same file
            self._stream.write(gzip.compress(b"".join(self._block), mtime=0))
            self._stream.flush()
            self._block.clear()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None = None, trace: TracebackType | None = None
    ) -> None:
        with self._stream:
            if kind is not None:
                return
            self.end_block()
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self._part.replace(self._path)
        self._settings.unlink(missing_ok=True)


def open_sink(target: Path | None, settings: Mapping[str, object], *, block: int, resume: bool) -> Sink:
    """Where lines go: standard output if there is no target; a pipe or a device takes them as they come."""
    if target is None:
        return Sink(sys.stdout.buffer)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; expected a file to write")
    if target.exists() and not target.is_file():
        return _Device(target.open("wb"))
    return FileSink(target, settings, block=block, resume=resume)


class _Device(Sink):
    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._stream.close()


def _cut(part: Path, block: int, *, is_packed: bool) -> int:
    """Cut a file back to whole blocks of lines, and return how many lines it has then."""
    lines, end = (_packed_end if is_packed else _plain_end)(part, block)
    os.truncate(part, end)
    return lines


def _plain_end(part: Path, block: int) -> tuple[int, int]:
    lines = found = end = position = 0
    with part.open("rb") as stream:
        for line in stream:
            position += len(line)
            lines += line.endswith(b"\n")
            if line.endswith(b"\n") and lines % block == 0:
                found, end = lines, position
    return found, end


def _packed_end(part: Path, block: int) -> tuple[int, int]:
    lines = found = end = position = 0
    unpacker = zlib.decompressobj(wbits=31)
    with part.open("rb") as stream:
        data = stream.read(1 << 20)
        while data:
            try:
                lines += unpacker.decompress(data).count(b"\n")
            except zlib.error:
                break
            position += len(data) - len(unpacker.unused_data)
            if unpacker.eof and lines % block == 0:
                found, end = lines, position
            data = unpacker.unused_data if unpacker.eof else b""
            if unpacker.eof:
                unpacker = zlib.decompressobj(wbits=31)
            data = data or stream.read(1 << 20)
    return found, end
