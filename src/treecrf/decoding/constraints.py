"""What a caller knows about a tree: constituents that it must have, and such that it must not.

A constraint is about the tree that comes out. A constituent X over words[i:j] is there if the chart has that span and
its label is a chain that holds X, or if X is the root and the words are the whole sentence; a span that binarization
made is no constituent. So a constraint bans labels of its own span, and, if it requires one, the spans that cross it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.data.batch import Spans
from treecrf.nn import Scores
from treecrf.treebank.binarize import LabelSet

Mask = npt.NDArray[np.bool_]


class Bracket(NamedTuple):
    """A constituent over `words[start:end]`, whatever its label if that is None."""

    start: int
    end: int
    label: str | None = None

    def __str__(self) -> str:
        return f"{self.label or 'a constituent'} over words[{self.start}:{self.end}]"


@dataclass(frozen=True)
class Constraints:
    """Constituents that a tree must have, and such that it must not: (start, end) or (start, end, label) each.

    >>> Constraints(require=[(0, 2, "NP")], forbid=[(1, 4)]).require
    (Bracket(start=0, end=2, label='NP'),)
    """

    require: Sequence[tuple[int, int] | tuple[int, int, str | None]] = ()
    forbid: Sequence[tuple[int, int] | tuple[int, int, str | None]] = ()

    def __post_init__(self) -> None:
        for name in ("require", "forbid"):
            object.__setattr__(self, name, tuple(_bracket(given, name) for given in getattr(self, name)))

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid)


def _bracket(given: Iterable[object], name: str) -> Bracket:
    parts = tuple(given) if isinstance(given, (tuple, list)) else ()
    start, end, label = (*parts, None)[:3] if len(parts) in (2, 3) else (None, None, None)
    if type(start) is not int or type(end) is not int or not (label is None or (label and isinstance(label, str))):
        raise ValueError(f"{name} holds {given!r:.80}; expected (start, end) or (start, end, label)")
    return Bracket(start, end, label)


class ImpossibleError(ValueError):
    """Constraints that no tree of the sentence meets."""


class _Room(NamedTuple):
    """What a sentence's constraints leave: spans, and labels of some of them."""

    allowed: Mask  # (n + 1, n + 1)
    masks: dict[tuple[int, int], Mask]


def _room(constraints: Constraints, length: int, labels: LabelSet, root: str) -> _Room:
    required, told = [Bracket(*given) for given in constraints.require], _told(constraints)
    room = _Room(np.ones((length + 1, length + 1), dtype=np.bool_), {})
    for verb, bracket in told:
        _check_bracket(verb, bracket, length, {root, *labels.names})
        holding = labels.containing(*bracket, length=length, root=root)
        before = room.masks.get(bracket[:2], np.ones_like(holding))
        room.masks[bracket[:2]] = before & (holding if verb == "require" else ~holding)
    _check_crossing(required)
    fence = np.arange(length + 1)
    for start, end, _ in required:
        inside, outside = (fence > start) & (fence < end), (fence < start) | (fence > end)
        room.allowed[inside[:, None] & outside | outside[:, None] & inside] = False
    everywhere = {bracket[:2] for bracket in required} | {(0, length)} | {(i, i + 1) for i in range(length)}
    for span in [span for span, mask in room.masks.items() if not mask.any()]:
        if span in everywhere:
            reasons = " and ".join(f"{verb} {bracket}" for verb, bracket in told if bracket[:2] == span)
            raise ImpossibleError(f"{reasons}: no label of the model does that; expected what one of them can be")
        room.allowed[span] = False
        del room.masks[span]
    _check_trees(room, told, length)
    return room


def _told(constraints: Constraints) -> list[tuple[str, Bracket]]:
    told = [("require", given) for given in constraints.require] + [("forbid", given) for given in constraints.forbid]
    return [(verb, Bracket(*given)) for verb, given in told]


def _check_crossing(required: list[Bracket]) -> None:
    ordered = sorted(required, key=lambda bracket: (bracket.start, -bracket.end))
    for first, second in combinations(ordered, 2):
        if first.start < second.start < first.end < second.end:
            raise ImpossibleError(f"require {first} and {second}: these cross, and no tree has both")


def _check_trees(room: _Room, told: list[tuple[str, Bracket]], length: int) -> None:
    if room.allowed.all():
        return
    scores = torch.zeros(1, length + 1, length + 1).masked_fill(torch.from_numpy(~room.allowed), -torch.inf)
    if SpanCRF(scores, [length], validate=False).log_partition.item() == -torch.inf:
        reasons = ", ".join(f"{verb} {bracket}" for verb, bracket in told)
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
    """Scores of which some spans cannot have some labels."""

    cells: Tensor  # (c,) flat chart cells, rising
    banned: Tensor  # (c, labels)

    def labels_at(self, spans: Spans) -> Tensor:
        return self.ban(super().labels_at(spans), spans.cells)

    def ban(self, labels: Tensor, cells: Tensor) -> Tensor:
        """The label scores (..., labels) of spans at cells (...), without those that cannot be."""
        place = torch.searchsorted(self.cells, cells).clamp(max=len(self.cells) - 1)
        return labels.masked_fill(self.banned[place] & (self.cells[place] == cells)[..., None], -torch.inf)


def apply_constraints(
    scores: Scores, constraints: Sequence[Constraints | None], labels: LabelSet, root: str, *, numbers: Sequence[int]
) -> tuple[Scores, Tensor]:
    """Scores given the constraints of each sentence, and the chart of spans that they leave.

    A span's score becomes that of the labels it may have. `numbers` are the sentences' for messages.
    """
    size, device = scores.spans.shape[1], scores.spans.device
    allowed = np.ones(scores.spans.shape, dtype=np.bool_)
    masks: dict[int, Mask] = {}
    for sentence, (given, length) in enumerate(zip(constraints, scores.lengths.tolist(), strict=True)):
        if not given:
            continue
        try:
            room = _room(given, length, labels, root)
        except ImpossibleError as error:
            raise ImpossibleError(f"sentence {numbers[sentence]}: {error}") from None
        allowed[sentence, : length + 1, : length + 1] = room.allowed
        masks |= {(sentence * size + start) * size + end: mask for (start, end), mask in room.masks.items()}
    where = torch.from_numpy(allowed).to(device)
    if not masks:
        return scores, where
    cells = torch.tensor(sorted(masks), device=device)
    banned = torch.from_numpy(~np.stack([masks[cell] for cell in sorted(masks)])).to(device)
    return _conditioned(scores, cells, banned), where


def _conditioned(scores: Scores, cells: Tensor, banned: Tensor) -> Scores:
    every = scores.labels_at(Spans.at(cells, scores.spans.shape[1]))
    left = every.masked_fill(banned, -torch.inf)
    spans = scores.spans.flatten().clone()
    if scores.is_crf:
        spans[cells] += left.logsumexp(-1) - every.logsumexp(-1)
    else:
        spans[cells] = left.amax(-1)
    labels = None
    if scores.labels is not None:
        labels = scores.labels.flatten(0, 2).clone()
        labels[cells] = left
        labels = labels.view_as(scores.labels)
    parts = vars(replace(scores, spans=spans.view_as(scores.spans), labels=labels))
    return ConstrainedScores(**parts, cells=cells, banned=banned)
