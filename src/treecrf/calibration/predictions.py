"""A parser's predictions on gold trees: how probable each is, and whether it is correct.

A constituent is correct if the gold tree has it with the same words and label. The root, which every tree has, is not
counted. The probability of a tree is the sum over all labeled binary trees that give this tree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from treecrf.chart import inside
from treecrf.chart.cpu_backend import Doubles
from treecrf.data.batch import Ints
from treecrf.data.bucketing import sorted_batches
from treecrf.data.scores import Scores
from treecrf.decoding import Decoded, decode
from treecrf.decoding.beta_calibration import BetaCalibration
from treecrf.decoding.bracket_distribution import BracketDistribution
from treecrf.decoding.log_space import log_softmax, logsumexp
from treecrf.parser import Parser
from treecrf.parser.inputs import Sentences
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import LabelSet, to_spans, unary_chain


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
    """The predictions for some sentences: constituents with labels, constituents without labels, and whole trees."""

    labeled: Forecasts = field(default_factory=Forecasts)
    unlabeled: Forecasts = field(default_factory=Forecasts)
    trees: Forecasts = field(default_factory=Forecasts)
    counts: list[tuple[int, int, int]] = field(default_factory=list)  # gold, predicted and matched, of each sentence


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
    probabilities = np.exp(tree_log_probs(scores, distribution, predicted, labels)).tolist()
    for gold_tree, tree, probability in zip(gold, predicted, probabilities, strict=True):
        gold_constituents, constituents = _constituents(gold_tree), _constituents(tree)
        tree_spans = islice(spans, 2 * len(tree.words) - 1)
        matched = _add_constituents(predictions, tree_spans, gold_constituents, parser.calibration)
        predictions.trees.add(probability, constituents == gold_constituents)
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
    columns = {name: column for column, name in enumerate(labels.names)}
    starts, ends, label_ids = decoded.starts.tolist(), decoded.ends.tolist(), decoded.labels.tolist()
    for place, label in enumerate(label_ids):
        chain = unary_chain(labels.strings[label])
        constituents = [(name, name_probabilities[place][columns[name]]) for name in chain]
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
        if constituents:
            predictions.unlabeled.add(calibration(probability), (start, end) in gold_spans)
    return gold.total() - unmatched.total()


def _constituents(tree: Tree) -> Counter[Span]:
    """The constituents of a tree below its root."""
    counts = Counter(tree.spans())
    counts[Span(0, len(tree.words), tree.label)] -= not tree.is_leaf
    return +counts


def tree_log_probs(
    scores: Scores, distribution: BracketDistribution, trees: Sequence[Tree], labels: LabelSet
) -> Doubles:
    """The log-probability of each tree, (b,): the sum over all labeled binary trees that give this tree.

    These are the trees of a restricted chart. The spans of the tree's constituents have exactly their labels. The other
    spans that cross no constituent have any label without constituents. All other spans are forbidden.
    """
    size = scores.spans.shape[1]
    ids = {label: number for number, label in enumerate(labels.strings)}
    constituents = [
        (sentence * size * size + start * size + end, ids.get(label, -1))
        for sentence, tree in enumerate(trees)
        for start, end, label in to_spans(tree)
        if unary_chain(label)
    ]
    cells, label_ids = np.array(constituents, np.int64).reshape(-1, 2).T
    free_cells = _compatible_cells(trees, size)
    chart = np.full(scores.spans.size, -np.inf)
    free = log_softmax(scores.labels_at(free_cells))
    free[:, labels.counts > 0] = -np.inf
    chart[free_cells] = logsumexp(free)
    fixed = log_softmax(scores.labels_at(cells))[np.arange(len(cells)), label_ids.clip(min=0)]
    chart[cells] = np.where(label_ids < 0, -np.inf, fixed)  # -1: the model does not have the label
    _, restricted = inside(chart.reshape(scores.spans.shape) + distribution.scores, scores.lengths)
    return (restricted - distribution.log_z).clip(max=0.0)


def _compatible_cells(trees: Sequence[Tree], size: int) -> Ints:
    """The chart cells of all spans that cross no constituent: neighboring children of one node, and single words."""
    cells: set[int] = set()
    for sentence, tree in enumerate(trees):
        base = sentence * size * size
        for node, start in _nodes_with_starts(tree):
            fenceposts = [start]
            for child in node.subtrees:
                fenceposts.append(fenceposts[-1] + len(child.words))
            cells |= {base + i * size + j for place, i in enumerate(fenceposts) for j in fenceposts[place + 1 :]}
        cells |= {base + i * size + i + 1 for i in range(len(tree.words))}
    return np.array(sorted(cells), np.int64)


def _nodes_with_starts(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """The nodes of a tree above its preterminals, with the first word of each."""
    stack = [(tree, 0)]
    while stack:
        node, start = stack.pop()
        if node.is_leaf:
            continue
        yield node, start
        for child in node.subtrees:
            stack.append((child, start))
            start += len(child.words)
