"""A parser's predictions on gold trees: how probable each is, and whether it is correct.

A constituent is correct if the gold tree has it with the same words and label. The root, which every tree has, is not
counted. The probability of a tree is the sum over all labeled binary trees that give this tree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.bucketing import sorted_batches
from treecrf.network.data.scores import Scores
from treecrf.parser import Parser
from treecrf.parser.decoding import Decoded, decode
from treecrf.parser.decoding.beta_calibration import BetaCalibration
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.log_space import log_softmax
from treecrf.parser.decoding.tree_probability import tree_log_probs
from treecrf.parser.inputs import Sentences
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, unary_chain

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Forecasts:
    """Predictions of one kind: the probability of each, and whether it is correct."""

    probabilities: list[float] = field(default_factory=list)
    is_correct: list[bool] = field(default_factory=list)

    def add(self, probability: float, is_correct: bool) -> None:
        """Adds one prediction."""
        self.probabilities.append(min(1.0, probability))
        self.is_correct.append(is_correct)


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """The predictions for some sentences: constituents with labels, constituents without labels, and whole trees.

    The order of sentences is that of `score_batches`, and each sentence has its labeled constituents in one piece.
    """

    labeled: Forecasts = field(default_factory=Forecasts)
    labels: list[str] = field(default_factory=list)  # of the labeled constituents
    unlabeled: Forecasts = field(default_factory=Forecasts)
    trees: Forecasts = field(default_factory=Forecasts)
    tree_log_probs: list[float] = field(default_factory=list)
    words: list[int] = field(default_factory=list)  # number of words of each sentence
    counts: list[tuple[int, int, int]] = field(default_factory=list)  # gold, predicted and matched, of each sentence

    @staticmethod
    def concatenate(parts: "Sequence[Predictions]") -> "Predictions":
        """The predictions of several parts as one."""

        def join(lists: Iterable[Sequence[T]]) -> list[T]:
            return list(chain.from_iterable(lists))

        def join_forecasts(forecasts: Sequence[Forecasts]) -> Forecasts:
            return Forecasts(
                probabilities=join(part.probabilities for part in forecasts),
                is_correct=join(part.is_correct for part in forecasts),
            )

        return Predictions(
            labeled=join_forecasts([part.labeled for part in parts]),
            labels=join(part.labels for part in parts),
            unlabeled=join_forecasts([part.unlabeled for part in parts]),
            trees=join_forecasts([part.trees for part in parts]),
            tree_log_probs=join(part.tree_log_probs for part in parts),
            words=join(part.words for part in parts),
            counts=join(part.counts for part in parts),
        )


def collect_predictions(parser: Parser, trees: Sequence[Tree], *, mbr: bool = True) -> Predictions:
    """Parses the words of gold trees and compares the predicted trees with them."""
    predictions = Predictions()
    for scores, gold in score_batches(parser, trees):
        _add_batch(predictions, parser, scores, gold, mbr=mbr)
    return predictions


def score_batches(parser: Parser, trees: Sequence[Tree]) -> Iterator[tuple[Scores, list[Tree]]]:
    """The parser's scores for the words of gold trees, in batches, with the gold trees of each batch."""
    for indices in sorted_batches([len(tree.words) for tree in trees], budget=parser.batching.budget):
        gold = [trees[index] for index in indices]
        words = [tree.words for tree in gold]
        yield parser.batch_scorer(Sentences(indices, words, words, [tree.tags for tree in gold])), gold


def _add_batch(predictions: Predictions, parser: Parser, scores: Scores, gold: list[Tree], *, mbr: bool) -> None:
    labels = LabelSet(parser.vocabulary.labels)
    distribution = BracketDistribution.of(scores)
    decoded = decode(scores, mbr=mbr, expected_f1=parser.expected_f1, distribution=distribution)
    spans = _predicted_spans(scores, distribution, decoded, labels)
    words, tags = [tree.words for tree in gold], [tree.tags for tree in gold]
    predicted = list(parser.tree_builder.trees(words, tags, decoded))
    log_probs = tree_log_probs(scores, distribution, predicted, labels, root=parser.root).tolist()
    for gold_tree, tree, log_prob in zip(gold, predicted, log_probs, strict=True):
        gold_constituents, constituents = constituents_below_root(gold_tree), constituents_below_root(tree)
        tree_spans = islice(spans, 2 * len(tree.words) - 1)
        matched = _add_constituents(predictions, tree_spans, gold_constituents, parser.calibration)
        words_of_tree = len(tree.words)
        predictions.trees.add(parser.tree_calibration(log_prob, words_of_tree), constituents == gold_constituents)
        predictions.tree_log_probs.append(log_prob)
        predictions.words.append(words_of_tree)
        predictions.counts.append((gold_constituents.total(), constituents.total(), matched))


class _PredictedSpan(NamedTuple):
    """A span of a predicted tree."""

    start: int
    end: int
    constituents: list[tuple[str, float]]  # labels, outermost first, with their probabilities
    probability: float  # that the span has any constituent


def _predicted_spans(
    scores: Scores, distribution: BracketDistribution, decoded: Decoded, labels: LabelSet
) -> Iterator[_PredictedSpan]:
    """The spans of a batch's decoded trees, one tree after the other."""
    _, cells = decoded_cells(scores, decoded)
    label_probabilities = np.exp(log_softmax(scores.labels_at(cells)))
    marginals = distribution.marginals.ravel()[cells].astype(float)
    name_probabilities = (marginals[:, None] * (label_probabilities @ labels.contains[:, :-1])).tolist()
    probabilities = (marginals * label_probabilities[:, labels.counts > 0].sum(-1)).tolist()
    starts, ends, label_ids = decoded.starts.tolist(), decoded.ends.tolist(), decoded.labels.tolist()
    for place, label in enumerate(label_ids):
        chain, columns = unary_chain(labels.strings[label]), labels.columns(labels.strings[label])
        constituents = [(name, name_probabilities[place][column]) for name, column in zip(chain, columns, strict=True)]
        yield _PredictedSpan(starts[place], ends[place], constituents, probabilities[place])


def decoded_cells(scores: Scores, decoded: Decoded) -> tuple[Ints, Ints]:
    """For each decoded span, the number of its sentence in the batch and its cell in the flat chart, both (spans,)."""
    size = scores.spans.shape[1]
    sentences = np.repeat(np.arange(len(scores.lengths)), 2 * scores.lengths - 1)
    return sentences, (sentences * size + decoded.starts) * size + decoded.ends


def _add_constituents(
    predictions: Predictions, spans: Iterable[_PredictedSpan], gold: Counter[Span], calibration: BetaCalibration
) -> int:
    """Adds the constituents of one predicted tree and returns how many of them the gold tree has."""
    gold_spans = {(start, end) for start, end, _ in gold}
    unmatched = Counter(gold)
    for start, end, constituents, probability in spans:
        for name, name_probability in constituents:
            is_correct = unmatched[Span(start, end, name)] > 0
            unmatched[Span(start, end, name)] -= is_correct
            predictions.labeled.add(calibration(name_probability), is_correct)
            predictions.labels.append(name)
        if constituents:
            predictions.unlabeled.add(calibration(probability), (start, end) in gold_spans)
    return gold.total() - unmatched.total()


def constituents_below_root(tree: Tree) -> Counter[Span]:
    """The constituents of a tree below its root."""
    counts = Counter(tree.spans())
    counts[Span(0, len(tree.words), tree.label)] -= not tree.is_leaf
    return +counts
