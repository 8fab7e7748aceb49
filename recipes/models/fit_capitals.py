"""Fits what the tag head of a trained model knows about capital letters, on development trees.

    python recipes/models/fit_capitals.py MODEL OUT TREES... [--limit 600]

MODEL and OUT are folders of models; they may be the same. OUT has the setting `model.tag_capitals`: to the scores of a
word's tags, the model adds the scores of its class (`treecrf.network.data.numericalize`). Only these scores are
fitted, by logistic regression; all other weights stay as they are. The trees should not be training trees, whose tags
the model knows without capitals. The accuracy of the tags is printed before and after, by cross-validation with five
folds.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor, nn

from treecrf.network.data.numericalize import CAPITAL_CLASSES
from treecrf.parser import Parser
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

FOLDS = 5
BATCH = 32
PENALTY = 1e-5  # weight of the squared scores


class TaggedWords(NamedTuple):
    """The scores of the tags of m words, (m, tags), the classes of the words and their gold tags, (m,) each."""

    scores: Tensor
    classes: Tensor
    tags: Tensor


def score_words(parser: Parser, trees: Sequence[Tree]) -> TaggedWords:
    """The words of the trees that have a tag of the model's."""
    tag_ids = {tag: number for number, tag in enumerate(parser.vocabulary.tags)}
    words = [_score_batch(parser, batch, tag_ids) for batch in _batches(trees)]
    return TaggedWords(*(torch.cat(parts) for parts in zip(*words, strict=True)))


def _batches(trees: Sequence[Tree]) -> Iterator[list[Tree]]:
    ordered = iter(sorted(trees, key=lambda tree: len(tree.words)))
    while batch := list(islice(ordered, BATCH)):
        yield batch


def _score_batch(parser: Parser, trees: Sequence[Tree], tag_ids: dict[str, int]) -> TaggedWords:
    batch = parser.numericalizer.collate([tree.words for tree in trees])
    scores = parser.scorer.score(batch).tags
    assert scores is not None and batch.capitals is not None
    is_word = torch.arange(batch.longest) < torch.from_numpy(batch.lengths)[:, None]
    tags = torch.tensor([tag_ids.get(tag, -1) for tree in trees for tag in tree.tags])
    is_known = tags >= 0
    words = TaggedWords(torch.from_numpy(scores)[is_word], torch.from_numpy(batch.capitals)[is_word], tags)
    return TaggedWords(*(part[is_known] for part in words))


def fit(words: TaggedWords) -> Tensor:
    """The scores to add, (classes, tags): the weights of a logistic regression, divided by its factor of the model's.

    Those of class 0 are zero, so that punctuation keeps its tags.
    """
    tags = words.scores.shape[1]
    rows = torch.zeros(CAPITAL_CLASSES - 1, tags, requires_grad=True)
    log_factor = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.LBFGS([rows, log_factor], max_iter=100, line_search_fn="strong_wolfe")

    def table() -> Tensor:
        return torch.cat([torch.zeros(1, tags), rows])

    def loss() -> Tensor:
        optimizer.zero_grad()
        scores = words.scores * log_factor.exp() + table()[words.classes]
        value = nn.functional.cross_entropy(scores, words.tags) + PENALTY * rows.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return (table() / log_factor.exp()).detach()


def accuracy(words: TaggedWords, table: Tensor | None = None) -> float:
    """The percentage of correct tags, with or without a table of scores to add."""
    scores = words.scores if table is None else words.scores + table[words.classes]
    return 100 * (scores.argmax(-1) == words.tags).double().mean().item()


def cross_validate(parts: Sequence[TaggedWords]) -> list[float]:
    """The accuracy on each part, by tables that were fitted on the other folds of all parts."""
    correct = [0.0] * len(parts)
    for fold in range(FOLDS):
        in_fold = [torch.arange(len(part.tags)) * FOLDS // len(part.tags) == fold for part in parts]
        others = [TaggedWords(*(array[~mask] for array in part)) for part, mask in zip(parts, in_fold, strict=True)]
        table = fit(TaggedWords(*(torch.cat(column) for column in zip(*others, strict=True))))
        for number, (part, mask) in enumerate(zip(parts, in_fold, strict=True)):
            held_out = TaggedWords(*(array[mask] for array in part))
            correct[number] += accuracy(held_out, table) * len(held_out.tags) / len(part.tags)
    return correct


def with_capitals(state: ParserState, table: Tensor) -> ParserState:
    """The state of a model that adds the scores of the table."""
    config = replace(state.config, model=replace(state.config.model, tag_capitals=True))
    return replace(state, config=config, weights={**state.weights, "capitals.weight": table.numpy()})


def main() -> None:
    """Fits the table, prints accuracies and saves the model."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("out")
    arguments.add_argument("trees", nargs="+")
    arguments.add_argument("--limit", type=int, help="trees of each file")
    options = arguments.parse_args()
    state = load_parser_state(options.model)
    if state.config.model.tag_capitals:
        raise SystemExit(f"{options.model} has model.tag_capitals already; expected a model without it")
    with tempfile.TemporaryDirectory() as folder:
        save_parser_state(folder, with_capitals(state, torch.zeros(CAPITAL_CLASSES, len(state.vocabulary.tags))))
        parser = Parser.load(folder, "cpu")
    parts = [score_words(parser, list(islice(read_trees(path), options.limit))) for path in options.trees]
    for path, part, after in zip(options.trees, parts, cross_validate(parts), strict=True):
        print(f"{path}: {accuracy(part):.2f} before, {after:.2f} after")
    table = fit(TaggedWords(*(torch.cat(column) for column in zip(*parts, strict=True))))
    save_parser_state(options.out, with_capitals(state, table))


if __name__ == "__main__":
    main()
