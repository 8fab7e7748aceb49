"""How fast a file of sentences becomes a file of trees, beside SuPar in the same run, and where the time goes.

    python benchmarks/parse.py TREEBANK.mrg.gz [--model en] [--sentences 20000] [--device cuda] [--repeats 5]
        [--window 8192] [--batch-words 40000] [--batch-cells 4000000] [--ahead 2]

The treebank's sentences, repeated as often as needed in an order drawn once, are parsed by `treecrf parse --tokens`:
everything counts but loading the model. The first run compiles kernels and meets every word; the median is of those
after it. Then come the parts one by one, each finished before the next begins, which takes longer than letting them
overlap.

SuPar's `predict` reads brackets and writes brackets; MBR is on, as for us. There is no trained model of it that a
current PyTorch loads, so the network of its documented configuration (characters, 3 x 400 BiLSTM) is built over the
treebank's own words and labels with random weights. It does all of its work, and then builds and writes the gold trees:
random weights find flat ones, which take less time than those of a trained parser. It needs
`pip install --no-deps supar dill nltk`, and is left out where it cannot be imported.
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

from treecrf.bulk.inputs import InputFile, read_lines
from treecrf.bulk.line_parser import split_words
from treecrf.cli import main as treecrf
from treecrf.parser import Parser
from treecrf.parser.inputs import DEFAULT_BATCHING
from treecrf.reproduce.baselines import supar_speed
from treecrf.reproduce.speed import SENTENCES, sample, time_parts
from treecrf.reproduce.timer import Clock, seconds
from treecrf.treebank import read_trees

PACE = ("window", "batch_words", "batch_cells", "ahead")


def parse_file(parser: Parser, source: Path, target: Path) -> None:
    """The whole command, but with a parser that is loaded already."""
    with patch.object(Parser, "load", return_value=parser), contextlib.suppress(SystemExit):
        treecrf(["parse", "--tokens", str(source), "-o", str(target)])
    if not target.exists():
        sys.exit("treecrf parse has failed")


def parts(parser: Parser, source: Path, target: Path) -> dict[str, float]:
    """Seconds of each part of a run."""
    clock = Clock(parser.device)
    with clock.time("read and split"):
        lines = list(read_lines(InputFile(str(source), Path(source.name)), limit=1_000_000))
        words = [split_words(line.text)[0] for line in lines]
    with target.open("wb") as stream:
        time_parts(parser, words, stream, clock)
    return clock.seconds


def report(found: dict[str, float], sentences: int) -> None:
    total = sum(found.values())
    print(f"\n{'part':24} {'us/sentence':>12} {'share':>8}")
    for name, time_ in found.items():
        print(f"{name:24} {1e6 * time_ / sentences:12.2f} {100 * time_ / total:7.1f}%")
    print(f"{'one after the other':24} {1e6 * total / sentences:12.2f}   {sentences / total:,.0f} sentences/s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebank", help="a file of trees, whose words are parsed")
    options.add_argument("--model", default="en", help="a model that came with treecrf, or a folder")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--sentences", type=int, help="20,000 on a GPU, 500 elsewhere")
    options.add_argument("--peer-sentences", type=int, help="for SuPar: 2,000 on a GPU, 200 elsewhere; 0 leaves it out")
    options.add_argument("--repeats", type=int, default=5)
    for name in PACE:
        options.add_argument(f"--{name.replace('_', '-')}", type=int, help="instead of the device's own")
    args = options.parse_args()
    ours, theirs = SENTENCES.get(torch.device(args.device).type, SENTENCES["cpu"])
    ours = ours if args.sentences is None else args.sentences
    theirs = theirs if args.peer_sentences is None else args.peer_sentences
    treebank = list(read_trees(args.treebank))
    trees = sample(treebank, ours)
    words = sum(len(tree.words) for tree in trees) / len(trees)
    parser = Parser.load(args.model, args.device)
    chosen = {name: getattr(args, name) for name in PACE if getattr(args, name) is not None}
    DEFAULT_BATCHING[parser.device.type] = replace(DEFAULT_BATCHING[parser.device.type], **chosen)
    name = torch.cuda.get_device_name() if parser.device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(
        f"{name}, torch {torch.__version__}, {args.model}: {len(trees):,} sentences of {words:.1f} words, {parser.batching}"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source, target = folder / "in.txt", folder / "out.mrg"
        source.write_text("".join(f"{' '.join(tree.words)}\n" for tree in trees))
        first, *others = seconds(lambda: parse_file(parser, source, target), args.repeats)
        speed = len(trees) / statistics.median(others)
        print(
            f"treecrf  {speed:10,.0f} sentences/s, median of {len(others)} "
            f"({', '.join(f'{len(trees) / time_:,.0f}' for time_ in others)}); first run {len(trees) / first:,.0f}"
        )
        if theirs:
            peer = supar_speed(
                sample(treebank, theirs), treebank, folder, parser.device.type, max(1, args.repeats // 2)
            )
            ratio = f"{peer:10,.0f} sentences/s; treecrf is {speed / peer:.1f}x" if isinstance(peer, float) else peer
            print(f"SuPar    {ratio}")
        report(parts(parser, source, target), len(trees))


if __name__ == "__main__":
    main()
