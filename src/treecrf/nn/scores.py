"""What the network says about a batch, and the trees that follow from it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.nn.scorer import Biaffine, Minus

_SPANS_AT_ONCE = (
    8192  # how many label scores are held at a time; each span takes as much as its boundaries' outer product
)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of spans by fencepost, in float32; those of labels where they are asked for."""

    total_words: int
    is_crf: bool  # whether the scores are log-potentials, so that there are marginals
    lengths: Tensor  # (b,)
    spans: (
        Tensor  # (b, n + 1, n + 1); of one-stage models, with the labels summed out (CRF) or the best of them (margin)
    )
    left: Tensor  # (b, n + 1, d) boundary vectors for labels
    right: Tensor
    label_scorer: Biaffine | Minus
    labels: Tensor | None = None  # (b, n + 1, n + 1, labels) of one-stage models
    tags: Tensor | None = None  # (b, n, tags)

    def labels_at(self, cells: Tensor) -> Tensor:
        """Label scores (m, labels) of the spans at flat chart cells: (sentence * (n + 1) + start) * (n + 1) + end."""
        if self.labels is not None:
            return self.labels.flatten(0, 2).index_select(0, cells)
        size = self.spans.shape[1]
        lefts = cells // size
        return self.labels_between(lefts, lefts - lefts % size + cells % size)

    def labels_between(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Label scores (m, labels) of the spans between boundaries, which are counted over all sentences' n + 1."""
        left = self.left.flatten(0, 1).index_select(0, lefts)
        right = self.right.flatten(0, 1).index_select(0, rights)
        with torch.autocast(left.device.type, enabled=False):
            return self.label_scorer.at(left, right)


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """The best trees of a batch, flat: each sentence has its 2n-1 spans, by start and then end, and its n tags."""

    starts: Tensor  # (m,)
    ends: Tensor
    labels: Tensor
    tags: Tensor | None  # (words,)

    def cpu(self) -> "Decoded":
        """The same on the host, in one transfer."""
        parts = [self.starts, self.ends, self.labels] + ([] if self.tags is None else [self.tags])
        starts, ends, labels, *tags = torch.split(torch.cat(parts).cpu(), [len(part) for part in parts])
        return Decoded(starts=starts, ends=ends, labels=labels, tags=tags[0] if tags else None)


@torch.no_grad()
def decode(scores: Scores, *, mbr: bool = True, allowed: Tensor | None = None) -> Decoded:
    """The best tree of each sentence with its labels, and the best tags; nothing waits for the device.

    With `mbr`, and scores that have marginals, the best tree is the one with the most spans expected to be right.
    `allowed` is a boolean chart of the spans that may be used.
    """
    trees = _best_trees(scores, mbr=mbr and scores.is_crf, allowed=allowed)
    size = trees.shape[1]
    cells = where(trees.flatten(), 2 * scores.total_words - len(trees))
    labels = [scores.labels_at(part).argmax(-1) for part in torch.split(cells, _SPANS_AT_ONCE)]
    tags = None
    if scores.tags is not None:
        real = torch.arange(size - 1, device=trees.device) < scores.lengths[:, None]
        tags = scores.tags.argmax(-1).flatten()[where(real.flatten(), scores.total_words)]
    return Decoded(starts=cells // size % size, ends=cells % size, labels=torch.cat(labels), tags=tags)


def _best_trees(scores: Scores, *, mbr: bool, allowed: Tensor | None) -> Tensor:
    crf = SpanCRF(scores.spans, scores.lengths, allowed=allowed, validate=False)
    if scores.labels is None or not scores.is_crf:
        return crf.mbr() if mbr else crf.argmax
    if not mbr:
        return SpanCRF(scores.labels.amax(-1), scores.lengths, allowed=allowed, validate=False).argmax
    # a labelled span is right if the span is and its label is
    expected = crf.marginals * (scores.labels.amax(-1) - scores.spans).exp()
    return SpanCRF(expected, scores.lengths, allowed=allowed, validate=False).argmax


def where(mask: Tensor, total: int) -> Tensor:
    """The places of the `total` true values of a flat mask, in order; `nonzero` would wait for the device to count."""
    ranks = mask.cumsum(0) - 1
    places = torch.arange(len(mask), device=mask.device)
    found = places.new_zeros(total + 1)  # the last takes what is not wanted
    return found.scatter_(0, ranks.masked_fill(~mask, total), places)[:total]
