"""Probabilities of trees and constituents, and the k most probable trees.

The probability of a labeled binary tree is p(b) of its brackets times p(l | i, j) of each span's label.
Both follow from the scores. The probability of a tree is the sum over the labeled binary trees that give this tree. The
scores of a max-margin model are used as log-potentials; such a model has learned the order of trees but not their
probabilities.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.log_space import log_softmax
from treecrf.parser.decoding.tree_probability import tree_log_probs
from treecrf.parser.decoding.tree_search import Constituents, LabelChart, rank_trees
from treecrf.trees.analysis import Alternative, Analysis, Constituent
from treecrf.trees.tree import Span, Tree
from treecrf.trees.tree_differences import describe_difference
from treecrf.trees.treebank.binarize import LabelSet, from_spans
from treecrf.trees.treebank.bracket_writer import FlatTrees


def analyze_batch(
    scores: Scores,
    distribution: BracketDistribution,
    decoded: FlatTrees,
    leaves: Sequence[Sequence[Tree]],
    labels: LabelSet,
    *,
    root: str,
    k: int = 1,
    excluded: Collection[int] = (),
    should_stop: Callable[[], bool] | None = None,
) -> Iterator[Analysis]:
    """The analysis of each decoded tree of a batch, over its preterminals, with the k best trees of its sentence.

    Alternatives have none of the `excluded` labels. The search for alternatives ends when `should_stop` returns true.
    """
    starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
    all_spans = map(Span, starts, ends, [labels.strings[label] for label in decoded.labels.tolist()])
    spans = [list(islice(all_spans, 2 * len(words) - 1)) for words in leaves]
    trees = [from_spans(tree_spans, words, root) for tree_spans, words in zip(spans, leaves, strict=True)]
    log_probs = tree_log_probs(scores, distribution, trees, labels, root=root).tolist()
    for sentence, (tree, log_prob) in enumerate(zip(trees, log_probs, strict=True)):
        probabilities = _SpanProbabilities.of(scores, distribution, sentence, spans[sentence], labels)
        alternatives: tuple[Alternative, ...] = ()
        is_exact = True
        if k:
            chart = LabelChart(scores, distribution, sentence, labels, choices=k, excluded=excluded)
            ranked_trees, is_exact = rank_trees(chart, k, should_stop=should_stop)
            alternatives = tuple(
                _alternatives(scores, distribution, sentence, ranked_trees, labels, leaves=leaves[sentence], root=root)
            )
        constituents = _constituents(tree, spans[sentence], probabilities, labels)
        entropy = distribution.entropies[sentence]
        yield Analysis(tree, log_prob, math.exp(log_prob), entropy, constituents, alternatives, is_exact)


def _alternatives(
    scores: Scores,
    distribution: BracketDistribution,
    sentence: int,
    ranked_trees: Sequence[tuple[Constituents, float]],
    labels: LabelSet,
    *,
    leaves: Sequence[Tree],
    root: str,
) -> Iterator[Alternative]:
    """The best trees of a sentence, given by their constituents and log-probabilities."""
    all_spans = [
        [Span(*position, labels.strings[label]) for position, label in constituents] for constituents, _ in ranked_trees
    ]
    sentence_span = Span(0, len(leaves), "")
    probabilities = _SpanProbabilities.of(
        scores, distribution, sentence, [sentence_span, *chain.from_iterable(all_spans)], labels
    )
    trees = [from_spans(spans, leaves, root) for spans in all_spans]
    for tree, spans, (_, log_prob) in zip(trees, all_spans, ranked_trees, strict=True):
        constituents = _constituents(tree, spans, probabilities, labels)
        differences = tuple(describe_difference(trees[0], tree))
        yield Alternative(tree, log_prob, math.exp(log_prob), constituents, differences)


@dataclass(frozen=True, kw_only=True)
class _SpanProbabilities:
    """The probabilities of some spans of a sentence."""

    length: int
    marginals: dict[Position, float]
    # by position: the probabilities of the columns of LabelSet.contains, given the span
    constituents: dict[Position, list[float]]

    @staticmethod
    def of(
        scores: Scores, distribution: BracketDistribution, sentence: int, spans: Iterable[Span], labels: LabelSet
    ) -> "_SpanProbabilities":
        positions = list(dict.fromkeys(span[:2] for span in spans))
        starts, ends = np.array(positions, np.int64).T
        size = scores.spans.shape[1]
        posteriors = log_softmax(scores.labels_at((sentence * size + starts) * size + ends))
        return _SpanProbabilities(
            length=int(scores.lengths[sentence]),
            marginals=dict(zip(positions, distribution.marginals[sentence, starts, ends].tolist(), strict=True)),
            constituents=dict(zip(positions, (np.exp(posteriors) @ labels.contains).tolist(), strict=True)),
        )


def _constituents(
    tree: Tree, spans: Iterable[Span], probabilities: _SpanProbabilities, labels: LabelSet
) -> tuple[Constituent, ...]:
    """The constituents of a tree with their probabilities.

    A label is a unary chain of constituents. A constituent has the probability of its span times the probability of all
    labels whose chain contains it. The root is certain, except over a single word, which may have no root.
    """
    by_position: dict[Position, list[float]] = defaultdict(list)  # outermost first
    if not tree.is_leaf:
        whole = (0, probabilities.length)
        by_position[whole].append(1.0 if probabilities.length > 1 else probabilities.constituents[whole][-1])
    for start, end, label in spans:
        row, marginal = probabilities.constituents[start, end], probabilities.marginals[start, end]
        by_position[start, end] += [marginal * row[column] for column in labels.columns(label)]
    constituents = []
    for start, end, label in tree.spans():
        probability = min(1.0, by_position[start, end].pop(0))
        constituents.append(Constituent(start, end, label, probability, probability))
    return tuple(constituents)
