"""Probabilities of trees and constituents, and k-best trees.

The probability of a labeled binary tree is that of its brackets, p(b), times that of each span's label, p(l | i, j).
Both follow from the scores. A chart of span scores with the labels summed out answers every question about brackets,
and labels are looked up span by span. The scores of a max-margin model are used as log-potentials; such a model has
learned the order of trees but not their probabilities.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice, product
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.chart.kbest import LazyTrees
from treecrf.data.batch import Spans
from treecrf.decoding.constraints import ConstrainedScores
from treecrf.decoding.decode import Decoded
from treecrf.nn import Scores
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import LabelSet, from_spans, unary_chain
from treecrf.viz import svg

_BLOCK = 128  # fenceposts per block when the label scores of all spans are computed
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


def bracket_crf(scores: Scores, allowed: Tensor | None = None) -> SpanCRF:
    """The distribution over bracketings, labels summed out."""
    spans = scores.spans
    if not scores.is_crf and scores.labels is not None:
        spans = scores.labels.logsumexp(-1)
    return SpanCRF(spans, scores.lengths, allowed=allowed, validate=False)


def analyze_batch(
    scores: Scores,
    crf: SpanCRF,
    decoded: Decoded,
    leaves: Sequence[Sequence[Tree]],
    labels: LabelSet,
    *,
    root: str,
    k: int = 1,
) -> Iterator[Analysis]:
    """The analysis of each decoded tree of a batch, over its preterminals, with the k best trees of its sentence."""
    probabilities = _tree_probabilities(scores, decoded, crf, labels)
    starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
    spans = list(map(Span, starts, ends, [labels.strings[label] for label in decoded.labels.tolist()]))
    first = 0
    for sentence, preterminals in enumerate(leaves):
        tree_spans = slice(first, first + 2 * len(preterminals) - 1)
        first = tree_spans.stop
        build = partial(from_spans, leaves=preterminals, root=root)
        tree = build(spans[tree_spans])
        best = list(islice(_best_trees(scores, crf, sentence, build, labels, k=k), k)) if k else ()
        yield Analysis(
            tree,
            probabilities.log_probs[sentence],
            probabilities.entropies[sentence],
            _constituents(
                tree,
                spans[tree_spans],
                probabilities.marginals[tree_spans],
                probabilities.names[tree_spans],
                labels,
            ),
            tuple(_alternatives(scores, crf, sentence, best, labels, probabilities.log_z[sentence])) if best else (),
        )


@dataclass(frozen=True, kw_only=True)
class _TreeProbabilities:
    """The probabilities of a batch's decoded trees and of their spans, on the host."""

    log_probs: list[float]  # by sentence
    log_z: list[float]
    entropies: list[float]
    marginals: list[float]  # by span of the trees, one sentence after the other
    names: list[list[float]]  # by span: the probability of each name in its label, and last, that it has a label


def _tree_probabilities(scores: Scores, decoded: Decoded, crf: SpanCRF, labels: LabelSet) -> _TreeProbabilities:
    size = scores.spans.shape[1]
    sentences = torch.repeat_interleave(2 * scores.lengths - 1)
    cells = (sentences * size + decoded.starts) * size + decoded.ends
    trees = torch.zeros_like(scores.spans, dtype=torch.bool)
    trees.view(-1)[cells] = True
    posteriors = scores.labels_at(Spans.at(cells, size)).log_softmax(-1)
    label_log_probs = _label_log_probs(posteriors, decoded.labels, labels).double()
    tree_label_log_probs = label_log_probs.new_zeros(len(trees)).index_add_(0, sentences, label_log_probs)
    span_scores = crf.scores.flatten()[cells].double()
    tree_scores = torch.zeros_like(tree_label_log_probs).index_add_(0, sentences, span_scores)
    bracket_log_probs = crf.log_prob(trees).double()
    return _TreeProbabilities(
        log_probs=(bracket_log_probs + tree_label_log_probs).clamp(max=0.0).tolist(),
        log_z=(tree_scores - bracket_log_probs).tolist(),
        entropies=crf.entropy.clamp(min=0.0).tolist(),
        marginals=crf.marginals.flatten()[cells].tolist(),
        names=_name_probabilities(posteriors, labels),
    )


def _label_log_probs(posteriors: Tensor, label_ids: Tensor, labels: LabelSet) -> Tensor:
    """Log-probabilities of the labels of m spans; for a label without constituents, that of the best such label."""
    is_empty = torch.from_numpy(~labels.contains[:, :-1].any(axis=1)).to(posteriors.device)
    log_probs = posteriors.gather(1, label_ids[:, None])[:, 0]
    if not is_empty.any():
        return log_probs
    return torch.where(is_empty[label_ids], posteriors[:, is_empty].amax(1), log_probs)


def _name_probabilities(posteriors: Tensor, labels: LabelSet) -> list[list[float]]:
    """The probability of each name in the labels of spans, and last, that a span has a label."""
    return (posteriors.exp() @ torch.from_numpy(labels.contains).to(posteriors)).tolist()


def _constituents(
    tree: Tree, spans: Sequence[Span], marginals: Sequence[float], names: Sequence[Sequence[float]], labels: LabelSet
) -> tuple[Constituent, ...]:
    """The constituents of a tree with their probabilities.

    A label is a unary chain of constituents. The probability of a constituent is that of its span times that of all
    labels whose chain contains it. The root is certain, except over a single word, which may have no root.
    """
    columns = {name: column for column, name in enumerate(labels.names)}
    probabilities: dict[tuple[int, int, str], float] = {}
    for (start, end, label), marginal, row in zip(spans, marginals, names, strict=True):
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
    scores: Scores, crf: SpanCRF, sentence: int, trees: Sequence[_RankedTree], labels: LabelSet, log_z: float
) -> Iterator[Alternative]:
    """The best trees of a sentence with their probabilities and those of their constituents."""
    size = scores.spans.shape[1]
    positions = dict.fromkeys(span[:2] for tree in trees for span in tree.spans)  # trees share most of their spans
    rows = {position: row for row, position in enumerate(positions)}
    cells = torch.tensor(
        [(sentence * size + start) * size + end for start, end in positions],
        dtype=torch.int64,
        device=scores.spans.device,
    )
    marginals = crf.marginals.flatten()[cells].tolist()
    names = _name_probabilities(scores.labels_at(Spans.at(cells, size)).log_softmax(-1), labels)
    for tree, spans, score in trees:
        tree_rows = [rows[span[:2]] for span in spans]
        constituents = _constituents(
            tree, spans, [marginals[row] for row in tree_rows], [names[row] for row in tree_rows], labels
        )
        yield Alternative(tree, min(0.0, score - log_z), constituents)


def _best_trees(
    scores: Scores, crf: SpanCRF, sentence: int, build: Callable[[list[Span]], Tree], labels: LabelSet, *, k: int
) -> Iterator[_RankedTree]:
    """The trees of a sentence in order of their best derivation, each tree once.

    Many labeled binary trees give the same tree, because intermediate labels dissolve. All intermediate labels of a
    span are one choice here.
    """
    length = int(crf.lengths[sentence])
    values, ids = _top_labels(scores, sentence, length, labels, k)
    spans = crf.scores[sentence, : length + 1, : length + 1, None].double().cpu()
    values = torch.where(spans == -torch.inf, -torch.inf, values + spans)
    derivations = LazyTrees(values, length)
    seen: set[Tree] = set()
    repeats = 0
    for rank in count():
        derivation = derivations.spans(rank)
        if not derivation or repeats > _MAX_REPEATS:
            return
        labeled_spans = [Span(i, j, labels.strings[int(ids[i, j, choice])]) for i, j, choice in derivation]
        tree = build(labeled_spans)
        repeats = repeats + 1 if tree in seen else 0
        if tree not in seen:
            seen.add(tree)
            yield _RankedTree(tree, labeled_spans, sum(float(values[place]) for place in derivation))


def _top_labels(scores: Scores, sentence: int, length: int, labels: LabelSet, k: int) -> tuple[Tensor, Tensor]:
    """The log-posteriors and ids of each span's k best labels, (n + 1, n + 1, choices), on the host."""
    groups = labels.equivalent(length)
    choices = min(k, len(groups))
    values = torch.zeros(length + 1, length + 1, choices, dtype=torch.float64)
    ids = torch.zeros(values.shape, dtype=torch.int64)
    blocks = [slice(start, min(start + _BLOCK, length + 1)) for start in range(0, length + 1, _BLOCK)]
    for starts, ends in product(blocks, blocks):
        if starts.start < ends.stop - 1:
            posteriors = _label_scores(scores, sentence, starts, ends).log_softmax(-1).double().cpu()
            maxima = [posteriors[..., group].max(-1) for group in groups]
            top = torch.stack([maximum.values for maximum in maxima], -1).topk(choices)
            best = torch.stack([torch.as_tensor(g)[m.indices] for g, m in zip(groups, maxima, strict=True)], -1)
            values[starts, ends] = top.values
            ids[starts, ends] = best.gather(-1, top.indices)
    return values, ids


def _label_scores(scores: Scores, sentence: int, starts: slice, ends: slice) -> Tensor:
    """The label scores of spans between two blocks of fenceposts, (starts, ends, labels)."""
    if scores.labels is not None:
        return scores.labels[sentence, starts, ends]
    left, right = scores.left[sentence, starts], scores.right[sentence, ends]
    size = max(len(left), len(right))  # a scorer needs as many left as right boundaries
    padded = [F.pad(side, (0, 0, 0, size - len(side)))[None] for side in (left, right)]
    block: Tensor = scores.label_scorer(*padded)[0, : len(left), : len(right)]
    if isinstance(scores, ConstrainedScores):
        fenceposts = torch.arange(scores.spans.shape[1], device=block.device)
        cells = (sentence * len(fenceposts) + fenceposts[starts, None]) * len(fenceposts) + fenceposts[ends]
        block = scores.mask(block, cells)
    return block
