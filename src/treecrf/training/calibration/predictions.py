"""A parser's predictions on gold trees: the probability of each, and whether it is correct.

A constituent is correct if the gold tree has it with the same words and label. The root, which every tree has, is not
counted. The probability of a tree is the sum over all labeled binary trees that give this tree.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.network.data.batch import Scores
from treecrf.network.data.bucketing import sorted_batches
from treecrf.parser import Parser
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.pipeline import Sentences
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, unary_chain
from treecrf.trees.treebank.bracket_writer import FlatTrees


class Forecasts(NamedTuple):
    """Arrays (units,) of the confidence in some units, their correct predictions, and all of their predictions.

    A constituent or a tree is a unit with one prediction; a sentence is a unit with a prediction per constituent.
    """

    confidences: Doubles
    correct: Doubles
    predictions: Doubles

    @staticmethod
    def single(pairs: Sequence[tuple[float, bool]]) -> "Forecasts":
        """Returns units of one prediction each, given as its probability and whether it is correct."""
        confidences, correct = np.array(pairs, float).reshape(-1, 2).T
        return Forecasts(confidences, correct, np.ones_like(correct))


class PredictedTree(NamedTuple):
    """The predicted tree of a sentence, and its numbers of constituents below the root."""

    words: int
    log_prob: float
    probability: float  # calibrated
    is_correct: bool
    gold: int
    predicted: int
    matched: int


@dataclass(frozen=True)
class Predictions:
    """The predictions for some sentences, which are in the order of `score_batches`."""

    constituents: list[tuple[str, float, bool]] = field(default_factory=list)  # label, probability, is correct
    spans: list[tuple[float, bool]] = field(default_factory=list)  # spans with any constituent
    trees: list[PredictedTree] = field(default_factory=list)

    def __add__(self, other: "Predictions") -> "Predictions":
        return Predictions(self.constituents + other.constituents, self.spans + other.spans, self.trees + other.trees)

    def forecasts(self, kind: str) -> Forecasts:
        """Returns the predictions of a kind: labeled or unlabeled constituents, trees, or sentences.

        The confidence in a sentence is the mean probability of its constituents, or 1 if it has none.
        """
        if kind == "sentences":
            sizes, matched = np.array([(tree.predicted, tree.matched) for tree in self.trees], int).reshape(-1, 2).T
            sums = np.bincount(self.constituent_sentences, self.forecasts("labeled").confidences, len(sizes))
            means = np.where(sizes > 0, sums / np.maximum(sizes, 1), 1.0)
            return Forecasts(means, matched.astype(float), sizes.astype(float))
        pairs = {
            "labeled": [(probability, is_correct) for _, probability, is_correct in self.constituents],
            "unlabeled": self.spans,
            "trees": [(tree.probability, tree.is_correct) for tree in self.trees],
        }
        return Forecasts.single(pairs[kind])

    @property
    def constituent_sentences(self) -> Ints:
        """The number of each constituent's sentence."""
        return np.repeat(np.arange(len(self.trees)), np.array([tree.predicted for tree in self.trees], int))


def collect_predictions(parser: Parser, trees: Sequence[Tree], *, mbr: bool = True) -> Predictions:
    """Parses the words of gold trees and compares the predicted trees with them."""
    predictions = Predictions()
    for scores, gold in score_batches(parser, trees):
        _add_batch(predictions, parser, scores, gold, mbr=mbr)
    return predictions


def score_batches(parser: Parser, trees: Sequence[Tree]) -> Iterator[tuple[Scores, list[Tree]]]:
    """Yields the parser's scores for the words of gold trees, in batches, with the gold trees of each batch."""
    for indices in sorted_batches([len(tree.words) for tree in trees], budget=parser.batching.budget):
        gold = [trees[index] for index in indices]
        words = [tree.words for tree in gold]
        yield parser.batch_scorer(Sentences(indices, words, words, [tree.tags for tree in gold])), gold


def _add_batch(predictions: Predictions, parser: Parser, scores: Scores, gold: list[Tree], *, mbr: bool) -> None:
    labels = LabelSet(parser.vocabulary.labels)
    distribution = BracketDistribution.of(scores)
    decoded = decode(scores, mbr=mbr, expected_f1=parser.expected_f1, distribution=distribution)
    constituents = match_constituents(scores, decoded, labels, gold)
    trees = parser.tree_distribution(scores)
    name_probabilities = trees.constituent_probabilities(constituents.cells)
    rows, columns, names, is_correct = constituents[2:]
    for label, probability, is_one_correct in zip(
        names, name_probabilities[rows, columns].tolist(), is_correct, strict=True
    ):
        predictions.constituents.append((label, min(1.0, parser.calibration(probability)), is_one_correct))
    span_probabilities = trees.marginals.ravel()[constituents.cells].tolist()
    sentences, starts, ends = constituents.sentences.tolist(), decoded.starts.tolist(), decoded.ends.tolist()
    gold_spans = {(number, start, end) for number, tree in enumerate(gold) for start, end, _ in tree.spans()[1:]}
    for row in dict.fromkeys(rows):
        probability = min(1.0, parser.calibration(span_probabilities[row]))
        predictions.spans.append((probability, (sentences[row], starts[row], ends[row]) in gold_spans))
    predicted = list(parser.tree_builder.trees([tree.words for tree in gold], [tree.tags for tree in gold], decoded))
    log_probs = trees.log_probs(predicted).tolist()
    counts = np.bincount(constituents.sentences[rows], minlength=len(gold)).tolist()
    matched = np.bincount(constituents.sentences[rows], is_correct, len(gold)).astype(int).tolist()
    for number, (tree, log_prob) in enumerate(zip(gold, log_probs, strict=True)):
        words, sizes = len(tree.words), (max(0, len(tree.spans()) - 1), counts[number], matched[number])
        probability = min(1.0, parser.tree_calibration(log_prob, words))
        predictions.trees.append(PredictedTree(words, log_prob, probability, len(set(sizes)) == 1, *sizes))


class MatchedConstituents(NamedTuple):
    """The constituents of a batch's decoded trees, and whether the gold trees have them."""

    cells: Ints  # (decoded spans,): cells of the flat chart
    sentences: Ints  # (decoded spans,): numbers of sentences in the batch
    rows: list[int]  # the decoded span of each constituent
    columns: list[int]  # the column of each constituent in `LabelSet.contains`
    labels: list[str]
    is_correct: list[bool]


def match_constituents(
    scores: Scores, decoded: FlatTrees, labels: LabelSet, gold: Sequence[Tree]
) -> MatchedConstituents:
    """Compares decoded constituents with the gold constituents below the root; each of these is matched once."""
    size = scores.spans.shape[1]
    sentences = np.repeat(np.arange(len(scores.lengths)), 2 * scores.lengths - 1)
    cells = (sentences * size + decoded.starts) * size + decoded.ends
    unmatched = [Counter(tree.spans()[1:]) for tree in gold]
    matches = MatchedConstituents(cells, sentences, [], [], [], [])
    columns = (sentences, decoded.starts, decoded.ends, decoded.labels)
    for row, (sentence, start, end, label) in enumerate(np.stack(columns, 1).tolist()):
        names = unary_chain(labels.strings[label])
        matches.rows.extend([row] * len(names))
        matches.columns.extend(labels.columns(labels.strings[label]))
        matches.labels.extend(names)
        for name in names:
            matches.is_correct.append(unmatched[sentence][Span(start, end, name)] > 0)
            unmatched[sentence][Span(start, end, name)] -= 1
    return matches
