"""Decoding: the distribution over bracketings, and the best trees of a batch as arrays, trees or brackets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask, Reals
from treecrf.chart import cky, inside, outside
from treecrf.network.data.batch import Scores
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.parser.decoding.constraints import ConstrainedScores
from treecrf.parser.decoding.expected_f1 import ExpectedF1, find_candidates
from treecrf.parser.decoding.log_space import logsumexp
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import from_spans
from treecrf.trees.treebank.bracket_writer import BracketWriter, FlatTrees

TIE_BREAK = np.float32(1e-4)  # weight of the marginals, which decide between trees of equal utility
_NO_TAG = "_"  # the tag of words without a given or predicted tag
Words = Sequence[Sequence[str]]
Tags = Sequence[Sequence[str | None] | None] | None  # None, for a batch, a sentence or a word: use the predicted tags


def span_potentials(scores: Scores) -> Reals:
    """The log-potentials of spans, labels summed out; the scores of a max-margin model are used as log-potentials."""
    if scores.is_crf or scores.labels is None:
        return scores.spans
    return np.where(scores.spans == -np.inf, -np.inf, logsumexp(scores.labels)).astype(scores.spans.dtype)


@dataclass(frozen=True, kw_only=True)
class BracketDistribution:
    """The bracketings of b sentences. A tree's score is the sum of its spans' scores; charts are (b, n + 1, n + 1).

    Forbidden spans have a score of -inf.
    """

    scores: Reals
    lengths: Ints  # (b,)
    log_z: Doubles  # (b,)
    marginals: Reals  # the probability of every span

    @staticmethod
    def of(scores: Scores) -> "BracketDistribution":
        """The distribution that a batch's scores define."""
        spans = span_potentials(scores)
        chart, log_z = inside(spans, scores.lengths)
        marginals = outside(spans, scores.lengths, chart)
        return BracketDistribution(scores=spans, lengths=scores.lengths, log_z=log_z, marginals=marginals)

    def rows(self) -> Iterator[tuple[list[float], ...]]:
        """The marginals of each sentence: row i has the probability of the span `words[i:j]` for every j > i."""
        for chart, length in zip(self.marginals, self.lengths.tolist(), strict=True):
            rows = chart[:length, : length + 1].clip(0, 1).tolist()
            yield tuple(row[start + 1 :] for start, row in enumerate(rows))

    @cached_property
    def entropies(self) -> list[float]:
        """The entropy of each sentence's distribution, in nats."""
        return list(map(self._entropy, range(len(self.lengths))))

    def _entropy(self, sentence: int) -> float:
        length = int(self.lengths[sentence])
        # Spans of probability 0 contribute nothing, although their score may be -inf. Only spans have a probability.
        is_possible = self.marginals[sentence] > 0
        marginals = self.marginals[sentence][is_possible].astype(np.float64)
        scores = self.scores[sentence][is_possible].astype(np.float64)
        # A tree has 2n - 1 spans. Dividing log Z among them keeps huge scores from canceling only at the end.
        surprisal = self.log_z[sentence] / (2 * length - 1) - scores
        return max(0.0, float((marginals * surprisal).sum()))


def decode(
    scores: Scores,
    *,
    mbr: bool = True,
    expected_f1: ExpectedF1 | None = None,
    distribution: BracketDistribution | None = None,
) -> FlatTrees:
    """The best labeled tree of each sentence and the best tags.

    With `mbr` and a CRF's scores, the best tree has the most spans expected to be correct, or if `expected_f1` is
    given, the highest utility: see `expected_f1.py`. A grammar of `expected_f1` needs tags in the scores, or else it is
    not used. `distribution` belongs to the scores, if the caller already has it.
    """
    if not mbr or not scores.is_crf:
        chart = scores.spans if scores.labels is None or not scores.is_crf else scores.labels.max(-1)
        return _label_trees(scores, _best_trees(scores, chart))
    marginals = (distribution or BracketDistribution.of(scores)).marginals
    if expected_f1 is not None and expected_f1.grammar is not None and scores.tags is not None:
        candidates = find_candidates(scores, marginals, expected_f1)
        return expected_f1.grammar.best_trees(candidates)
    if expected_f1 is not None:
        return _maximize_expected_f1(scores, marginals, expected_f1)
    if scores.labels is not None:  # a labeled span is correct if both the span and its label are
        with np.errstate(invalid="ignore"):  # forbidden spans: -inf - -inf
            marginals = marginals * np.exp(scores.labels.max(-1) - scores.spans)
    return _label_trees(scores, _best_trees(scores, marginals))


def _best_trees(scores: Scores, chart: Reals) -> Mask:
    """The trees with the highest sum of a chart's values, as boolean charts."""
    if isinstance(scores, ConstrainedScores):
        chart = np.where(scores.spans == -np.inf, -np.inf, chart)
    return cky(chart, scores.lengths)


def _label_trees(scores: Scores, trees: Mask) -> FlatTrees:
    """Trees with the best label of every span and the best tags."""
    cells = np.flatnonzero(trees)
    return _flat_trees(scores, cells, scores.labels_at(cells).argmax(-1))


def _flat_trees(scores: Scores, cells: Ints, labels: Ints) -> FlatTrees:
    """The spans at flat chart cells with their labels, and the best tags."""
    size = scores.spans.shape[1]
    tags = scores.word_tags
    return FlatTrees(cells // size % size, cells % size, labels, None if tags is None else tags.argmax(-1))


def _maximize_expected_f1(scores: Scores, marginals: Reals, expected_f1: ExpectedF1) -> FlatTrees:
    """The trees of maximal utility, plus TIE_BREAK times the marginals of their spans."""
    flat_marginals = marginals.ravel()
    cells = np.flatnonzero(flat_marginals > expected_f1.threshold)  # no other span can have a positive utility
    utility, labels = expected_f1.best_labels(scores.labels_at(cells), flat_marginals[cells])
    chart = TIE_BREAK * flat_marginals
    chart[cells] += utility
    label_chart = np.full(chart.shape, expected_f1.empty_label)
    label_chart[cells] = labels
    tree_cells = np.flatnonzero(_best_trees(scores, chart.reshape(marginals.shape)))
    return _flat_trees(scores, tree_cells, label_chart[tree_cells])


@dataclass(frozen=True, kw_only=True)
class TreeBuilder:
    """Turns the ids of a decoded batch into trees, or directly into brackets."""

    vocabulary: Vocabulary
    root: str
    predicts_tags: bool

    def trees(self, words: Words, tags: Tags, flat_trees: FlatTrees) -> Iterator[Tree]:
        starts, ends = flat_trees.starts.tolist(), flat_trees.ends.tolist()
        spans = map(Span, starts, ends, [self.vocabulary.labels[label] for label in flat_trees.labels.tolist()])
        for leaves in self.leaves(words, tags, flat_trees):
            yield from_spans(islice(spans, 2 * len(leaves) - 1), leaves, self.root)

    def leaves(self, words: Words, tags: Tags, flat_trees: FlatTrees) -> Iterator[list[Tree]]:
        """The preterminals of each sentence, with the given tags or else the predicted ones."""
        for sentence, names in zip(words, self.tags(words, tags, flat_trees), strict=True):
            yield [Tree(tag, (word,)) for tag, word in zip(names, sentence, strict=True)]

    def tags(self, words: Words, tags: Tags, flat_trees: FlatTrees) -> Iterator[list[str]]:
        """The given tags of each sentence, or else the predicted ones."""
        predicted = None if flat_trees.tags is None else map(self.vocabulary.tags.__getitem__, flat_trees.tags.tolist())
        for sentence, given_tags in zip(words, tags or [None] * len(words), strict=True):
            names = [_NO_TAG] * len(sentence) if predicted is None else list(islice(predicted, len(sentence)))
            if given_tags is not None:
                names = [name if tag is None else tag for tag, name in zip(given_tags, names, strict=True)]
            yield names

    def untagged_leaves(self, words: Words) -> list[list[Tree]]:
        return [[Tree(_NO_TAG, (word,)) for word in sentence] for sentence in words]

    def bracket_writer(self, *, exact: bool) -> BracketWriter:
        """The writer for `brackets`; with `exact`, parentheses in words can be read back."""
        tags = self.vocabulary.tags if self.predicts_tags else (_NO_TAG,)
        return BracketWriter(self.vocabulary.labels, tags, root=self.root, exact=exact)
