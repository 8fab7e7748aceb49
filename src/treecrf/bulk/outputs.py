"""Outputs of bulk parsing: standard output, and files that appear when they are complete.

Lines go to a hidden partial file beside the output, which gets the output's name at the end. A later run can continue a
partial file. It first cuts the file back to whole blocks of lines; the rest is then computed in the same batches as
without the interruption, and the output is the same to the last byte.
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

from treecrf.atomic_io import rename_file, sync_stream
from treecrf.bulk.inputs import STDIN, InputFile, find_inputs

STDOUT = "-"


def match_outputs(arguments: Sequence[str], output: str, suffix: str) -> list[tuple[InputFile, Path | None]]:
    """Each input and its output file; None is standard output. `suffix` is that of output files."""
    if output == STDOUT:
        return [(file, None) for file in find_inputs(arguments)]
    out = Path(output)
    files = find_inputs(arguments, exclude=out)
    is_folder = out.is_dir() or output[-1] == os.sep
    if len(arguments) == 1 == len(files) and not Path(arguments[0]).is_dir() and not is_folder:
        targets = [out]
    elif out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; several inputs need a folder for their outputs")
    else:
        targets = [out / _output_name(file.relative, suffix) for file in files]
    _check_targets(files, targets)
    return list(zip(files, targets, strict=True))


def _check_targets(files: Sequence[InputFile], targets: Sequence[Path]) -> None:
    counts = Counter(targets)
    for file, target in zip(files, targets, strict=True):
        if file.path != STDIN and target.resolve() == Path(file.path).resolve():
            raise ValueError(f"{target} is an input and would be overwritten; choose another -o")
        if counts[target] > 1:
            raise ValueError(f"several inputs would be written to {target}; parse them one by one")


def _output_name(path: Path, suffix: str) -> Path:
    gzip_suffix = ".gz" if path.suffix == ".gz" else ""
    plain = path.with_suffix("") if gzip_suffix else path
    return plain.with_suffix(suffix + gzip_suffix)


class Sink:
    """Writes lines to a stream. `lines_written` is the number of lines that an interrupted run has written before."""

    lines_written = 0

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __enter__(self) -> "Sink":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._stream.flush()

    def write(self, lines: Sequence[str]) -> None:
        """Writes lines."""
        self._stream.write("\n".join([*lines, ""]).encode())
        self._stream.flush()

    def end_block(self) -> None:
        """Marks the end of a block of lines."""


class FileSink(Sink):
    """Writes lines to a file that appears when it is complete; it is compressed if its name ends in `.gz`.

    A block has `block_lines` lines. With `resume`, a partial file is continued if its settings are the same.
    """

    def __init__(self, path: Path, settings: Mapping[str, object], *, block_lines: int, resume: bool = False) -> None:
        self._path = path = path.resolve()
        self._partial = path.with_name(f".{path.name}.part")
        self._settings = path.with_name(f".{path.name}.settings")
        self._is_compressed = path.suffix == ".gz"
        self._block: list[bytes] = []  # of a compressed file, which is written block by block
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(settings, indent=1)
        if resume and self._partial.exists():
            self._check_settings(text)
            self.lines_written = _truncate(self._partial, block_lines, is_compressed=self._is_compressed)
        else:
            self._partial.write_bytes(b"")
            self._settings.write_text(text, encoding="utf-8")
        super().__init__(self._partial.open("ab"))

    def _check_settings(self, text: str) -> None:
        old_text = self._settings.read_text(encoding="utf-8") if self._settings.exists() else "{}"
        if old_text == text:
            return
        old, new = json.loads(old_text), json.loads(text)
        changes = [f"{name} was {old.get(name)!r}, not {new[name]!r}" for name in new if old.get(name) != new[name]]
        raise ValueError(
            f"{self._path} was started with other settings: {', '.join(changes)}; use the same settings, "
            "or start again without --resume"
        )

    def write(self, lines: Sequence[str]) -> None:
        if self._is_compressed:
            self._block.append("\n".join([*lines, ""]).encode())
        else:
            super().write(lines)

    def end_block(self) -> None:
        if self._block:
            # without a name and a date, the same lines make the same file
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
            sync_stream(self._stream)
        rename_file(self._partial, self._path)
        self._settings.unlink(missing_ok=True)


class _DeviceSink(Sink):
    """Writes lines to a pipe or a device."""

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._stream.close()


def open_sink(target: Path | None, settings: Mapping[str, object], *, block_lines: int, resume: bool) -> Sink:
    """The sink for an output file, or for standard output if `target` is None."""
    if target is None:
        return Sink(sys.stdout.buffer)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; expected a file to write")
    if target.exists() and not target.is_file():
        return _DeviceSink(target.open("wb"))
    return FileSink(target, settings, block_lines=block_lines, resume=resume)


def _truncate(partial: Path, block_lines: int, *, is_compressed: bool) -> int:
    """Cuts a partial file back to whole blocks of lines and returns the number of lines that are left."""
    lines, end = (_compressed_end if is_compressed else _plain_end)(partial, block_lines)
    os.truncate(partial, end)
    return lines


def _plain_end(partial: Path, block_lines: int) -> tuple[int, int]:
    """The number of lines in whole blocks, and the size of these blocks in bytes."""
    lines = position = complete_lines = end = 0
    with partial.open("rb") as stream:
        for line in stream:
            position += len(line)
            lines += line.endswith(b"\n")
            if line.endswith(b"\n") and lines % block_lines == 0:
                complete_lines, end = lines, position
    return complete_lines, end


def _compressed_end(partial: Path, block_lines: int) -> tuple[int, int]:
    """The number of lines in whole blocks, and the size of these blocks, each of which is a member of the gzip file."""
    lines = position = complete_lines = end = 0
    decompressor = zlib.decompressobj(wbits=31)
    with partial.open("rb") as stream:
        data = stream.read(1 << 20)
        while data:
            try:
                lines += decompressor.decompress(data).count(b"\n")
            except zlib.error:
                break
            position += len(data) - len(decompressor.unused_data)
            if decompressor.eof and lines % block_lines == 0:
                complete_lines, end = lines, position
            data = decompressor.unused_data if decompressor.eof else b""
            if decompressor.eof:
                decompressor = zlib.decompressobj(wbits=31)
            data = data or stream.read(1 << 20)
    return complete_lines, end
