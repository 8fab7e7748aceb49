"""Probabilities of trees and constituents, and k-best trees.

The probability of a labeled binary tree is that of its brackets, p(b), times that of each span's label, p(l | i, j).
Both follow from the scores. A chart of span scores with the labels summed out answers every question about brackets,
and labels are looked up span by span. The scores of a max-margin model are used as log-potentials; such a model has
learned the order of trees but not their probabilities.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from treecrf.chart.cpu_backend import Doubles, Ints
from treecrf.chart.kbest import LazyTrees
from treecrf.data.scores import Scores
from treecrf.decoding.bracket_distribution import BracketDistribution
from treecrf.decoding.decode import Decoded
from treecrf.decoding.log_space import log_softmax
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import LabelSet, from_spans, unary_chain
from treecrf.viz import svg

_BLOCK = 1 << 14  # spans per block when the label scores of all spans are computed
_MAX_REPEATS = 1000  # derivations of known trees in a row after which the k-best search stops


@dataclass(frozen=True, slots=True)
class Constituent:
    """A constituent over `words[start:end]` and its probability."""

    start: int
    end: int
    label: str
    probability: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the most probable trees, with the log-probability of its best labeled binary tree.

    `constituents` are those of `tree.spans()`, in their order.
    """

    tree: Tree
    log_prob: float
    constituents: tuple[Constituent, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A tree with its probabilities, given the constraints if there are any.

    `log_prob` is the log-probability of the decoded labeled binary tree: brackets and labels. `entropy`, in nats, is
    that of the distribution over bracketings. `constituents` are those of `tree.spans()`, in their order.
    `alternatives` are the k best trees, the best first.
    """

    tree: Tree
    log_prob: float
    entropy: float
    constituents: tuple[Constituent, ...]
    alternatives: tuple[Alternative, ...]

    def _repr_svg_(self) -> str:
        """The picture that notebooks show: the tree, its constituents colored by probability."""
        return svg(self.tree, [constituent.probability for constituent in self.constituents])


def analyze_batch(
    scores: Scores,
    distribution: BracketDistribution,
    decoded: Decoded,
    leaves: Sequence[Sequence[Tree]],
    labels: LabelSet,
    *,
    root: str,
    k: int = 1,
) -> Iterator[Analysis]:
    """The analysis of each decoded tree of a batch, over its preterminals, with the k best trees of its sentence."""
    starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
    spans = list(map(Span, starts, ends, [labels.strings[label] for label in decoded.labels.tolist()]))
    first = 0
    for sentence, preterminals in enumerate(leaves):
        tree_spans = slice(first, first + 2 * len(preterminals) - 1)
        first = tree_spans.stop
        build = partial(from_spans, leaves=preterminals, root=root)
        probabilities = _SpanProbabilities.of(scores, distribution, sentence, spans[tree_spans], labels)
        best = islice(_best_trees(scores, distribution, sentence, build, labels, k=k), k) if k else ()
        tree = build(spans[tree_spans])
        yield Analysis(
            tree,
            _log_prob(probabilities, decoded.labels[tree_spans], labels, float(distribution.log_z[sentence])),
            distribution.entropies[sentence],
            _constituents(tree, spans[tree_spans], probabilities, labels),
            tuple(_alternatives(scores, distribution, sentence, list(best), labels)),
        )


@dataclass(frozen=True, kw_only=True)
class _SpanProbabilities:
    """The probabilities of m spans of a sentence."""

    rows: dict[tuple[int, int], int]  # by (start, end)
    scores: Doubles  # (m,)
    posteriors: Doubles  # (m, labels): log-probabilities of labels
    marginals: list[float]
    names: list[list[float]]  # the probability of each name in the span's label, and last, that it has a label

    @staticmethod
    def of(
        scores: Scores, distribution: BracketDistribution, sentence: int, spans: Iterable[Span], labels: LabelSet
    ) -> "_SpanProbabilities":
        """The probabilities of these spans."""
        positions = dict.fromkeys(span[:2] for span in spans)
        starts, ends = np.array(list(positions), dtype=np.int64).reshape(-1, 2).T
        size = scores.spans.shape[1]
        posteriors = log_softmax(scores.labels_at((sentence * size + starts) * size + ends))
        return _SpanProbabilities(
            rows={position: row for row, position in enumerate(positions)},
            scores=distribution.scores[sentence, starts, ends].astype(np.float64),
            posteriors=posteriors,
            marginals=distribution.marginals[sentence, starts, ends].tolist(),
            names=(np.exp(posteriors) @ labels.contains).tolist(),
        )


def _log_prob(probabilities: _SpanProbabilities, label_ids: Ints, labels: LabelSet, log_z: float) -> float:
    """The log-probability of a labeled tree; a label without constituents counts as the best such label."""
    is_empty = labels.counts == 0
    posteriors = probabilities.posteriors
    log_probs = posteriors[np.arange(len(label_ids)), label_ids]
    if is_empty.any():
        log_probs = np.where(is_empty[label_ids], posteriors[:, is_empty].max(1), log_probs)
    return min(0.0, float((probabilities.scores + log_probs).sum()) - log_z)


def _constituents(
    tree: Tree, spans: Sequence[Span], span_probabilities: _SpanProbabilities, labels: LabelSet
) -> tuple[Constituent, ...]:
    """The constituents of a tree with their probabilities.

    A label is a unary chain of constituents. The probability of a constituent is that of its span times that of all
    labels whose chain contains it. The root is certain, except over a single word, which may have no root.
    """
    columns = {name: column for column, name in enumerate(labels.names)}
    probabilities: dict[tuple[int, int, str], float] = {}
    for start, end, label in spans:
        number = span_probabilities.rows[start, end]
        marginal, row = span_probabilities.marginals[number], span_probabilities.names[number]
        for name in unary_chain(label):
            probabilities[start, end, name] = min(1.0, marginal * row[columns[name]])
        if end - start == len(spans) // 2 + 1:
            probabilities[start, end, tree.label] = 1.0 if len(spans) > 1 else min(1.0, row[-1])
    return tuple(Constituent(*span, probabilities[span]) for span in tree.spans())


class _RankedTree(NamedTuple):
    """A tree, the spans of its best derivation, and their score."""

    tree: Tree
    spans: list[Span]
    score: float


def _alternatives(
    scores: Scores, distribution: BracketDistribution, sentence: int, trees: Sequence[_RankedTree], labels: LabelSet
) -> Iterator[Alternative]:
    """The best trees of a sentence with their probabilities and those of their constituents."""
    all_spans = [span for tree in trees for span in tree.spans]
    probabilities = _SpanProbabilities.of(scores, distribution, sentence, all_spans, labels)
    for tree, spans, score in trees:
        log_prob = min(0.0, score - float(distribution.log_z[sentence]))
        yield Alternative(tree, log_prob, _constituents(tree, spans, probabilities, labels))


def _best_trees(
    scores: Scores,
    distribution: BracketDistribution,
    sentence: int,
    build: Callable[[list[Span]], Tree],
    labels: LabelSet,
    *,
    k: int,
) -> Iterator[_RankedTree]:
    """The trees of a sentence in order of their best derivation, each tree once.

    Many labeled binary trees give the same tree, because intermediate labels dissolve. All intermediate labels of a
    span are one choice here.
    """
    length = int(scores.lengths[sentence])
    values, ids = _top_labels(scores, sentence, labels, k)
    values = values + distribution.scores[sentence, : length + 1, : length + 1, None]
    derivations = LazyTrees(values, length)
    seen: set[Tree] = set()
    repeats = 0
    for rank in count():
        derivation = derivations.spans(rank)
        if not derivation or repeats > _MAX_REPEATS:
            return
        labeled_spans = [Span(i, j, labels.strings[ids[i, j, choice]]) for i, j, choice in derivation]
        tree = build(labeled_spans)
        repeats = repeats + 1 if tree in seen else 0
        if tree not in seen:
            seen.add(tree)
            yield _RankedTree(tree, labeled_spans, sum(float(values[place]) for place in derivation))


def _top_labels(scores: Scores, sentence: int, labels: LabelSet, k: int) -> tuple[Doubles, Ints]:
    """The log-posteriors and ids of each span's k best labels, (n + 1, n + 1, choices)."""
    length, size = int(scores.lengths[sentence]), scores.spans.shape[1]
    groups = labels.equivalent(length)
    choices = min(k, len(groups))
    values = np.zeros((length + 1, length + 1, choices))
    ids = np.zeros(values.shape, dtype=np.int64)
    all_starts, all_ends = np.triu_indices(length + 1, 1)
    for first in range(0, len(all_starts), _BLOCK):
        starts, ends = all_starts[first : first + _BLOCK], all_ends[first : first + _BLOCK]
        posteriors = log_softmax(scores.labels_at((sentence * size + starts) * size + ends))
        group_values = np.stack([posteriors[:, group].max(-1) for group in groups], -1)
        group_ids = np.stack([np.array(group)[posteriors[:, group].argmax(-1)] for group in groups], -1)
        top = np.argsort(-group_values, -1, kind="stable")[:, :choices]
        values[starts, ends] = np.take_along_axis(group_values, top, -1)
        ids[starts, ends] = np.take_along_axis(group_ids, top, -1)
    return values, ids
