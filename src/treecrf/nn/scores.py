"""What the network says about a batch, and the trees that follow from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.nn.batch import Spans
from treecrf.nn.scorer import Biaffine, Minus
from treecrf.nn.worth import Worth

_PRICELESS = 1e6  # the probability of what is worth any price
_TIE = 1e-4  # how much of its marginal a span counts for between trees that are worth the same


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of spans by fencepost, in float32; those of labels where they are asked for."""

    total_words: int
    is_crf: bool  # whether the scores are log-potentials, so that there are marginals
    lengths: Tensor  # (b,)
    # (b, n + 1, n + 1); of one-stage models, with the labels summed out (CRF) or the best of them (margin)
    spans: Tensor
    left: Tensor  # (b, n + 1, d) boundary vectors for labels
    right: Tensor
    label_scorer: Biaffine | Minus
    labels: Tensor | None = None  # (b, n + 1, n + 1, labels) of one-stage models
    tags: Tensor | None = None  # (b, n, tags)

    def labels_at(self, spans: Spans) -> Tensor:
        """Label scores of m spans, (m, labels)."""
        if self.labels is not None:
            return self.labels.flatten(0, 2).index_select(0, spans.cells)
        with torch.autocast(self.left.device.type, enabled=False):
            return self.label_scorer.at(self.left, self.right, spans)


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """The best trees of a batch, flat: each sentence has its 2n-1 spans, by start and then end, and its n tags."""

    starts: Tensor  # (m,)
    ends: Tensor
    labels: Tensor
    tags: Tensor | None  # (words,)

    def fetch(self) -> "Fetched":
        """The same on its way to the host, in one transfer; nothing waits for it yet."""
        parts = [self.starts, self.ends, self.labels] + ([] if self.tags is None else [self.tags])
        flat = torch.cat(parts).int()
        sizes = [len(part) for part in parts]
        if not flat.is_cuda:
            return Fetched(flat, sizes)
        host = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)
        host.copy_(flat, non_blocking=True)
        return Fetched(host, sizes, torch.cuda.current_stream(flat.device).record_event())

    def cpu(self) -> "Decoded":
        """The same on the host."""
        return self.fetch().wait()

    @staticmethod
    def join(parts: "Sequence[Decoded]") -> "Decoded":
        """The trees of several batches as those of one."""
        tags = [part.tags for part in parts if part.tags is not None]
        return Decoded(
            starts=torch.cat([part.starts for part in parts]),
            ends=torch.cat([part.ends for part in parts]),
            labels=torch.cat([part.labels for part in parts]),
            tags=torch.cat(tags) if tags else None,
        )


class Fetched(NamedTuple):
    """Trees that a device is still working on, or that are on their way."""

    flat: Tensor
    sizes: list[int]
    event: torch.cuda.Event | None = None  # that ends the way

    def wait(self) -> Decoded:
        """The trees on the host, once they are there."""
        if self.event is not None:
            self.event.synchronize()
        starts, ends, labels, *tags = torch.split(self.flat, self.sizes)
        return Decoded(starts=starts, ends=ends, labels=labels, tags=tags[0] if tags else None)


@torch.no_grad()
def decode(
    scores: Scores,
    *,
    mbr: bool = True,
    worth: Worth | None = None,
    allowed: Tensor | None = None,
    crf: SpanCRF | None = None,
) -> Decoded:
    """The best tree of each sentence with its labels, and the best tags; nothing waits for the device.

    With `mbr`, and scores that have marginals, the best tree is the one with the most spans expected to be right, or
    where `worth` is given, the one whose constituents are worth the most. `allowed` is a boolean chart of the spans
    that may be used; `crf`, the scores that have marginals with it, if they are wanted elsewhere as well.
    """
    if crf is None or not scores.is_crf:
        crf = SpanCRF(scores.spans, scores.lengths, allowed=allowed, validate=False)
    if worth is not None and mbr and scores.is_crf:
        return _worthiest(scores, crf, worth, allowed)
    return labelled(scores, _best_trees(scores, crf, mbr=mbr and scores.is_crf, allowed=allowed))


def labelled(scores: Scores, trees: Tensor) -> Decoded:
    """Trees, a boolean chart of each, with the best label of every span, and the best tags."""
    cells = _cells(scores, trees)
    return _decoded(scores, trees, cells, scores.labels_at(Spans.at(cells, trees.shape[1])).argmax(-1))


def _cells(scores: Scores, trees: Tensor) -> Tensor:
    return where(trees.flatten(), 2 * scores.total_words - len(trees))


def _decoded(scores: Scores, trees: Tensor, cells: Tensor, labels: Tensor) -> Decoded:
    """The spans at cells with their labels, and the best tags."""
    size = trees.shape[1]
    tags = None
    if scores.tags is not None:
        real = torch.arange(size - 1, device=trees.device) < scores.lengths[:, None]
        tags = scores.tags.argmax(-1).flatten()[where(real.flatten(), scores.total_words)]
    return Decoded(starts=cells // size % size, ends=cells % size, labels=labels, tags=tags)


def _best_trees(scores: Scores, crf: SpanCRF, *, mbr: bool, allowed: Tensor | None) -> Tensor:
    if scores.labels is None or not scores.is_crf:
        return crf.mbr() if mbr else crf.argmax
    if not mbr:
        return SpanCRF(scores.labels.amax(-1), scores.lengths, allowed=allowed, validate=False).argmax
    # a labelled span is right if the span is and its label is
    expected = crf.marginals * (scores.labels.amax(-1) - scores.spans).exp()
    return SpanCRF(expected, scores.lengths, allowed=allowed, validate=False).argmax


def _worthiest(scores: Scores, crf: SpanCRF, worth: Worth, allowed: Tensor | None) -> Decoded:
    """The trees whose constituents are worth the most; of such, those with the most spans expected to be right.

    The whole sentence has its most probable label at any price: it is always there.
    """
    marginals = crf.marginals.flatten()
    # only spans that are more probable than the price can be worth it; marginals add up to 2n - 1
    most = int((2 * scores.total_words - len(scores.lengths)) / worth.price) + 1
    probable = marginals > worth.price
    cells = where(probable, most) if probable.is_cuda else probable.nonzero()[:, 0]
    size = scores.spans.shape[1]
    is_whole = (cells // size % size == 0) & (cells % size == scores.lengths[cells // size**2])
    found, labels = worth.best(
        scores.labels_at(Spans.at(cells, size)), marginals[cells].masked_fill(is_whole, _PRICELESS)
    )
    chart = (_TIE * marginals).index_add_(0, cells, found.masked_fill((cells == 0) | is_whole, 0.0))
    chosen = torch.full(marginals.shape, worth.nothing, device=cells.device).index_copy_(0, cells, labels)
    trees = SpanCRF(chart.view_as(scores.spans), scores.lengths, allowed=allowed, validate=False).argmax
    cells = _cells(scores, trees)
    return _decoded(scores, trees, cells, chosen[cells])


def where(mask: Tensor, total: int) -> Tensor:
    """The places of the `total` true values of a flat mask, in order; `nonzero` would wait for the device to count.

    Where there are fewer, the last are 0.
    """
    ranks = mask.cumsum(0) - 1
    places = torch.arange(len(mask), device=mask.device)
    found = places.new_zeros(total + 1)  # the last takes what is not wanted
    return found.scatter_(0, ranks.masked_fill(~mask, total), places)[:total]
