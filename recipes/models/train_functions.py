"""Trains the functions of constituents (SBJ in NP-SBJ) of a saved model, whose other files stay as they are.

    python recipes/models/train_functions.py MODEL OUT SCHEME=TREES[:N] ... --dev TREES

MODEL and OUT are folders of models; they may be the same. SCHEME names the treebank of a file of full trees, of which N
at most are drawn at random. The first one is the default scheme, and an epoch reads its trees twice. A function is
trained in the schemes that have it often enough, and never given in the others. The constituents are the parser's own;
those that the gold tree does not have are to get no function. The weights are running means over the steps. The logits
are divided by the temperature that fits the constituents of the dev trees best which the gold trees have too.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save as to_safetensors
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from treecrf.network.nn.constituent_scorer import ConstituentScorer
from treecrf.parser import Parser
from treecrf.parser.decoding.constituent_features import SYMBOLS, WORDS
from treecrf.parser.decoding.constituents import Constituents, FullTrees
from treecrf.parser.decoding.functions import CATEGORIES, MOST_NAMES, NAMES, SCHEMES
from treecrf.parser.models.model_folder import save_folder
from treecrf.parser.storage import COMPONENTS, read_files
from treecrf.trees.evalb.full_score import score_full_trees
from treecrf.trees.notation import split_label
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.reader import read_trees

LEAST = 10  # constituents of a scheme with a function that is trained in it
LEAST_SHARE = 0.01  # constituents of a category with functions
FORBIDDEN = -30.0  # bias of a function that a scheme does not have
DECAY = 0.996  # weight of the old running means in each step


class Example(NamedTuple):
    """The features of constituents of some sentences, and the functions that they have in the gold trees."""

    scheme: int
    vectors: Tensor  # (w, d)
    words: Tensor  # (m, roles)
    symbols: Tensor  # (m, columns)
    functions: list[tuple[str, ...] | None]  # by constituent; None: the gold tree does not have it

    def logits(self, scorer: torch.nn.Module) -> Tensor:
        schemes = torch.full((len(self.words),), self.scheme)
        return scorer(self.vectors.float(), self.words, self.symbols, schemes)  # type: ignore[no-any-return]


class FunctionCounts:
    """The functions of the gold trees of each scheme, and the categories of the constituents that have them."""

    def __init__(self, treebanks: Sequence[Sequence[Tree]]) -> None:
        self.functions: list[Counter[str]] = []
        self.categories: list[list[str]] = []
        rows: list[tuple[str, ...]] = []
        for trees in treebanks:
            functions, totals, filled = Counter[str](), Counter[str](), Counter[str]()
            for label in (split_label(node.label) for tree in trees for node in tree.walk() if not node.is_leaf):
                functions.update(label.functions)
                totals[label.category] += 1
                filled[label.category] += bool(label.functions)
                rows.append(label.functions)
            self.functions.append(functions)
            self.categories.append(sorted(name for name in totals if filled[name] >= LEAST_SHARE * totals[name]))
        self.names = _in_usual_order(rows, self._trained)

    @property
    def _trained(self) -> set[str]:
        """The most frequent functions, as many as a model may have."""
        names = {name for counts in self.functions for name in counts}
        most = Counter({name: max(counts[name] for counts in self.functions) for name in names})
        return {name for name, count in most.most_common(MOST_NAMES) if count >= LEAST}

    @property
    def is_trained(self) -> Tensor:
        """Which functions are trained in each scheme, (schemes, functions)."""
        return torch.tensor([[float(counts[name] >= LEAST) for name in self.names] for counts in self.functions])

    def one_hot(self, functions: Sequence[tuple[str, ...] | None]) -> Tensor:
        """Which functions constituents have, (m, functions)."""
        return torch.tensor([[float(name in (row or ())) for name in self.names] for row in functions])


def _in_usual_order(functions: Sequence[tuple[str, ...]], trained: set[str]) -> list[str]:
    """The names in the order in which most labels have them."""
    places = {name: [0.0] for name in trained}
    for names in functions:
        for place, name in enumerate(names if len(names) > 1 else ()):
            if name in trained:
                places[name].append(place / (len(names) - 1) - 0.5)
    return sorted(trained, key=lambda name: (sum(places[name]) / len(places[name]), name))


def read_sample(source: str) -> list[Tree]:
    """At most N random trees of FILE:N, or all trees of FILE."""
    path, _, limit = source.partition(":")
    trees = list(read_trees(path))
    return random.Random(1).sample(trees, min(int(limit), len(trees))) if limit else trees


def read_examples(parser: Parser, trees: Sequence[Tree], scheme: int, counts: FunctionCounts) -> Iterator[Example]:
    """Examples of batches of sentences, with the parser's constituents of categories that have functions."""
    builder, decode = parser.full_tree_builder, parser.batch_decoder(mbr=True, keeps_vectors=True)
    window = parser.reader.window([tree.words for tree in trees])
    for indices in window.batches(parser.batching.budget):
        sentences = window.select(indices)
        batch = builder.decoded_batch(sentences, decode(sentences))
        full = FullTrees.of([trees[index] for index in indices], batch.constituents.categories)
        gold: dict[tuple[int, int, int], str] = {}
        for key, label in zip(_keys(full.constituents), full.labels, strict=True):
            gold.setdefault(key, label)
        rows = np.flatnonzero(np.isin(batch.constituents.labels, counts.categories[scheme]))
        if not len(rows):
            continue  # the mean loss of no constituent is no number
        labels = [gold.get(key) for key in _keys(batch.constituents)]
        functions = [None if (label := labels[row]) is None else split_label(label).functions for row in rows.tolist()]
        vectors = torch.from_numpy(batch.vectors.astype(np.float16))
        yield Example(scheme, vectors, *map(torch.from_numpy, builder.symbols.features(batch, rows)), functions)


def _keys(constituents: Constituents) -> list[tuple[int, int, int]]:
    columns = (constituents.ids, constituents.starts, constituents.ends)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def train(
    scorer: ConstituentScorer, examples: list[Example], counts: FunctionCounts, epochs: int, rate: float
) -> ConstituentScorer:
    """Trains with one example a step; returns the scorer with the running means of the weights."""
    means = AveragedModel(scorer, multi_avg_fn=get_ema_multi_avg_fn(DECAY))
    optimizer = torch.optim.AdamW(scorer.parameters(), rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * len(examples), pct_start=0.1)
    targets = [counts.one_hot(example.functions) for example in examples]
    is_trained, start = counts.is_trained, time.monotonic()
    for epoch in range(epochs):
        total = 0.0
        for number in torch.randperm(len(examples)).tolist():
            example = examples[number]
            with torch.autocast("cpu", torch.bfloat16):
                logits = example.logits(scorer)
            losses = F.binary_cross_entropy_with_logits(logits.float(), targets[number], reduction="none")
            loss = (losses * is_trained[example.scheme]).sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            means.update_parameters(scorer)
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / len(examples):.4f}, {time.monotonic() - start:.0f} s", flush=True)
    return means.module.eval()  # type: ignore[no-any-return]


def fit_temperature(scorer: ConstituentScorer, dev: Sequence[Example], counts: FunctionCounts) -> float:
    """The temperature that fits the functions of those constituents best that the gold trees have."""
    with torch.no_grad():
        logits = torch.cat([example.logits(scorer) for example in dev])
    functions = [row for example in dev for row in example.functions]
    is_found = torch.tensor([row is not None for row in functions])
    logits, targets = logits[is_found], counts.one_hot(functions)[is_found]
    losses = {t: float(F.binary_cross_entropy_with_logits(logits / t, targets)) for t in np.arange(0.6, 2.5, 0.05)}
    return float(min(losses, key=lambda t: losses[t]))


def main() -> None:
    """Trains, saves the model with its functions, and scores the dev trees."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("treebanks", nargs="+", metavar="SCHEME=TREES[:N]")
    arguments.add_argument("--dev", type=Path, required=True)
    arguments.add_argument("--size", type=int, default=128)
    arguments.add_argument("--epochs", type=int, default=10)
    arguments.add_argument("--rate", type=float, default=3e-3)
    arguments.add_argument("--dropout", type=float, default=0.2)
    options = arguments.parse_args()
    torch.manual_seed(1)
    parser = Parser.load(options.model, "cpu")
    schemes, sources = zip(*(entry.split("=", 1) for entry in options.treebanks), strict=True)
    treebanks = list(map(read_sample, sources))
    counts = FunctionCounts(treebanks)
    print(*counts.names)
    parts = [list(read_examples(parser, trees, n, counts)) for n, trees in enumerate(treebanks)]
    examples = [example for part in [parts[0], *parts] for example in part]
    scorer = ConstituentScorer(
        width=examples[0].vectors.shape[1],
        size=options.size,
        roles=len(WORDS),
        symbols=(len(SYMBOLS), parser.full_tree_builder.symbols.size),
        classes=len(counts.names),
        schemes=len(schemes),
    )
    scorer.dropout.p = options.dropout
    scorer = train(scorer.train(), examples, counts, options.epochs, options.rate)
    scorer.biases.data[counts.is_trained == 0] = FORBIDDEN
    gold = list(read_trees(options.dev))
    scale = 1 / fit_temperature(scorer, list(read_examples(parser, gold, 0, counts)), counts)
    arrays = {name: tensor.numpy() for name, tensor in scorer.state_dict().items()}
    arrays |= {name: arrays[name] * np.float32(scale) for name in ("out.weight", "biases")}
    arrays = {name: array.astype(np.float16) for name, array in arrays.items()}
    texts = {NAMES: counts.names, SCHEMES: schemes, CATEGORIES: map(" ".join, counts.categories)}
    arrays |= {name: np.frombuffer("\n".join(text).encode(), np.uint8) for name, text in texts.items()}
    save_folder(options.out, {**read_files(options.model), COMPONENTS["functions"]: to_safetensors(arrays)})
    saved = Parser.load(options.out, "cpu")
    predicted = saved.parse_many([tree.words for tree in gold], functions=True)
    print(f"temperature {1 / scale:.2f}", score_full_trees(gold, predicted).text())


if __name__ == "__main__":
    main()
