"""Scores of a model before and after it is adapted to corrected sentences, on sentences that it has not seen.

    python benchmarks/adaptation.py en TRAIN... --dev DEV --other masc/dev.mrg.gz --seeds 1,2,3
    python benchmarks/adaptation.py en masc/train.mrg.gz --sentences 50 --dev masc/dev.mrg.gz --seeds 1,2,3,4,5

Files have full or partial trees, as for `treecrf train --from`. With `--sentences`, each seed draws its own sample.
"""

import random
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common import command_line, print_head, print_row
from treecrf.parser import Parser
from treecrf.training.adaptation.adapt import adapt
from treecrf.training.adaptation.corrections import Corrections, compare


class Row(NamedTuple):
    """Percentages before and after."""

    brackets: tuple[float, float]
    sentences: tuple[float, float]
    others: tuple[float, float]
    seconds: float
    epoch: int


def measure(base: Parser, train: Corrections, dev: Corrections, others: Corrections, seed: int) -> Row:
    begin = time.perf_counter()
    result = adapt(base, train, seed=seed, report=lambda line: print(f"  {line}", flush=True))
    seconds = time.perf_counter() - begin
    print(f"  {result.verdict}", flush=True)
    scores = [
        compare(*(each.counts(each.parse(parser)) for parser in (result.base, result.parser))) for each in (dev, others)
    ]
    pairs = [(score[name].before, score[name].after) for score in scores for name in ("brackets", "sentences")]
    return Row(*pairs[:3], seconds, result.epoch)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("model")
    parser.add_argument("train", nargs="+", type=Path)
    parser.add_argument("--dev", type=Path, required=True, help="sentences of the same domain")
    parser.add_argument("--other", type=Path, required=True, help="trees of other text")
    parser.add_argument("--sentences", type=int, help="a random sample of so many sentences for each seed")
    parser.add_argument("--seeds", default="1,2,3")
    args = parser.parse_args()
    base = Parser.load(args.model, "cpu")
    train, dev, others = (Corrections.read(files, base) for files in (args.train, [args.dev], [args.other]))
    rows = []
    for seed in map(int, args.seeds.split(",")):
        numbers = random.Random(seed).sample(range(len(train)), args.sentences or len(train))
        rows.append(measure(base, train.select(numbers), dev, others, seed))
        print_rows(f"seed {seed}", rows[-1:])
    print_rows(f"mean of {len(rows)}", rows)


def print_rows(name: str, rows: list[Row]) -> None:
    print_head("", "brackets", "sentences right", "sentence errors", "other text", "seconds", "epochs")
    means = [np.mean([row[i] for row in rows], axis=0) for i in range(3)]
    cells = [f"{before:.2f} -> {after:.2f} ({after - before:+.2f})" for before, after in means]
    before, after = means[1]
    cells.insert(2, f"{100 * (100 - after) / (100 - before) - 100:+.1f} %")
    print_row(name, *cells, f"{np.mean([row.seconds for row in rows]):.0f}", " ".join(str(row.epoch) for row in rows))


if __name__ == "__main__":
    main()
