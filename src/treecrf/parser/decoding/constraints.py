"""Constraints on trees: constituents that a tree must have or must not have.

A constraint is about the resulting tree. A constituent X over words[i:j] exists if the chart has that span and the
span's label is a unary chain that contains X, or if X is the root and the words are the whole sentence. A span with an
intermediate label is not a constituent. A constraint therefore forbids labels of its own span; a required constituent
also forbids the spans that cross it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import NamedTuple

import numpy as np

from treecrf import TreecrfError
from treecrf.arrays import Floats, Ints, Mask
from treecrf.chart import compatible_spans, inside
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.log_space import logsumexp
from treecrf.trees.treebank.binarize import LabelSet

Position = tuple[int, int]  # the start and end of a span


class Bracket(NamedTuple):
    """A constituent over `words[start:end]`; a label of None means any label."""

    start: int
    end: int
    label: str | None = None

    def __str__(self) -> str:
        return f"{self.label or 'a constituent':.80} over words[{self.start}:{self.end}]"


@dataclass(frozen=True)
class Constraints:
    """Constituents that a tree must have and must not have: (start, end) or (start, end, label) each.

    >>> Constraints(require=[(0, 2, "NP")], forbid=[(1, 4)]).require
    (Bracket(start=0, end=2, label='NP'),)
    """

    require: Sequence[tuple[int, int] | tuple[int, int, str | None]] = ()
    forbid: Sequence[tuple[int, int] | tuple[int, int, str | None]] = ()

    def __post_init__(self) -> None:
        for name in ("require", "forbid"):
            object.__setattr__(self, name, tuple(_bracket(item, name) for item in getattr(self, name)))

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid)


def _bracket(item: Iterable[object], name: str) -> Bracket:
    parts = tuple(item) if isinstance(item, (tuple, list)) else ()
    start, end, label = (*parts, None)[:3] if len(parts) in (2, 3) else (None, None, None)
    if type(start) is not int or type(end) is not int or not (label is None or (label and isinstance(label, str))):
        raise ValueError(f"{name} contains {item!r:.80}; expected (start, end) or (start, end, label)")
    return Bracket(start, end, label)


class ImpossibleError(TreecrfError, ValueError):
    """Constraints that no tree of the sentence satisfies."""


class Allowed(NamedTuple):
    """The spans of some trees, and their labels at the spans that may not have every label."""

    spans: Mask  # (n + 1, n + 1)
    labels: dict[tuple[int, int], Mask]  # by span, (labels,)


def compatible_labels(constraints: Constraints, length: int, labels: LabelSet, root: str) -> Allowed:
    """The spans and labels of the trees that satisfy constraints on a sentence of `length` words."""
    rules = [(verb, Bracket(*item)) for verb in ("require", "forbid") for item in getattr(constraints, verb)]
    required = [bracket for verb, bracket in rules if verb == "require"]
    allowed = Allowed(np.ones((length + 1, length + 1), dtype=np.bool_), {})
    for verb, bracket in rules:
        _check_bracket(verb, bracket, length, {root, *labels.names})
        containing = labels.containing(*bracket, length=length, root=root)
        mask = allowed.labels.get(bracket[:2], np.ones_like(containing))
        allowed.labels[bracket[:2]] = mask & (containing if verb == "require" else ~containing)
    _check_crossing(required)
    is_compatible = compatible_spans([bracket[:2] for bracket in required], length + 1)
    allowed.spans[np.triu(~is_compatible, 1)] = False
    _forbid_unlabeled_spans(allowed, rules, required, length)
    _check_satisfiable(allowed.spans, rules, length)
    return allowed


def _forbid_unlabeled_spans(
    allowed: Allowed, rules: Sequence[tuple[str, Bracket]], required: Sequence[Bracket], length: int
) -> None:
    """Forbids spans for which no label is left; raises an error if every tree has such a span."""
    in_every_tree = {bracket[:2] for bracket in required} | {(0, length)} | {(i, i + 1) for i in range(length)}
    for span in [span for span, mask in allowed.labels.items() if not mask.any()]:
        if span in in_every_tree:
            reasons = " and ".join(f"{verb} {bracket}" for verb, bracket in rules if bracket[:2] == span)
            raise ImpossibleError(f"{reasons}: no label of the model does that; expected what one of them can be")
        allowed.spans[span] = False
        del allowed.labels[span]


def _check_crossing(required: Sequence[Bracket]) -> None:
    for first, second in combinations(sorted(required, key=lambda bracket: bracket.start), 2):
        if first.start < second.start < first.end < second.end:
            raise ImpossibleError(f"require {first} and {second}: these cross, and no tree has both")


def _check_satisfiable(spans: Mask, rules: Sequence[tuple[str, Bracket]], length: int) -> None:
    if spans.all():
        return
    _, log_z = inside(np.where(spans, 0.0, -np.inf)[None], np.array([length]))
    if log_z[0] == -np.inf:
        reasons = ", ".join(f"{verb} {bracket}" for verb, bracket in rules)
        raise ImpossibleError(f"{reasons}: no tree is left; expected fewer constraints")


def _check_bracket(verb: str, bracket: Bracket, length: int, names: set[str]) -> None:
    if not 0 <= bracket.start < bracket.end <= length:
        raise ImpossibleError(
            f"{verb} {bracket} is not about this sentence of {length} words; expected 0 <= start < end <= {length}"
        )
    if bracket.label is not None and bracket.label not in names:
        raise ImpossibleError(
            f"{verb} {bracket}: the model has no such label; expected one of {', '.join(sorted(names))}"
        )


@dataclass(frozen=True, kw_only=True)
class ConstrainedScores(Scores):
    """Scores with forbidden spans, whose score is -inf, and forbidden labels at some spans."""

    cells: Ints  # (cells,) flat chart cells, ascending
    forbidden: Mask  # (cells, labels)

    def labels_at(self, cells: Ints) -> Floats:
        """The label scores of spans at flat chart cells, (m, labels), with -inf for forbidden labels."""
        label_scores = super().labels_at(cells)
        if not len(self.cells):
            return label_scores
        rows = np.searchsorted(self.cells, cells).clip(max=len(self.cells) - 1)
        is_forbidden = self.forbidden[rows] & (self.cells[rows] == cells)[:, None]
        return np.where(is_forbidden, np.float32(-np.inf), label_scores)


def apply_constraints(
    scores: Scores, constraints: Sequence[Constraints | None], labels: LabelSet, root: str, *, numbers: Sequence[int]
) -> Scores:
    """The scores given the constraints of each sentence.

    The score of a span becomes the score of its allowed labels, and -inf if the span is forbidden. `numbers` are the
    sentence numbers for error messages.
    """
    size = scores.spans.shape[1]
    allowed_spans = np.ones(scores.spans.shape, dtype=np.bool_)
    label_masks: dict[int, Mask] = {}  # by flat chart cell
    for sentence, (constraint, length) in enumerate(zip(constraints, scores.lengths.tolist(), strict=True)):
        if not constraint:
            continue
        try:
            allowed = compatible_labels(constraint, length, labels, root)
        except ImpossibleError as error:
            raise ImpossibleError(f"sentence {numbers[sentence]}: {error}") from None
        allowed_spans[sentence, : length + 1, : length + 1] = allowed.spans
        for (start, end), mask in allowed.labels.items():
            label_masks[(sentence * size + start) * size + end] = mask
    cells = np.array(sorted(label_masks), dtype=np.int64)
    allowed_labels = np.array([label_masks[cell] for cell in cells.tolist()], dtype=np.bool_)
    return _constrained(scores, allowed_spans, cells, ~allowed_labels.reshape(-1, len(labels.strings)))


def _constrained(scores: Scores, allowed_spans: Mask, cells: Ints, forbidden: Mask) -> ConstrainedScores:
    label_scores = scores.labels_at(cells)
    masked = np.where(forbidden, np.float32(-np.inf), label_scores)
    spans = scores.spans.flatten()
    if scores.is_crf:
        spans[cells] += (logsumexp(masked) - logsumexp(label_scores)).astype(spans.dtype)
    else:
        spans[cells] = masked.max(-1)
    values = {field.name: getattr(scores, field.name) for field in fields(Scores)}
    values["spans"] = np.where(allowed_spans, spans.reshape(scores.spans.shape), np.float32(-np.inf))
    if scores.labels is not None:
        label_chart = scores.labels.reshape(-1, scores.labels.shape[-1]).copy()
        label_chart[cells] = masked
        values["labels"] = label_chart.reshape(scores.labels.shape)
    return ConstrainedScores(**values, cells=cells, forbidden=forbidden)
