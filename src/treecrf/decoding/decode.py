"""Decoding: the best trees of a batch by its scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.data.batch import Spans
from treecrf.decoding.expected_f1 import ExpectedF1
from treecrf.nn import Scores

_FORCED = 1e6  # marginal of the sentence's own span in the utility: it is always labeled
_TIE_BREAK = 1e-4  # weight of the marginals, which decide between trees of equal utility


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """The trees of a batch, flat: each sentence has its 2n-1 spans, by start and then end, and its n tags."""

    starts: Tensor  # (spans,)
    ends: Tensor
    labels: Tensor
    tags: Tensor | None  # (words,)

    def copy_to_host(self) -> "PendingDecoded":
        """Starts one copy to the host; does not wait for it."""
        parts = [self.starts, self.ends, self.labels] + ([] if self.tags is None else [self.tags])
        flat = torch.cat(parts).int()
        sizes = [len(part) for part in parts]
        if not flat.is_cuda:
            return PendingDecoded(flat, sizes)
        host = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)
        host.copy_(flat, non_blocking=True)
        return PendingDecoded(host, sizes, torch.cuda.current_stream(flat.device).record_event())

    def cpu(self) -> "Decoded":
        """The same trees on the host (synchronizes)."""
        return self.copy_to_host().wait()

    @staticmethod
    def concatenate(batches: "Sequence[Decoded]") -> "Decoded":
        """The trees of several batches as one."""
        tags = [batch.tags for batch in batches if batch.tags is not None]
        return Decoded(
            starts=torch.cat([batch.starts for batch in batches]),
            ends=torch.cat([batch.ends for batch in batches]),
            labels=torch.cat([batch.labels for batch in batches]),
            tags=torch.cat(tags) if tags else None,
        )


class PendingDecoded(NamedTuple):
    """Trees whose copy to the host may not be complete."""

    flat: Tensor
    sizes: list[int]
    copied: torch.cuda.Event | None = None

    def wait(self) -> Decoded:
        """The trees on the host, once the copy is complete."""
        if self.copied is not None:
            self.copied.synchronize()
        starts, ends, labels, *tags = torch.split(self.flat, self.sizes)
        return Decoded(starts=starts, ends=ends, labels=labels, tags=tags[0] if tags else None)


@torch.no_grad()
def decode(
    scores: Scores,
    *,
    mbr: bool = True,
    expected_f1: ExpectedF1 | None = None,
    allowed: Tensor | None = None,
    crf: SpanCRF | None = None,
) -> Decoded:
    """The best labeled tree of each sentence and the best tags, without synchronizing the device.

    With `mbr` and a CRF's scores, the best tree has the most spans expected to be correct, or if `expected_f1` is
    given, the highest expected F1. `allowed` is a boolean chart of the spans that may be used. `crf` is the
    distribution over bracketings, if the caller already has it.
    """
    if crf is None or not scores.is_crf:
        crf = SpanCRF(scores.spans, scores.lengths, allowed=allowed, validate=False)
    if expected_f1 is not None and mbr and scores.is_crf:
        return _maximize_expected_f1(scores, crf, expected_f1, allowed)
    return label_trees(scores, _best_trees(scores, crf, mbr=mbr and scores.is_crf, allowed=allowed))


def label_trees(scores: Scores, trees: Tensor) -> Decoded:
    """Trees, given as boolean charts, with the best label of every span and the best tags."""
    cells = _tree_cells(scores, trees)
    return _decoded(scores, trees, cells, scores.labels_at(Spans.at(cells, trees.shape[1])).argmax(-1))


def _tree_cells(scores: Scores, trees: Tensor) -> Tensor:
    return nonzero_static(trees.flatten(), 2 * scores.total_words - len(trees))


def _decoded(scores: Scores, trees: Tensor, cells: Tensor, labels: Tensor) -> Decoded:
    """The spans at `cells` with their labels, and the best tags."""
    size = trees.shape[1]
    tags = None
    if scores.tags is not None:
        is_word = torch.arange(size - 1, device=trees.device) < scores.lengths[:, None]
        tags = scores.tags.argmax(-1).flatten()[nonzero_static(is_word.flatten(), scores.total_words)]
    return Decoded(starts=cells // size % size, ends=cells % size, labels=labels, tags=tags)


def _best_trees(scores: Scores, crf: SpanCRF, *, mbr: bool, allowed: Tensor | None) -> Tensor:
    if scores.labels is None or not scores.is_crf:
        return crf.mbr() if mbr else crf.argmax
    if not mbr:
        return SpanCRF(scores.labels.amax(-1), scores.lengths, allowed=allowed, validate=False).argmax
    # a labeled span is correct if both the span and its label are
    expected = crf.marginals * (scores.labels.amax(-1) - scores.spans).exp()
    return SpanCRF(expected, scores.lengths, allowed=allowed, validate=False).argmax


def _maximize_expected_f1(scores: Scores, crf: SpanCRF, expected_f1: ExpectedF1, allowed: Tensor | None) -> Decoded:
    """The trees of maximal utility; among equals, those with the most spans expected to be correct.

    The span of the whole sentence is in every tree, so it always gets its most probable label.
    """
    marginals = crf.marginals.flatten()
    # only spans more probable than the threshold can have a positive utility; marginals sum to 2n - 1
    max_candidates = int((2 * scores.total_words - len(scores.lengths)) / expected_f1.threshold) + 1
    is_candidate = marginals > expected_f1.threshold
    cells = nonzero_static(is_candidate, max_candidates) if is_candidate.is_cuda else is_candidate.nonzero()[:, 0]
    size = scores.spans.shape[1]
    is_sentence = (cells // size % size == 0) & (cells % size == scores.lengths[cells // size**2])
    utility, labels = expected_f1.best_labels(
        scores.labels_at(Spans.at(cells, size)), marginals[cells].masked_fill(is_sentence, _FORCED)
    )
    chart = (_TIE_BREAK * marginals).index_add_(0, cells, utility.masked_fill((cells == 0) | is_sentence, 0.0))
    label_chart = torch.full(marginals.shape, expected_f1.empty_label, device=cells.device)
    label_chart.index_copy_(0, cells, labels)
    trees = SpanCRF(chart.view_as(scores.spans), scores.lengths, allowed=allowed, validate=False).argmax
    cells = _tree_cells(scores, trees)
    return _decoded(scores, trees, cells, label_chart[cells])


def nonzero_static(mask: Tensor, size: int) -> Tensor:
    """The indices of the first `size` true values of a flat mask, padded with 0; does not synchronize the device."""
    ranks = mask.cumsum(0) - 1
    indices = torch.arange(len(mask), device=mask.device)
    out = indices.new_zeros(size + 1)  # the last element receives the indices of false values
    return out.scatter_(0, ranks.masked_fill(~mask, size), indices)[:size]
