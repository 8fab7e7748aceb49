"""Trains the vectors of given tags and annotation schemes of a packed model, whose other weights stay as they are.

    python recipes/models/train_conditions.py MODEL OUT SCHEME=TREES ... [--sentences N] [--steps N]

MODEL and OUT are folders of models; they may be the same. SCHEME names the scheme of a file with training trees; a
file without a name has none. N sentences of each file, of at most 40 words, are drawn at random. A third of the
sentences get their scheme alone, a third the gold tags of all words, a third of a random share, half of these with the
scheme. Words whose tag is given are sometimes replaced by others, so that the network trusts the tag. The vectors of
tags are saved times a scale, which was chosen on dev: with it, the F of `en` is higher on masc, ptb_sample and gum.
The trees of the model without conditions do not change.
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from treecrf.network.data.batch import Batch
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.vocabulary import GoldTree, Vocabulary
from treecrf.network.nn.batch import TensorBatch
from treecrf.parser.components import Components
from treecrf.parser.network import build_network
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.training.adaptation.fine_tuning import train_only
from treecrf.trees.treebank.reader import read_trees

CONDITIONS = "transformer.conditions."
LONGEST = 40
BATCH_WORDS = 600
REPLACED_SENTENCES, REPLACED_WORDS = 0.3, 0.15


class Example(NamedTuple):
    """A training sentence with its gold tree, and its scheme counted from 1; 0 is none."""

    words: Sequence[str]
    tags: Sequence[str]
    gold: GoldTree
    scheme: int


class Conditions(NamedTuple):
    """The words, given tags and scheme that the network reads."""

    words: Sequence[str]
    tags: Sequence[str | None]
    scheme: int


def read_examples(
    files: Sequence[tuple[str, Path]], schemes: Sequence[str], vocabulary: Vocabulary, limit: int
) -> list[Example]:
    """Random sentences of each file."""
    examples: list[Example] = []
    for name, path in files:
        trees = [tree for tree in read_trees(path) if 1 < len(tree.words) <= LONGEST]
        scheme = schemes.index(name) + 1 if name else 0
        for tree in random.Random(1).sample(trees, min(limit, len(trees))):
            examples.append(Example(tree.words, tree.tags, vocabulary.encode_tree(tree), scheme))
    return examples


def draw_conditions(example: Example, chance: random.Random, words: Sequence[str]) -> Conditions:
    """The scheme, tags, or both; `words` replace words whose tag is given."""
    share = chance.choice((0.0, 1.0, chance.random())) if example.scheme else 1.0
    tags = [tag if chance.random() < share else None for tag in example.tags]
    scheme = example.scheme if share == 0 or chance.random() < 0.5 else 0
    replaced = REPLACED_WORDS if chance.random() < REPLACED_SENTENCES else 0.0
    read = [
        chance.choice(words) if tag is not None and tag[0].isalpha() and chance.random() < replaced else word
        for word, tag in zip(example.words, tags, strict=True)
    ]
    return Conditions(read, tags, scheme)


def batches(examples: Sequence[Example], numericalizer: Numericalizer, steps: int) -> Iterator[Batch]:
    """Batches of sentences of similar length, with random conditions."""
    chance = random.Random(2)
    words = [word for example in examples for word in example.words if word.isalpha()]
    groups: list[list[Example]] = [[]]
    for example in sorted(examples, key=lambda example: len(example.words)):
        if len(example.words) * (len(groups[-1]) + 1) > BATCH_WORDS:
            groups.append([])
        groups[-1].append(example)
    for step in range(steps):
        if step % len(groups) == 0:
            chance.shuffle(groups)
        group = groups[step % len(groups)]
        conditions = [draw_conditions(example, chance, words) for example in group]
        sentences, tags, schemes = zip(*conditions, strict=True)
        yield numericalizer.collate(sentences, tags=tags, schemes=schemes, gold=[example.gold for example in group])


def main() -> None:
    """Trains, and saves the model with its conditions."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("out", type=Path)
    arguments.add_argument("treebanks", nargs="+")
    arguments.add_argument("--sentences", type=int, default=4000)
    arguments.add_argument("--steps", type=int, default=2000)
    arguments.add_argument("--rate", type=float, default=4e-3)
    arguments.add_argument("--tag-scale", type=float, default=0.5)
    options = arguments.parse_args()
    files = [(name, Path(path)) for name, _, path in (entry.rpartition("=") for entry in options.treebanks)]
    schemes = tuple(name for name, _ in files if name)
    torch.manual_seed(1)
    state = load_parser_state(options.model)
    config = replace(state.config.model, tag_conditions=True, schemes=schemes)
    assert state.bert is not None, "conditions need a plain BERT"
    rows = {"tags": len(state.vocabulary.tags), "schemes": len(schemes)}
    layers, width = state.bert.num_hidden_layers + 1, state.bert.hidden_size
    empty = {CONDITIONS + name: np.zeros((layers, count, width), np.float32) for name, count in rows.items()}
    weights = {name: array for name, array in state.weights.items() if not name.startswith(CONDITIONS)}
    state = replace(state, config=replace(state.config, model=config), weights={**weights, **empty})
    network = build_network(state).train()
    train_only(network, lambda name: name.startswith(CONDITIONS))
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    numericalizer = Components(network, state.vocabulary, state.config, subwords=state.subwords).numericalizer
    optimizer = torch.optim.Adam(trained, lr=options.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.rate, options.steps, pct_start=0.1)
    examples = read_examples(files, schemes, state.vocabulary, options.sentences)
    print(len(examples), "sentences", flush=True)
    start, losses = time.monotonic(), []
    for step, batch in enumerate(batches(examples, numericalizer, options.steps), 1):
        loss = network.loss(TensorBatch.from_host(batch)).total()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {np.mean(losses[-50:]):.4f}, {time.monotonic() - start:.0f} s", flush=True)
        if step % 200 == 0 or step == options.steps:
            vectors = {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}
            conditions = {name: array for name, array in vectors.items() if name.startswith(CONDITIONS)}
            conditions[CONDITIONS + "tags"] = conditions[CONDITIONS + "tags"] * np.float32(options.tag_scale)
            save_parser_state(options.out, replace(state, weights={**weights, **conditions}))


if __name__ == "__main__":
    main()
