"""Times parsing from a file of sentences to a file of trees, against SuPar, and the parts of it.

    python benchmarks/parse.py TREEBANK.mrg.gz [--model en] [--sentences 20000] [--device cuda] [--precision float16]
        [--repeats 5] [--window 8192] [--batch-words 40000] [--batch-cells 4000000] [--prefetch 2]

`treecrf parse --tokens` parses the treebank's sentences, repeated as often as needed in a fixed random order. The time
includes everything except the loading of the model. The first run is a warm-up, which compiles kernels; the median is
of the other runs. Then the parts are timed one after the other, which takes longer than parsing, where they overlap.

SuPar's `predict` reads and writes brackets, with MBR like treecrf. Current versions of PyTorch load none of its trained
models, so the network of its documented configuration (characters, 3 x 400 BiLSTM) is built over the treebank's words
and labels with random weights. Random weights give flat trees, which take less time to build than real ones, so SuPar
builds and writes the gold trees. It needs `pip install --no-deps supar dill nltk`, and is skipped without that.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch

from supar_baseline import supar_speed
from treecrf.cli import main as treecrf
from treecrf.corpus.part_times import part_seconds
from treecrf.parser import Parser
from treecrf.parser.benchmark import time_runs
from treecrf.parser.part_times import part_table
from treecrf.parser.pipeline import DEFAULT_BATCHING
from treecrf.training.reproduce.speed import SENTENCES, sample
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

BATCHING_OPTIONS = ("window", "batch_words", "batch_cells", "prefetch")


def parse_file(parser: Parser, source: Path, target: Path) -> None:
    """Runs the whole command with a parser that is already loaded."""
    with patch.object(Parser, "load", return_value=parser), contextlib.suppress(SystemExit):
        treecrf(["parse", "--tokens", str(source), "-o", str(target)])
    if not target.exists():
        sys.exit("treecrf parse has failed")


def print_speed(parser: Parser, trees: list[Tree], source: Path, target: Path, repeats: int) -> float:
    """Prints the speed of treecrf, in sentences per second, and returns it."""
    first, *others = time_runs(lambda: parse_file(parser, source, target), repeats)
    speed = len(trees) / statistics.median(others)
    print(
        f"treecrf  {speed:10,.0f} sentences/s, median of {len(others)} "
        f"({', '.join(f'{len(trees) / seconds:,.0f}' for seconds in others)}); first run {len(trees) / first:,.0f}"
    )
    return speed


def parse_arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebank", help="a file of trees, whose words are parsed")
    options.add_argument("--model", default="en", help="an installed model or a folder")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--precision", help="float32, float16, int8 or int14")
    options.add_argument("--sentences", type=int, help="default: 20,000 on a GPU, 500 on a CPU")
    options.add_argument("--supar-sentences", type=int, help="default: 2,000 on a GPU, 200 on a CPU; 0 skips SuPar")
    options.add_argument("--repeats", type=int, default=5)
    for name in BATCHING_OPTIONS:
        options.add_argument(f"--{name.replace('_', '-')}", type=int, help="default: depends on the device")
    return options.parse_args()


def main() -> None:
    args = parse_arguments()
    count, supar_count = SENTENCES["cpu" if args.device == "cpu" else "cuda"]
    count = count if args.sentences is None else args.sentences
    supar_count = supar_count if args.supar_sentences is None else args.supar_sentences
    treebank = list(read_trees(args.treebank))
    trees = sample(treebank, count)
    words = sum(len(tree.words) for tree in trees) / len(trees)
    parser = Parser.load(args.model, args.device, precision=args.precision)
    batching = {name: getattr(args, name) for name in BATCHING_OPTIONS if getattr(args, name) is not None}
    kind = "cpu" if parser.device == "cpu" else "cuda"
    DEFAULT_BATCHING[kind] = replace(DEFAULT_BATCHING[kind], **batching)
    device = parser if kind == "cpu" else f"{torch.cuda.get_device_name()}, {parser}"
    print(f"{device}, torch {torch.__version__}, {args.model}: {len(trees):,} sentences of {words:.1f} words")
    print(parser.batching)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, target = folder / "in.txt", folder / "out.mrg"
        source.write_text("".join(f"{' '.join(tree.words)}\n" for tree in trees))
        speed = print_speed(parser, trees, source, target, args.repeats)
        if supar_count:
            repeats = max(1, args.repeats // 2)
            supar = supar_speed(sample(treebank, supar_count), treebank, folder, kind, repeats)
            ratio = (
                f"{supar:10,.0f} sentences/s; treecrf is {speed / supar:.1f}x" if isinstance(supar, float) else supar
            )
            print(f"SuPar    {ratio}")
        print("", *part_table(part_seconds(parser, source, target), len(trees)), sep="\n")


if __name__ == "__main__":
    main()
