"""Outputs of bulk parsing: standard output, and files that appear when they are complete.

Lines go to a hidden partial file beside the output, which gets the output's name at the end. The output is locked
against other processes in the meantime. A later run can continue a partial file. It first cuts the file back to whole
blocks of lines; the rest is then computed in the same batches as without the interruption, and the output is the same
to the last byte.
"""

import gzip
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from treecrf.atomic_io import lock_file, rename_file, sync_stream
from treecrf.bulk.input_search import find_inputs
from treecrf.bulk.inputs import STDIN, InputFile
from treecrf.bulk.output_record import OutputRecord

STDOUT = "-"
_LABEL = re.compile(r"^([ │├└─]*)([^\s│├└─]\S*)", re.MULTILINE)


def match_outputs(
    arguments: Sequence[str], output: str, suffix: str, warn: Callable[[str], object]
) -> list[tuple[InputFile, Path | None]]:
    """Each input and its output file; None is standard output. `suffix` is that of output files."""
    if output == STDOUT:
        return [(file, None) for file in find_inputs(arguments, warn)]
    out = Path(output)
    files = find_inputs(arguments, warn, output=out)
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

    def __init__(self, stream: IO[bytes], *, lines_written: int = 0) -> None:
        self._stream = stream
        self.lines_written = lines_written

    def write(self, lines: Sequence[str]) -> None:
        """Writes lines."""
        self._stream.write("\n".join([*lines, ""]).encode())
        self._stream.flush()

    def end_block(self) -> None:
        """Marks the end of a block of lines."""


class GzipSink(Sink):
    """Writes compressed lines. Each block of lines is a member of the gzip file."""

    def __init__(self, stream: IO[bytes], *, lines_written: int = 0) -> None:
        super().__init__(stream, lines_written=lines_written)
        self._block: list[bytes] = []

    def write(self, lines: Sequence[str]) -> None:
        self._block.append("\n".join([*lines, ""]).encode())

    def end_block(self) -> None:
        if self._block:
            # without a name and a date, the same lines make the same file
            self._stream.write(gzip.compress(b"".join(self._block), mtime=0))
            self._stream.flush()
            self._block.clear()


class ColorSink(Sink):
    """Writes trees of the format `pretty` to a terminal, with labels in blue."""

    def write(self, lines: Sequence[str]) -> None:
        super().write([_LABEL.sub(r"\1\x1b[34m\2\x1b[0m", line) for line in lines])


def _partial_path(output: Path) -> Path:
    """The partial file of an output."""
    return output.with_name(f".{output.name}.part")


def partial_size(output: Path) -> int | None:
    """The size of an output's partial file; None if there is none.

    A partial file is unfinished work, also beside an older complete output. No line is written before the record, so
    the record beside an empty partial file may be that of the older output.
    """
    partial = _partial_path(output.resolve())
    return partial.stat().st_size if partial.exists() else None


@contextmanager
def open_file(path: Path, record: OutputRecord | None, *, block_lines: int, resume: bool = False) -> Iterator[Sink]:
    """Opens a file that appears at the end of the block, if it is complete; `.gz` names are compressed.

    A block of lines has `block_lines` lines. With `resume`, a partial file is continued if its record is the same.
    """
    path = path.resolve()
    partial, is_compressed = _partial_path(path), path.suffix == ".gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(path):
        lines = 0
        if resume and partial_size(path):
            if record is not None:
                record.check(path)
            lines = _truncate(partial, block_lines, is_compressed=is_compressed)
        else:
            partial.write_bytes(b"")
        if record is not None:
            record.write(path)
        with partial.open("ab") as stream:
            sink = (GzipSink if is_compressed else Sink)(stream, lines_written=lines)
            yield sink
            sink.end_block()
            sync_stream(stream)
        rename_file(partial, path)


@contextmanager
def open_sink(
    target: Path | None, record: OutputRecord | None, *, block_lines: int, resume: bool, is_colored: bool = False
) -> Iterator[Sink]:
    """Opens an output file, a pipe or a device, or standard output, which may have colors, if `target` is None."""
    if target is None:
        yield (ColorSink if is_colored else Sink)(sys.stdout.buffer)
    elif target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; expected a file to write")
    elif target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield Sink(stream)
    else:
        with open_file(target, record, block_lines=block_lines, resume=resume) as sink:
            yield sink


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
