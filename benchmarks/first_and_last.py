"""Times the first and the last tree of few and of many sentences on a CPU, beside PyTorch in float32 and SuPar.

    python benchmarks/first_and_last.py TREEBANK.mrg.gz [--model en] [--counts 1 10 100 1000 10000] [--threads 1 2]

Every row is one call of `Parser.brackets_many` on that many sentences, after a warm-up call. SuPar has one number, its
speed on 200 sentences, because it returns all trees at once: see benchmarks/parse.py. Counts that would take float32
longer than a minute are left out there.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from common import command_line
from supar_baseline import supar_speed
from treecrf import Parser, read_trees, set_num_threads
from treecrf.training.reproduce.speed import sample

REPEATS = {1: 15, 10: 7, 100: 3}  # by count; one of larger ones
FLOAT_COUNT = 2_000  # the largest count for float32
SUPAR_COUNT = 200


def time_trees(parser: Parser, sentences: Sequence[Sequence[str]]) -> tuple[float, float]:
    """The median seconds to the first and to the last tree."""
    times = []
    for _ in range(REPEATS.get(len(sentences), 1)):
        start = time.perf_counter()
        lines = parser.brackets_many(sentences)
        next(lines)
        first = time.perf_counter() - start
        for _line in lines:
            pass
        times.append((first, time.perf_counter() - start))
    return statistics.median(first for first, _ in times), statistics.median(last for _, last in times)


def main() -> None:
    options = command_line(__doc__)
    options.add_argument("treebank")
    options.add_argument("--model", default="en")
    options.add_argument("--counts", type=int, nargs="+", default=[1, 10, 100, 1_000, 10_000])
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--no-supar", action="store_true")
    args = options.parse_args()
    treebank = list(read_trees(args.treebank))
    sentences = [tree.words for tree in sample(treebank, max(args.counts))]
    for threads in args.threads:
        set_num_threads(threads)
        torch.set_num_threads(threads)
        for precision in ("int8", "float32"):
            parser = Parser.load(args.model, "cpu", precision=precision)
            list(parser.brackets_many(sentences[:10]))
            print(parser)
            for count in args.counts:
                if precision == "int8" or count <= FLOAT_COUNT:
                    first, last = time_trees(parser, sentences[:count])
                    speed = f"{count / last:8.1f} sentences/s"
                    print(f"{count:7,} sentences: first {1000 * first:9.1f} ms, last {1000 * last:11.1f} ms, {speed}")
        if not args.no_supar:
            with tempfile.TemporaryDirectory() as folder:
                speed_or_reason = supar_speed(sample(treebank, SUPAR_COUNT), treebank, Path(folder), "cpu", 2)
            print(f"SuPar, {threads} threads: {speed_or_reason}")


if __name__ == "__main__":
    main()
