"""Parses files in one process: `treecrf parse` without `--engine ray`."""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from treecrf.bulk.line_parser import LineOptions, LineParser
from treecrf.bulk.outputs import STDOUT, match_outputs
from treecrf.parser.formats import SUFFIXES


def parse_files(
    inputs: Sequence[str],
    output: str,
    options: LineOptions,
    *,
    device: str | None,
    resume: bool,
    warn: Callable[[str], object],
) -> None:
    """Parses each input in order; with `resume`, continues partial outputs and skips inputs whose output exists."""
    jobs = match_outputs(inputs, output, SUFFIXES[options.format])
    if resume:
        jobs = [(file, target) for file, target in jobs if target is None or not target.is_file()]
    line_parser = LineParser(options.load_parser(device), options, warn)
    gc.freeze()  # repeated garbage collection over the loaded objects would take as long as parsing
    try:
        with _progress_bar([file.size for file, _ in jobs], is_shown=output != STDOUT) as report_bytes:
            for file, target in jobs:
                line_parser.parse_file(file, target, report_bytes, resume=resume)
    finally:
        gc.unfreeze()


@contextmanager
def _progress_bar(sizes: Sequence[int | None], *, is_shown: bool) -> Iterator[Callable[[int], object]]:
    """Shows the bytes read so far in a progress bar, if there are a terminal and tqdm; yields its update function."""
    known = [size for size in sizes if size is not None]
    try:
        tqdm = import_module("tqdm") if is_shown and sys.stderr.isatty() else None
    except ImportError:
        tqdm = None
    if tqdm is None:
        yield lambda size: None
        return
    with tqdm.tqdm(total=sum(known) if len(known) == len(sizes) else None, unit="B", unit_scale=True) as bar:
        yield bar.update
