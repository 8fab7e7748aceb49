"""Command lines, reading, timing and tables of the benchmarks."""

import argparse
import gc
import gzip
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # benchmarks share helpers with the tests


def command_line(usage: str | None) -> argparse.ArgumentParser:
    """A parser of arguments whose help is the docstring of the script."""
    return argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)


def read_text(path: Path) -> str:
    """The text of a file that may be gzipped."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def cpu_milliseconds(function: Callable[[], Result], repeats: int = 1) -> tuple[float, Result]:
    """The median CPU time of a call, and its first result."""
    runs = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        result = function()
        runs.append((1000 * (time.process_time() - start), result))
    return statistics.median(milliseconds for milliseconds, _ in runs), runs[0][1]


def resident_megabytes(pid: int) -> float:
    """The resident memory of a process, under Linux."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def print_head(*cells: object) -> None:
    """Prints the head of a Markdown table."""
    print_row(*cells)
    print("|" + "---|" * len(cells))


def print_row(*cells: object) -> None:
    """Prints a row of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
