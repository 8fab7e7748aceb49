"""Measures the memory of `treecrf parse` on a long stream: the command reads from a pipe while its memory is sampled.

    python benchmarks/stream.py TREEBANK.mrg.gz [--model en] [--sentences 1000000] [--device cuda] [--svg memory.svg]

The stream repeats the sentences of the treebank. One word in fifty is replaced by a new word, which is more than in
real text, so that a cache of words would grow. Linux only.
"""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from common import command_line, resident_megabytes
from treecrf.trees.treebank import read_trees

_NEW_WORDS = 0.02
_SAMPLES = 20


def stream(sentences: list[list[str]], count: int) -> Iterator[str]:
    """The lines of the stream."""
    generator = random.Random(1)
    new_words = 0
    for number in range(count):
        words = list(sentences[number % len(sentences)])
        for index in range(len(words)):
            if generator.random() < _NEW_WORDS:
                new_words += 1
                words[index] = f"{words[index][:12]}{new_words:x}"
        yield " ".join(words) + "\n"


def sample_memory(command: list[str], lines: Iterator[str], count: int) -> list[tuple[int, float]]:
    """Runs the command and returns pairs of the number of trees and the memory at that moment, in megabytes."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stdin is not None and process.stdout is not None
    writer = threading.Thread(target=_write_lines, args=(process.stdin, lines))
    writer.start()
    samples: list[tuple[int, float]] = []
    started = time.perf_counter()
    for trees, _ in enumerate(process.stdout, 1):
        if trees % max(1, count // _SAMPLES) == 0 and trees < count:
            samples.append((trees, resident_megabytes(process.pid)))
            print(f"{trees:12,} {samples[-1][1]:10.0f} {trees / (time.perf_counter() - started):12.0f}", flush=True)
    writer.join()
    if process.wait():
        sys.exit(f"treecrf parse ended with status {process.returncode}")
    return samples


def _write_lines(pipe: object, lines: Iterator[str]) -> None:
    with pipe:  # type: ignore[attr-defined]
        for line in lines:
            pipe.write(line)  # type: ignore[attr-defined]


def plot(samples: list[tuple[int, float]], path: str) -> None:
    """Writes a figure of the memory."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot([trees for trees, _ in samples], [megabytes for _, megabytes in samples])
    axes.set(xlabel="sentences parsed", ylabel="memory, MB", ylim=(0, None))
    figure.savefig(path)


def main() -> None:
    parser = command_line(__doc__)
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
    samples = sample_memory(command, stream(sentences, args.sentences), args.sentences)
    if args.svg:
        plot(samples, args.svg)


if __name__ == "__main__":
    main()
