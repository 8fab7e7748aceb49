"""How much memory an endless stream takes: `treecrf parse` fed from a pipe, its memory looked at on the way.

    python benchmarks/stream.py TREEBANK.mrg.gz [--model en] [--sentences 1000000] [--device cuda] [--svg memory.svg]

The treebank's sentences are fed over and over. One word in fifty is replaced by one that never came before, more than
real text has, so that whatever remembers words has something to remember. Linux only.
"""

import argparse
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from treecrf.treebank import read_trees

_NEW = 0.02
_LOOKS = 20


def stream(sentences: list[list[str]], number: int) -> Iterator[str]:
    """So many lines."""
    generator = random.Random(1)
    fresh = 0
    for place in range(number):
        words = list(sentences[place % len(sentences)])
        for at in range(len(words)):
            if generator.random() < _NEW:
                fresh += 1
                words[at] = f"{words[at][:12]}{fresh:x}"
        yield " ".join(words) + "\n"


def megabytes(pid: int) -> float:
    """What a process has in memory now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has ended")


def watch(command: list[str], lines: Iterator[str], number: int) -> list[tuple[int, float]]:
    """How many trees had come, and the megabytes then."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stdin is not None and process.stdout is not None
    feeder = threading.Thread(target=_feed, args=(process.stdin, lines))
    feeder.start()
    looks: list[tuple[int, float]] = []
    started = time.perf_counter()
    for count, _ in enumerate(process.stdout, 1):
        if count % max(1, number // _LOOKS) == 0 and count < number:
            looks.append((count, megabytes(process.pid)))
            print(f"{count:12,} {looks[-1][1]:10.0f} {count / (time.perf_counter() - started):12.0f}", flush=True)
    feeder.join()
    if process.wait():
        sys.exit(f"treecrf parse ended with status {process.returncode}")
    return looks


def _feed(pipe: object, lines: Iterator[str]) -> None:
    with pipe:  # type: ignore[attr-defined]
        for line in lines:
            pipe.write(line)  # type: ignore[attr-defined]


def draw(looks: list[tuple[int, float]], path: str) -> None:
    """The curve as a figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot([count for count, _ in looks], [size for _, size in looks])
    axes.set(xlabel="sentences parsed", ylabel="memory, MB", ylim=(0, None))
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank")
    parser.add_argument("--model", default="en")
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--device")
    parser.add_argument("--svg")
    args = parser.parse_args()
    sentences = [tree.words for tree in read_trees(args.treebank)]
    command = [sys.executable, "-m", "treecrf", "parse", "--tokens", "--model", args.model]
    command += ["--device", args.device] if args.device else []
    print(f"{'sentences':>12} {'MB':>10} {'sentences/s':>12}")
    looks = watch(command, stream(sentences, args.sentences), args.sentences)
    if args.svg:
        draw(looks, args.svg)


if __name__ == "__main__":
    main()
