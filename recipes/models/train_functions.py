"""Trains the functions of constituents (SBJ in NP-SBJ) of a saved model, whose other files stay as they are.

    python recipes/models/train_functions.py MODEL OUT SCHEME=TREES ... --dev TREES [--sentences N] [--size N]

MODEL and OUT are folders of models; they may be the same. SCHEME names the treebank of a file of full trees. The first
one is the default scheme, and its trees are read twice in each epoch. Of each file, at most N sentences are drawn at
random. A function is trained in the schemes that have it often enough, and never given in the others. The network of
the parser gives the vectors of words; the constituents come from the gold trees. The logits are then divided by the
temperature that fits the constituents of the dev trees best which the parser finds.
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

from treecrf.network.nn.constituent_scorer import ConstituentScorer
from treecrf.parser import Parser
from treecrf.parser.decoding.constituent_features import SYMBOLS, WORDS
from treecrf.parser.decoding.constituents import Constituents, DecodedBatch, FullTrees
from treecrf.parser.decoding.functions import NAMES, SCHEMES
from treecrf.parser.models.model_folder import save_folder
from treecrf.parser.pipeline import Sentences, decode_windows
from treecrf.parser.storage import COMPONENTS, read_files
from treecrf.trees.evalb.full_score import score_full_trees
from treecrf.trees.notation import split_label
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.bracket_writer import FlatTrees
from treecrf.trees.treebank.reader import read_trees

BATCH = 250  # constituents
LEAST = 10  # constituents of a scheme with a function that is trained in it
FORBIDDEN = -30.0  # bias of a function that a scheme does not have


class Examples(NamedTuple):
    """The features of constituents of one treebank, and the functions that they have."""

    scheme: int
    vectors: Tensor  # (w, d)
    words: Tensor  # (m, roles)
    symbols: Tensor  # (m, columns)
    functions: list[tuple[str, ...]]  # by constituent


def word_vectors(parser: Parser, trees: Sequence[Tree]) -> np.ndarray:
    """The vectors of all words of trees, (w, d), in 16 bits."""

    def build(sentences: Sentences, decoded: FlatTrees) -> list[np.ndarray]:
        assert decoded.vectors is not None
        return np.split(decoded.vectors.astype(np.float16), np.cumsum(list(map(len, sentences.words)))[:-1])

    windows = parser.reader.windows([tree.words for tree in trees], None, None, sizes=parser.batching.window_sizes)
    decoder = parser.batch_decoder(mbr=True, keeps_vectors=True)
    vectors = decode_windows(enumerate(windows), decoder, build, parser.batching)
    return np.concatenate([rows for _, window in vectors for rows in window])


def read_examples(parser: Parser, path: Path, scheme: int, limit: int) -> Examples:
    """Random sentences of a file."""
    trees = list(read_trees(path))
    trees = random.Random(1).sample(trees, min(limit, len(trees)))
    builder, vectors = parser.full_tree_builder, word_vectors(parser, trees)
    full = FullTrees.of(trees, builder.label_chains.categories)
    words, tags = ([item for tree in trees for item in getattr(tree, name)] for name in ("words", "tags"))
    batch = DecodedBatch(constituents=full.constituents, words=words, tags=tags, vectors=vectors, rules=builder.rules)
    features = builder.symbols.features(batch)
    tensors = map(torch.from_numpy, (vectors, *features))
    return Examples(scheme, *tensors, [split_label(label).functions for label in full.labels])


def function_names(functions: Sequence[tuple[str, ...]], trained: set[str]) -> list[str]:
    """The names in the order in which most labels have them."""
    places = {name: [0.0] for name in trained}
    for names in functions:
        for place, name in enumerate(names if len(names) > 1 else ()):
            if name in trained:
                places[name].append(place / (len(names) - 1) - 0.5)
    return sorted(trained, key=lambda name: (sum(places[name]) / len(places[name]), name))


def batches(examples: Examples, names: Sequence[str]) -> Iterator[tuple[Tensor, ...]]:
    """Neighboring constituents with the vectors of their words: vectors, words, symbols, schemes and targets."""
    targets = one_hot(examples.functions, names)
    for first in range(0, len(targets), BATCH):
        part = slice(first, first + BATCH)
        words, total = examples.words[part], len(examples.vectors)
        start, end = int(words.min()), int(words[words < total].max()) + 1
        schemes = torch.full((len(words),), examples.scheme)
        local = torch.where(words < total, words - start, end - start)
        yield examples.vectors[start:end], local, examples.symbols[part], schemes, targets[part]


def train(
    scorer: ConstituentScorer, data: list[tuple[Tensor, ...]], is_trained: Tensor, options: argparse.Namespace
) -> None:
    """Trains with one batch a step; `is_trained` are the functions of each scheme."""
    steps, start = options.epochs * len(data), time.monotonic()
    optimizer = torch.optim.Adam(scorer.parameters(), options.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.rate, steps, pct_start=0.1)
    chance = random.Random(1)
    for epoch in range(options.epochs):
        chance.shuffle(data)
        total = 0.0
        for vectors, words, symbols, schemes, targets in data:
            logits = scorer(vectors.float(), words, symbols, schemes)
            losses = F.binary_cross_entropy_with_logits(logits, targets, reduction="none") * is_trained[schemes]
            loss = losses.sum() / BATCH
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / len(data):.4f}, {time.monotonic() - start:.0f} s", flush=True)


def fit_temperature(scorer: ConstituentScorer, parser: Parser, gold: Sequence[Tree], names: Sequence[str]) -> float:
    """The temperature that fits the functions of those constituents of gold trees best which the parser finds."""
    builder, window = parser.full_tree_builder, parser.reader.window([tree.words for tree in gold])
    batch = builder.decoded_batch(window, parser.batch_decoder(mbr=True, keeps_vectors=True)(window))
    full = FullTrees.of(gold, batch.constituents.categories)
    labels = {}
    for key, label in zip(_keys(full.constituents), full.labels, strict=True):
        labels.setdefault(key, label)
    found = [labels.get(key) for key in _keys(batch.constituents)]
    rows = [number for number, label in enumerate(found) if label is not None]
    functions = [split_label(found[number] or "").functions for number in rows]
    words, symbols = (torch.from_numpy(column[rows]) for column in builder.symbols.features(batch))
    with torch.no_grad():
        schemes = torch.zeros(len(rows), dtype=torch.int64)
        logits = scorer(torch.from_numpy(batch.vectors), words, symbols, schemes)
    targets = one_hot(functions, names)
    losses = {t: float(F.binary_cross_entropy_with_logits(logits / t, targets)) for t in np.arange(0.6, 2.5, 0.05)}
    return float(min(losses, key=lambda t: losses[t]))


def _keys(constituents: Constituents) -> list[tuple[int, int, int]]:
    columns = (constituents.ids, constituents.starts, constituents.ends)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def one_hot(functions: Sequence[tuple[str, ...]], names: Sequence[str]) -> Tensor:
    """Which functions constituents have, (m, functions)."""
    return torch.tensor([[float(name in row) for name in names] for row in functions])


def main() -> None:
    """Trains, saves the model with its functions, and scores the dev trees."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("treebanks", nargs="+")
    arguments.add_argument("--dev", type=Path, required=True)
    arguments.add_argument("--sentences", type=int, default=4000)
    arguments.add_argument("--size", type=int, default=128)
    arguments.add_argument("--epochs", type=int, default=6)
    arguments.add_argument("--rate", type=float, default=3e-3)
    options = arguments.parse_args()
    torch.manual_seed(1)
    parser = Parser.load(options.model, "cpu")
    schemes, paths = zip(*(entry.split("=", 1) for entry in options.treebanks), strict=True)
    examples = [read_examples(parser, Path(path), n, options.sentences) for n, path in enumerate(paths)]
    counts = [Counter(name for names in treebank.functions for name in names) for treebank in examples]
    trained = {name for count in counts for name in count if count[name] >= LEAST}
    names = function_names([names for treebank in examples for names in treebank.functions], trained)
    is_trained = torch.tensor([[float(count[name] >= LEAST) for name in names] for count in counts])
    print(*names)
    scorer = ConstituentScorer(
        width=examples[0].vectors.shape[1],
        size=options.size,
        roles=len(WORDS),
        symbols=(len(SYMBOLS), parser.full_tree_builder.symbols.size),
        classes=len(names),
        schemes=len(schemes),
    )
    data = [batch for treebank in [examples[0], *examples] for batch in batches(treebank, names)]
    train(scorer.train(), data, is_trained, options)
    gold = list(read_trees(options.dev))
    scorer.biases.data[is_trained == 0] = FORBIDDEN
    scale = 1 / fit_temperature(scorer.eval(), parser, gold, names)
    arrays = {name: tensor.numpy() for name, tensor in scorer.state_dict().items()}
    arrays |= {name: arrays[name] * np.float32(scale) for name in ("out.weight", "biases")}
    arrays = {name: array.astype(np.float16) for name, array in arrays.items()}
    texts = {NAMES: names, SCHEMES: schemes}
    arrays |= {name: np.frombuffer("\n".join(text).encode(), np.uint8) for name, text in texts.items()}
    save_folder(options.out, {**read_files(options.model), COMPONENTS["functions"]: to_safetensors(arrays)})
    saved = Parser.load(options.out, "cpu")
    predicted = saved.parse_many([tree.words for tree in gold], functions=True)
    print(f"temperature {1 / scale:.2f}", score_full_trees(gold, predicted).text())


if __name__ == "__main__":
    main()
