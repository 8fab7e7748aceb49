"""How sure a parser is: the probabilities of trees and constituents, and the best trees in order.

A labelled binary tree has the probability of its brackets, p(b), times that of each span's label, p(l | i, j). Both
follow from scores alone, so a chart of the spans with their labels summed out answers everything about brackets, and
labels are looked at span by span. The scores of a model trained for a margin are taken as log-potentials: its order of
trees is what it learned, its probabilities are not.
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
from treecrf.decoding import Decoded
from treecrf.decoding.constraints import ConstrainedScores
from treecrf.nn import Scores
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import LabelSet, from_spans, unary_chain
from treecrf.viz import svg

_BLOCK = 128  # fenceposts: where label scores of all spans are needed, they are computed so many by so many
_PATIENCE = 1000  # derivations of trees already seen, after which no further tree is looked for


@dataclass(frozen=True, slots=True)
class Constituent:
    """A constituent over `words[start:end]`, and the probability that there is one with that label."""

    start: int
    end: int
    label: str
    probability: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the most probable trees, with the log-probability of its best labelled binary tree.

    `constituents` are those of `tree.spans()`, in their order.
    """

    tree: Tree
    log_prob: float
    constituents: tuple[Constituent, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A tree and how sure its parser is, given the constraints if there were any.

    `log_prob` is that of the labelled binary tree that was decoded, brackets and labels; `entropy`, in nats, that of
    the distribution over bracketings. `constituents` are those of `tree.spans()`, in their order, and `alternatives`
    the best trees first.
    """

    tree: Tree
    log_prob: float
    entropy: float
    constituents: tuple[Constituent, ...]
    alternatives: tuple[Alternative, ...]

    def _repr_svg_(self) -> str:
        """The picture that notebooks show: the tree, its constituents in the colours of their probabilities."""
        return svg(self.tree, [constituent.probability for constituent in self.constituents])


def bracket_crf(scores: Scores, allowed: Tensor | None = None) -> SpanCRF:
    """The distribution over bracketings, labels summed out."""
    has_sums = scores.is_crf or scores.labels is None
    spans = scores.spans if has_sums else scores.labels.logsumexp(-1)  # type: ignore[union-attr]
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
    """What there is to know about a batch's decoded trees, over their preterminals, and the k best of each sentence."""
    sure = _certainty(scores, decoded, crf, labels)
    starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
    spans = list(map(Span, starts, ends, [labels.strings[label] for label in decoded.labels.tolist()]))
    first = 0
    for sentence, words in enumerate(leaves):
        own = slice(first, first + 2 * len(words) - 1)
        first = own.stop
        build = partial(from_spans, leaves=words, root=root)
        tree = build(spans[own])
        ranked = list(islice(_ranked(scores, crf, sentence, build, labels, k=k), k)) if k else ()
        yield Analysis(
            tree,
            sure.log_probs[sentence],
            sure.entropies[sentence],
            _constituents(tree, spans[own], sure.marginals[own], sure.held[own], labels),
            tuple(_alternatives(scores, crf, sentence, ranked, labels, sure.log_z[sentence])) if ranked else (),
        )


@dataclass(frozen=True, kw_only=True)
class _Certainty:
    """The probabilities of a batch's decoded trees and of what is in them, on the host."""

    log_probs: list[float]
    log_z: list[float]
    entropies: list[float]
    marginals: list[float]  # of the trees' spans, one sentence after the other
    held: list[list[float]]  # given the span, how probable each name is in its label, and that there is any label


def _certainty(scores: Scores, decoded: Decoded, crf: SpanCRF, labels: LabelSet) -> _Certainty:
    size = scores.spans.shape[1]
    owners = torch.repeat_interleave(2 * scores.lengths - 1)
    cells = (owners * size + decoded.starts) * size + decoded.ends
    trees = torch.zeros_like(scores.spans, dtype=torch.bool)
    trees.view(-1)[cells] = True
    posteriors = scores.labels_at(Spans.at(cells, size)).log_softmax(-1)
    chosen = _of_labels(posteriors, decoded.labels, labels).double()
    of_labels = chosen.new_zeros(len(trees)).index_add_(0, owners, chosen)
    of_brackets = torch.zeros_like(of_labels).index_add_(0, owners, crf.scores.flatten()[cells].double())
    log_probs = crf.log_prob(trees).double()
    return _Certainty(
        log_probs=(log_probs + of_labels).clamp(max=0.0).tolist(),
        log_z=(of_brackets - log_probs).tolist(),
        entropies=crf.entropy.clamp(min=0.0).tolist(),
        marginals=crf.marginals.flatten()[cells].tolist(),
        held=_held(posteriors, labels),
    )


def _of_labels(posteriors: Tensor, chosen: Tensor, labels: LabelSet) -> Tensor:
    """The log-probabilities of the labels of m spans; where a span is no constituent, of the best that says so."""
    empty = torch.from_numpy(~labels.contains[:, :-1].any(axis=1)).to(posteriors.device)
    own = posteriors.gather(1, chosen[:, None])[:, 0]
    if not empty.any():
        return own
    return torch.where(empty[chosen], posteriors[:, empty].amax(1), own)


def _held(posteriors: Tensor, labels: LabelSet) -> list[list[float]]:
    """How probable each name is in the label of spans, and that they have any."""
    return (posteriors.exp() @ torch.from_numpy(labels.contains).to(posteriors)).tolist()


def _constituents(
    tree: Tree, spans: Sequence[Span], marginals: Sequence[float], held: Sequence[Sequence[float]], labels: LabelSet
) -> tuple[Constituent, ...]:
    """A tree's constituents, of the spans that it was made from.

    A label stands for a chain of constituents, so the probability of one of them is that of its span, times that of
    all labels whose chain holds it. There is always a root, but over a word that may stand alone.
    """
    columns = {name: column for column, name in enumerate(labels.names)}
    found: dict[tuple[int, int, str], float] = {}
    for (start, end, label), marginal, row in zip(spans, marginals, held, strict=True):
        found |= {(start, end, name): min(1.0, marginal * row[columns[name]]) for name in unary_chain(label)}
        if end - start == len(spans) // 2 + 1:
            found[start, end, tree.label] = 1.0 if len(spans) > 1 else min(1.0, row[-1])
    return tuple(Constituent(*span, found[span]) for span in tree.spans())


class _Ranked(NamedTuple):
    """A tree, the spans of its best derivation, and their score."""

    tree: Tree
    spans: list[Span]
    score: float


def _alternatives(
    scores: Scores, crf: SpanCRF, sentence: int, ranked: Sequence[_Ranked], labels: LabelSet, log_z: float
) -> Iterator[Alternative]:
    """The best trees of a sentence, and how probable they and their constituents are."""
    size = scores.spans.shape[1]
    spots = dict.fromkeys(span[:2] for best in ranked for span in best.spans)  # most are in many of the trees
    places = {spot: place for place, spot in enumerate(spots)}
    cells = [(sentence * size + start) * size + end for start, end in spots]
    at = torch.tensor(cells, dtype=torch.int64, device=scores.spans.device)
    marginals = crf.marginals.flatten()[at].tolist()
    held = _held(scores.labels_at(Spans.at(at, size)).log_softmax(-1), labels)
    for tree, spans, score in ranked:
        own = [places[span[:2]] for span in spans]
        constituents = _constituents(tree, spans, [marginals[n] for n in own], [held[n] for n in own], labels)
        yield Alternative(tree, min(0.0, score - log_z), constituents)


def _ranked(
    scores: Scores, crf: SpanCRF, sentence: int, build: Callable[[list[Span]], Tree], labels: LabelSet, *, k: int
) -> Iterator[_Ranked]:
    """The best trees of a sentence, each once.

    Many labelled binary trees make the same tree, as parts dissolve; all labels of parts are one choice here.
    """
    length = int(crf.lengths[sentence])
    values, ids = _ranked_labels(scores, sentence, length, labels, k)
    spans = crf.scores[sentence, : length + 1, : length + 1, None].double().cpu()
    values = torch.where(spans == -torch.inf, -torch.inf, values + spans)
    lazy = LazyTrees(values, length)
    seen: set[Tree] = set()
    waited = 0
    for place in count():
        derivation = lazy.spans(place)
        if not derivation or waited > _PATIENCE:
            return
        chosen = [Span(i, j, labels.strings[int(ids[i, j, choice])]) for i, j, choice in derivation]
        tree = build(chosen)
        waited = waited + 1 if tree in seen else 0
        if tree not in seen:
            seen.add(tree)
            yield _Ranked(tree, chosen, sum(float(values[place]) for place in derivation))


def _ranked_labels(scores: Scores, sentence: int, length: int, labels: LabelSet, k: int) -> tuple[Tensor, Tensor]:
    """The log-posteriors and ids of each span's k best labels, (n + 1, n + 1, c), on the host."""
    kinds = labels.equivalent(length)
    choices = min(k, len(kinds))
    values = torch.zeros(length + 1, length + 1, choices, dtype=torch.float64)
    ids = torch.zeros(values.shape, dtype=torch.int64)
    blocks = [slice(start, min(start + _BLOCK, length + 1)) for start in range(0, length + 1, _BLOCK)]
    for starts, ends in product(blocks, blocks):
        if starts.start < ends.stop - 1:
            posteriors = _label_block(scores, sentence, starts, ends).log_softmax(-1).double().cpu()
            groups = [posteriors[..., kind].max(-1) for kind in kinds]
            top = torch.stack([group.values for group in groups], -1).topk(choices)
            best = torch.stack([torch.as_tensor(g)[m.indices] for g, m in zip(kinds, groups, strict=True)], -1)
            values[starts, ends] = top.values
            ids[starts, ends] = best.gather(-1, top.indices)
    return values, ids


def _label_block(scores: Scores, sentence: int, starts: slice, ends: slice) -> Tensor:
    """The label scores of spans between some fenceposts and others, (starts, ends, labels)."""
    if scores.labels is not None:
        return scores.labels[sentence, starts, ends]
    left, right = scores.left[sentence, starts], scores.right[sentence, ends]
    size = max(len(left), len(right))  # a scorer takes as many of the one as of the other
    padded = [F.pad(side, (0, 0, 0, size - len(side)))[None] for side in (left, right)]
    block: Tensor = scores.label_scorer(*padded)[0, : len(left), : len(right)]
    if isinstance(scores, ConstrainedScores):
        fence = torch.arange(scores.spans.shape[1], device=block.device)
        cells = (sentence * len(fence) + fence[starts, None]) * len(fence) + fence[ends]
        block = scores.ban(block, cells)
    return block
