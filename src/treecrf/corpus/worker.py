"""A worker of the Ray engine: a parser in its own process that parses one shard after the other."""

import gc
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from treecrf.corpus.line_parser import LineParser
from treecrf.corpus.manifest import FILE_NAME
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.output_record import InputStamp, model_digest
from treecrf.corpus.outputs import open_file
from treecrf.corpus.records import Line
from treecrf.corpus.shards import Shard, ShardReader
from treecrf.files import rename_file
from treecrf.threads import set_num_threads

PARTIAL_FOLDER = ".parts"  # has the shards that are being written


class WorkerResult(NamedTuple):
    """The result of parsing a shard, or of starting a worker."""

    problem: str = ""
    is_final: bool = False  # another attempt would fail in the same way
    warnings: Sequence[str] = ()
    seconds: float = 0.0


class Worker:
    """Parses shards in its own process, on some machine of the cluster."""

    lines_done = 0  # lines of the current shard

    def load(
        self,
        options: ParseOptions,
        device: str,
        folder: Path,
        settings: Mapping[str, Any],
        inputs: Mapping[str, InputStamp],
        *,
        threads: int,
    ) -> WorkerResult:
        """Loads the parser. Another machine may not have the same problem."""
        try:
            if not (folder / FILE_NAME).exists():
                raise FileNotFoundError(f"{folder / FILE_NAME} is missing; all machines need to see the same files")
            if model_digest(options.model) != settings["model_sha256"]:
                raise ValueError(f"this machine has another version of the model {options.model}; install the same one")
            set_num_threads(threads)
            self.folder = folder
            self.inputs = inputs
            self.warnings: list[str] = []
            self.line_parser = LineParser(options.load_parser(device), options, self.warnings.append)
            self.reader = ShardReader(self.line_parser.fields, limit=options.max_line_bytes)
        except Exception as error:
            return WorkerResult(f"{_process_name()}: {type(error).__name__}: {error}")
        gc.freeze()  # repeated garbage collection over the loaded objects would take as long as parsing
        return WorkerResult()

    def parse(self, shard: Shard) -> WorkerResult:
        """Writes the output of a shard; the file appears when it is complete. Every worker writes the same bytes."""
        started = time.monotonic()
        self.warnings.clear()
        self.lines_done = 0
        target = self.folder / shard.output
        draft = self.folder / PARTIAL_FOLDER / f"{_process_name()}-{uuid4().hex[:8]}" / target.name
        try:
            with open_file(draft, None, self.line_parser.output_file) as sink:
                self.line_parser.write_header(sink)
                lines = self._count(self.reader.lines(shard))
                # the driver asks for the progress: nothing is reported
                self.line_parser.write_trees(lines, sink, lambda *_: None, name=shard.source, first=shard.first + 1)
            self.inputs[shard.source].check_unchanged(shard.source)
            target.parent.mkdir(parents=True, exist_ok=True)
            rename_file(draft, target)
            shutil.rmtree(draft.parent, ignore_errors=True)
        except Exception as error:
            self.reader.close()
            return WorkerResult(f"{type(error).__name__}: {error}", isinstance(error, ValueError))
        return WorkerResult(warnings=list(self.warnings), seconds=round(time.monotonic() - started, 3))

    def progress(self) -> int:
        """The number of lines of the current shard that are parsed, or nearly so. Another thread parses meanwhile."""
        return self.lines_done

    def _count(self, lines: Iterator[Line]) -> Iterator[Line]:
        for line in lines:
            yield line
            self.lines_done += 1


def _process_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"
