"""Outputs: standard output, and files that appear when they are complete.

Lines go to a hidden partial file beside the output, which gets the output's name at the end. The output is locked
against other processes in the meantime. A second hidden file has the size of the partial file after each block of
lines. A later run can continue a partial file: it cuts the file back to whole blocks and computes the rest in the same
batches as without the interruption, so that the output is the same to the last byte. The partial file of a Parquet
output is CSV, and is converted at the end.
"""

import errno
import gzip
import os
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import takewhile
from operator import methodcaller
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from treecrf.corpus.inputs import STDIN, InputFile
from treecrf.files import lock_file, real_path, refuse_link, rename_file, sync_stream

if TYPE_CHECKING:
    from treecrf.corpus.output_record import OutputRecord
    from treecrf.trees.tables import RowKind

STDOUT = "-"
_FINISHER_THREADS = 8
_UNFINISHED_OUTPUTS = 100
_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_BLUE_LABEL = "\\1\x1b[34m\\2\x1b[0m"
_LABEL = re.compile(r"^([ │├└─]*)([^\s│├└─]\S*)", re.MULTILINE)


def output_paths(files: Sequence[InputFile], output: str, suffix: str, *, is_folder: bool) -> list[Path]:
    """The output file of each input: `output` itself, or a file in this folder; `suffix` is its ending."""
    out = Path(output)
    if is_folder and out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; several inputs need a folder for their outputs")
    targets = [out / _output_name(file.relative, suffix) for file in files] if is_folder else [out]
    counts = Counter(targets)
    for file, target in zip(files, targets, strict=True):
        if file.path != STDIN and real_path(target) == real_path(file.path):
            raise ValueError(f"{target} is an input and would be overwritten; choose another -o")
        if counts[target] > 1:
            raise ValueError(f"several inputs would be written to {target}; parse them one by one")
    return targets


def _output_name(path: Path, suffix: str) -> Path:
    gzip_suffix = ".gz" if path.suffix == ".gz" else ""
    plain = path.with_suffix("") if gzip_suffix else path
    return plain.with_suffix(suffix if suffix == ".parquet" else suffix + gzip_suffix)  # Parquet is compressed itself


class OutputFile(NamedTuple):
    """Properties of an output file: the size of its blocks, and the kind of its rows if it is Parquet."""

    block_lines: int
    parquet_rows: "RowKind | None" = None
    submit: Callable[[Callable[[], None]], object] = methodcaller("__call__")  # calls the function that finishes it
    is_one_of_many: bool = False


class Sink:
    """Writes lines to a stream, after the lines of an interrupted run; `index` gets the stream's size after blocks."""

    def __init__(self, stream: IO[bytes], *, lines_written: int = 0, index: IO[bytes] | None = None) -> None:
        self._stream = stream
        self._index = index
        self._is_block_open = False
        self.lines_written = lines_written

    def write(self, lines: Sequence[str]) -> None:
        self._is_block_open = True
        self._write("\n".join([*lines, ""]).encode())

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()

    def end_block(self) -> None:
        if self._index is not None and self._is_block_open:
            self._index.write(b"%d\n" % self._stream.tell())
            self._index.flush()
        self._is_block_open = False


class GzipSink(Sink):
    """Writes compressed lines. Each block of lines is a member of the gzip file."""

    _block = b""

    def _write(self, data: bytes) -> None:
        self._block += data

    def end_block(self) -> None:
        if self._block:  # without a name and a date, the same lines make the same file
            super()._write(gzip.compress(self._block, mtime=0))
        self._block = b""
        super().end_block()


class ColorSink(Sink):
    """Writes trees of the format `pretty` to a terminal, with labels in blue."""

    def write(self, lines: Sequence[str]) -> None:
        super().write([_LABEL.sub(_BLUE_LABEL, line) for line in lines])


def _partial_path(output: Path) -> Path:
    return output.with_name(f".{output.name}.part")


def partial_size(output: Path) -> int | None:
    """The size of an output's partial file; None if there is none.

    A partial file is unfinished work, also beside an older complete output. No line is written before the record, so
    an empty partial file may stand beside the record of the older output.
    """
    draft = _partial_path(real_path(output))
    return draft.stat().st_size if draft.exists() else None


def _index_path(draft: Path) -> Path:
    """The file with the sizes of a partial file after each of its blocks."""
    return draft.with_name(f"{draft.name}.blocks")


class Finisher:
    """Finishes outputs in threads: a disk writes many small files together much faster than one after the other."""

    def __enter__(self) -> "Finisher":
        self._executor = ThreadPoolExecutor(_FINISHER_THREADS)
        self._outputs: deque[Future[None]] = deque()
        return self

    def submit(self, finish: Callable[[], None]) -> None:
        """Calls a function in a thread; raises the error of an earlier one, if there was any."""
        self._outputs.append(self._executor.submit(finish))
        while self._outputs[0].done() or len(self._outputs) > _UNFINISHED_OUTPUTS:
            self._outputs.popleft().result()
            if not self._outputs:
                return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._executor.shutdown()
        for output in self._outputs if kind is None else ():
            output.result()


@contextmanager
def open_file(path: Path, record: "OutputRecord | None", kind: OutputFile, *, resume: bool = False) -> Iterator[Sink]:
    """Opens a file that appears after the end of the block, if it is complete; `.gz` names are compressed.

    With `resume`, a partial file is continued if its record is the same.
    """
    path = real_path(path)
    draft = _partial_path(path)
    _check_parquet(path, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as lock:
        lock.enter_context(lock_file(path))
        for hidden in (draft, _index_path(draft)):
            refuse_link(hidden)
        lines = 0
        if resume and partial_size(path):
            if record is not None:
                record.check(path)
            lines = _truncate(draft, kind.block_lines)
        else:
            draft.write_bytes(b"")
            _index_path(draft).unlink(missing_ok=True)
        if record is not None:
            record.write(path, is_one_of_many=kind.is_one_of_many)
        with _name_full_disk(draft), draft.open("ab") as stream, _index_path(draft).open("ab") as index:
            sink = (GzipSink if path.suffix == ".gz" else Sink)(stream, lines_written=lines, index=index)
            yield sink
            sink.end_block()
        kind.submit(partial(_finish, draft, path, kind, lock.pop_all()))


@contextmanager
def _name_full_disk(path: Path) -> Iterator[None]:
    """Adds the name of the output to the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_ERRORS or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def _check_parquet(path: Path, kind: OutputFile) -> None:
    """Raises an error before the work begins if a Parquet file cannot be written in the end."""
    if kind.parquet_rows is None:
        return
    from treecrf.trees.tables import import_arrow

    import_arrow("pyarrow.parquet", "--format parquet")
    if path.suffix == ".gz":
        raise ValueError(f"{path} ends in .gz, but Parquet files are compressed themselves; leave .gz out")


def _finish(draft: Path, path: Path, kind: OutputFile, lock: ExitStack) -> None:
    """Gives a complete partial file its name, after its conversion to Parquet if the output is Parquet."""
    with lock, _name_full_disk(draft):
        with draft.open("r+b") as stream:
            sync_stream(stream)
        complete = draft
        if kind.parquet_rows is not None:
            from treecrf.trees.tables import csv_to_parquet

            complete = draft.with_name(f"{draft.name}.parquet")
            csv_to_parquet(draft, complete, kind.parquet_rows)
        rename_file(complete, path)
        if complete is not draft:
            draft.unlink()
        _index_path(draft).unlink(missing_ok=True)


@contextmanager
def open_sink(
    target: Path | None, record: "OutputRecord | None", kind: OutputFile, *, resume: bool, is_colored: bool = False
) -> Iterator[Sink]:
    """Opens an output file, a pipe or a device, or standard output, which may have colors, if `target` is None."""
    if kind.parquet_rows is not None and (target is None or (target.exists() and not target.is_file())):
        raise ValueError("--format parquet needs an output file: -o OUT.parquet")
    if target is None:
        yield (ColorSink if is_colored else Sink)(sys.stdout.buffer)
    elif target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; expected a file to write")
    elif target.exists() and not target.is_file():
        with _name_full_disk(target), target.open("wb") as stream:
            yield Sink(stream)
    else:
        with open_file(target, record, kind, resume=resume) as sink:
            yield sink


def _truncate(draft: Path, block_lines: int) -> int:
    """Cuts a partial file back to whole blocks and returns the number of input lines in them."""
    index, size = _index_path(draft), draft.stat().st_size
    entries = index.read_bytes().split(b"\n")[:-1] if index.exists() else []
    ends = list(takewhile(lambda end: end <= size, map(int, takewhile(bytes.isdigit, entries))))
    index.write_bytes(b"".join(b"%d\n" % end for end in ends))
    os.truncate(draft, ends[-1] if ends else 0)
    return block_lines * len(ends)
