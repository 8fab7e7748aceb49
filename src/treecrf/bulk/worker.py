"""Who parses shards: a parser in a process of its own, that takes one after the other."""

import argparse
import gc
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import torch

from treecrf.atomic_io import MANIFEST
from treecrf.bulk.manifest import NAME
from treecrf.bulk.outputs import FileSink
from treecrf.bulk.shards import Shard, ShardReader
from treecrf.cli.parse import Command
from treecrf.parser import Parser
from treecrf.parser.storage import find_folder

PARTS = ".parts"  # where shards are written before they take their place


class Outcome(NamedTuple):
    """What a worker has to say of a shard, or of its own start."""

    problem: str = ""
    is_final: bool = False  # for another attempt would end the same
    warnings: Sequence[str] = ()
    seconds: float = 0.0


class Worker:
    """A parser in a process of its own, somewhere in the cluster."""

    def load(self, args: argparse.Namespace, device: str, folder: Path, settings: dict[str, Any]) -> Outcome:
        """Get ready; what is wrong here may be right on another machine."""
        try:
            if not (folder / NAME).exists():
                raise FileNotFoundError(f"{folder / NAME} is not there; all machines need to see the same files")
            if digest(args.model) != settings["model_sha256"]:
                raise ValueError(f"the model {args.model} is another one here; install the same everywhere")
            torch.set_num_threads(args.cpus_per_worker)
            self.folder = folder
            self.warnings: list[str] = []
            self.command = Command(Parser.load(args.model, device), args, self.warnings.append)
            self.reader = ShardReader(self.command.fields, limit=args.max_line_bytes)
        except Exception as error:
            return Outcome(f"{_here()}: {type(error).__name__}: {error}")
        gc.freeze()
        return Outcome()

    def parse(self, shard: Shard) -> Outcome:
        """Write the output of a shard; it appears whole, and is the same whoever writes it."""
        started = time.monotonic()
        self.warnings.clear()
        target = self.folder / shard.output
        part = self.folder / PARTS / f"{_here()}-{uuid4().hex[:8]}" / target.name
        try:
            with FileSink(part, {}, block=self.command.block) as sink:
                lines = self.reader.lines(shard)
                self.command.write(lines, sink, lambda size: None, name=shard.source, first=shard.first + 1)
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)
            shutil.rmtree(part.parent, ignore_errors=True)
        except Exception as error:
            self.reader.close()
            return Outcome(f"{type(error).__name__}: {error}", isinstance(error, ValueError))
        return Outcome(warnings=list(self.warnings), seconds=round(time.monotonic() - started, 3))


def _here() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def digest(model: str) -> str:
    """What tells a model from another of the same name."""
    return hashlib.sha256((find_folder(model) / MANIFEST).read_bytes()).hexdigest()
