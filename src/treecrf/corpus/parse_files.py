"""Parses files in one process: `treecrf parse` without `--engine ray`."""

import gc
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from treecrf.corpus.inputs import InputFile, find_inputs, total_size
from treecrf.corpus.line_parser import LineParser
from treecrf.corpus.options import SUFFIXES, ParseOptions
from treecrf.corpus.outputs import STDOUT, output_paths, partial_size
from treecrf.corpus.terminal import ProgressBar
from treecrf.files import lock_folder, real_path

Job = tuple[InputFile, Path | None]  # the output is None for standard output


def parse_files(
    inputs: Sequence[str],
    output: str,
    options: ParseOptions,
    *,
    device: str | None,
    resume: bool,
    warn: Callable[[str], object],
) -> None:
    """Parses each input in order; with `resume`, continues partial outputs and skips inputs whose output is complete.

    It is an error if an output was made from another input, model or settings.
    """
    jobs = _match_outputs(inputs, output, options, warn)
    options = options.with_absolute_model()
    is_folder = output != STDOUT and any(target != Path(output) for _, target in jobs)
    with lock_folder(Path(output)) if is_folder else nullcontext():  # an output file is locked while it is written
        line_parser = LineParser(options.load_parser(device), options, warn)
        if resume:
            jobs = [job for job in jobs if _is_unfinished(line_parser, *job)]
        total = total_size(file for file, _ in jobs)
        gc.freeze()  # repeated garbage collection over the loaded objects would take as long as parsing
        try:
            with ProgressBar(total, unit="sentences", is_shown=_shows_progress(output, jobs)) as progress:
                line_parser.warn = partial(progress.print_message, warn)
                for file, target in jobs:
                    line_parser.parse_file(file, target, progress.add, resume=resume)
        finally:
            gc.unfreeze()


def _match_outputs(
    arguments: Sequence[str], output: str, options: ParseOptions, warn: Callable[[str], object]
) -> list[Job]:
    if output == STDOUT:
        return [(file, None) for file in find_inputs(arguments, warn)]
    files = find_inputs(arguments, warn, output=Path(output))
    is_folder = len(files) > 1 or Path(output).is_dir() or output[-1] == os.sep or Path(arguments[0]).is_dir()
    targets = output_paths(files, output, SUFFIXES[options.format], is_folder=is_folder)
    return list(zip(files, targets, strict=True))


def _is_unfinished(line_parser: LineParser, file: InputFile, target: Path | None) -> bool:
    """Whether an input has no complete output; an output of another input, model or settings is an error."""
    if target is None or (target.exists() and not target.is_file()):
        return True
    if not file.is_regular:
        raise ValueError(f"--resume reads its inputs again, and {file.name} is not a file; name a file")
    size, is_complete = partial_size(target), target.is_file() and partial_size(target) is None
    if size or is_complete:
        line_parser.output_record(file).check(real_path(target))
    return not is_complete


def _shows_progress(output: str, jobs: Sequence[Job]) -> bool:
    """Whether the terminal is free for a progress bar: neither trees nor typed lines are on it."""
    if not sys.stderr.isatty() or any(file.is_terminal for file, _ in jobs):
        return False
    return output != STDOUT or stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
