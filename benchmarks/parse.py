"""How fast a file of sentences becomes a file of trees, beside SuPar in the same run, and where the time goes.

    python benchmarks/parse.py TREEBANK.mrg.gz [--model en] [--sentences 20000] [--device cuda] [--repeats 5]
        [--window 8192] [--batch-words 40000] [--batch-cells 4000000] [--ahead 2]

The treebank's sentences, repeated as often as needed in an order drawn once, are parsed by `treecrf parse --tokens`:
everything counts but loading the model. The first run compiles kernels and meets every word; the median is of those
after it. Then come the parts one by one, each finished before the next begins, which takes longer than letting them
overlap.

SuPar's `predict` reads brackets and writes brackets; MBR is on, as for us. There is no trained model of it that a
current PyTorch loads, so the network of its documented configuration (characters, 3 x 400 BiLSTM) is built over the
treebank's own words and labels with random weights: it does all the work of a trained one, for sentences of the same
lengths, except that its trees have few constituents to build and write. It needs
`pip install --no-deps supar dill nltk`, and is left out where it cannot be imported.
"""

import argparse
import contextlib
import random
import statistics
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch

from treecrf.cli import main as treecrf
from treecrf.cli.parse import split_words
from treecrf.cli.sources import Source, read_lines
from treecrf.nn import decode
from treecrf.parser import Parser
from treecrf.tree import Tree
from treecrf.treebank import read_trees
from treecrf.window import PACES

SENTENCES = {"cuda": (20_000, 2_000), "cpu": (500, 200)}  # ours and SuPar's, which is slow
PACE = ("window", "batch_words", "batch_cells", "ahead")


def sample(trees: list[Tree], number: int) -> list[Tree]:
    """So many trees, all of them about equally often."""
    drawn: list[Tree] = []
    generator = random.Random(1)
    while len(drawn) < number:
        drawn += generator.sample(trees, min(len(trees), number - len(drawn)))
    return drawn


def seconds(run: Callable[[], object], repeats: int) -> list[float]:
    """Of the first run and of those after it."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return times


def parse_file(parser: Parser, source: Path, target: Path) -> None:
    """The whole command, but with a parser that is loaded already."""
    with patch.object(Parser, "load", return_value=parser), contextlib.suppress(SystemExit):
        treecrf(["parse", "--tokens", str(source), "-o", str(target)])
    if not target.exists():
        sys.exit("treecrf parse has failed")


class Clock:
    """Seconds by part; the device finishes a part before its time is taken."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def time(self, part: str) -> Iterator[None]:
        started = self.now()
        yield
        self.seconds[part] += self.now() - started

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


@torch.no_grad()
def parts(parser: Parser, source: Path, target: Path) -> dict[str, float]:
    """Seconds of each part of a run."""
    clock = Clock(parser.device)
    with clock.time("read and split"):
        lines = list(read_lines(Source(str(source), Path(source.name)), limit=1_000_000))
        words = [split_words(line.text)[0] for line in lines]
    writer = parser._writer(exact=False)
    with target.open("wb") as stream:
        for start in range(0, len(words), parser.pace.window):
            with clock.time("sort into batches"):
                window = parser._reader.window(words[start : start + parser.pace.window], start)
                batches = window.batches(parser.pace.budget)
            made: dict[int, str] = {}
            for members in batches:
                with clock.time("encode"):
                    sentences = window.pick(members)
                    batch = parser.encoder.collate(sentences.forms)
                with clock.time("copy to the device"):
                    batch = (batch.pin_memory() if clock.device.type == "cuda" else batch).to(clock.device)
                with clock.time("network"):
                    scores = parser.model(batch)
                with clock.time("chart and labels"):
                    decoded = decode(scores)
                with clock.time("copy to the host"):
                    decoded = decoded.cpu()
                with clock.time("text"):
                    made.update(zip(members, parser._lines(writer, sentences, decoded), strict=True))
            with clock.time("put in order and write"):
                stream.write("\n".join([*(made[number] for number in range(len(window))), ""]).encode())
    return clock.seconds


def supar(trees: list[Tree], vocabulary: list[Tree], folder: Path, device: str, repeats: int) -> float | str:
    """Sentences/s of SuPar, or why there is no figure."""
    if device == "cpu" and torch.cuda.is_available():
        return "it chooses the GPU where there is one: hide it with CUDA_VISIBLE_DEVICES="
    try:
        from supar import CRFConstituencyParser
    except ImportError as error:
        return f"{error}: pip install --no-deps supar dill nltk"
    for name, given in (("train", vocabulary), ("data", trees)):
        text = "".join(f"{tree}\n" for tree in given)
        (folder / f"{name}.pid").write_text(text.replace(r"\u{28}", "-LRB-").replace(r"\u{29}", "-RRB-"))
    options = {"feat": ["char"], "encoder": "lstm", "embed": None, "build": True, "verbose": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = CRFConstituencyParser.build(str(folder / "supar"), train=str(folder / "train.pid"), **options)
        for scorer in (parser.model.span_attn, parser.model.label_attn):
            torch.nn.init.normal_(scorer.weight, std=0.1)  # they start at zero, where every tree is as good as another

        def predict() -> None:
            parser.predict(str(folder / "data.pid"), pred=str(folder / "out.pid"), mbr=True, verbose=False)

        return len(trees) / statistics.median(seconds(predict, repeats)[1:])


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
    PACES[parser.device.type] = replace(PACES[parser.device.type], **chosen)
    name = torch.cuda.get_device_name() if parser.device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(
        f"{name}, torch {torch.__version__}, {args.model}: {len(trees):,} sentences of {words:.1f} words, {parser.pace}"
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
            peer = supar(sample(treebank, theirs), treebank, folder, parser.device.type, max(1, args.repeats // 2))
            ratio = f"{peer:10,.0f} sentences/s; treecrf is {speed / peer:.1f}x" if isinstance(peer, float) else peer
            print(f"SuPar    {ratio}")
        report(parts(parser, source, target), len(trees))


if __name__ == "__main__":
    main()
