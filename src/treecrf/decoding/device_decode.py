"""Decoding on the device of torch scores, without synchronizing it: for GPUs.

The results are those of `decode.py`, which is for scores on the host and for constraints.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.decoding.decode import FORCED, TIE_BREAK, Decoded
from treecrf.decoding.expected_f1 import ExpectedF1
from treecrf.nn import TensorScores
from treecrf.nn.batch import Spans

_UTILITIES = 8  # utilities that stay on their device: one per parser in use


class PendingDecoded(NamedTuple):
    """Trees whose copy to the host may not be complete."""

    flat: Tensor  # starts, ends, labels and tags
    sizes: list[int]  # of each
    copied: torch.cuda.Event | None

    @staticmethod
    def copy(parts: list[Tensor]) -> "PendingDecoded":
        """Starts one copy of starts, ends, labels and perhaps tags to the host; does not wait for it."""
        flat = torch.cat(parts)
        sizes = [len(part) for part in parts]
        if not flat.is_cuda:
            return PendingDecoded(flat, sizes, None)
        host = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)
        host.copy_(flat, non_blocking=True)
        return PendingDecoded(host, sizes, torch.cuda.current_stream(flat.device).record_event())

    def wait(self) -> Decoded:
        """The trees on the host, once the copy is complete."""
        if self.copied is not None:
            self.copied.synchronize()
        starts, ends, labels, *tags = (part.numpy() for part in torch.split(self.flat, self.sizes))
        return Decoded(starts=starts, ends=ends, labels=labels, tags=tags[0] if tags else None)


@torch.no_grad()
def decode_on_device(
    scores: TensorScores, *, mbr: bool = True, expected_f1: ExpectedF1 | None = None
) -> PendingDecoded:
    """The best labeled tree of each sentence and the best tags; see `decode`."""
    mbr = mbr and scores.is_crf
    if expected_f1 is not None and mbr:
        return _maximize_expected_f1(scores, _device_utility(expected_f1, scores.spans.device))
    crf = SpanCRF(scores.spans, scores.lengths, validate=False)
    if scores.labels is None or not scores.is_crf:
        return label_trees(scores, crf.mbr() if mbr else crf.argmax)
    chart = scores.labels.amax(-1)
    if mbr:  # a labeled span is correct if both the span and its label are
        chart = crf.marginals * (chart - scores.spans).exp()
    return label_trees(scores, SpanCRF(chart, scores.lengths, validate=False).argmax)


def label_trees(scores: TensorScores, trees: Tensor) -> PendingDecoded:
    """Trees, given as boolean charts, with the best label of every span and the best tags."""
    cells = _tree_cells(scores, trees)
    return _decoded(scores, cells, scores.labels_at(Spans.at(cells, trees.shape[1])).argmax(-1))


def _tree_cells(scores: TensorScores, trees: Tensor) -> Tensor:
    return nonzero_static(trees.flatten(), 2 * scores.total_words - len(trees))


def _decoded(scores: TensorScores, cells: Tensor, labels: Tensor) -> PendingDecoded:
    """The spans at `cells` with their labels, and the best tags."""
    size = scores.spans.shape[1]
    parts = [cells // size % size, cells % size, labels]
    if scores.tags is not None:
        is_word = torch.arange(size - 1, device=cells.device) < scores.lengths[:, None]
        parts.append(scores.tags.argmax(-1).flatten()[nonzero_static(is_word.flatten(), scores.total_words)])
    return PendingDecoded.copy(parts)


class _DeviceUtility(NamedTuple):
    """The arrays of an ExpectedF1 on a device."""

    threshold: float
    constituents: Tensor  # (labels, names), float64
    counts: Tensor  # (labels,), float64
    empty_label: int

    def best_labels(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the utility and the label of each span; see `ExpectedF1.best_labels`."""
        probabilities = label_scores.double().softmax(-1)  # in float64, rounding does not depend on the batch
        labels = label_scores.argmax(-1)
        expected = (probabilities @ self.constituents * self.constituents[labels]).sum(-1)
        utility = marginals * expected - self.threshold * self.counts[labels]
        is_dropped = utility < 0
        return utility.masked_fill(is_dropped, 0.0).to(label_scores), labels.masked_fill(is_dropped, self.empty_label)


@lru_cache(maxsize=_UTILITIES)
def _device_utility(expected_f1: ExpectedF1, device: torch.device) -> _DeviceUtility:
    constituents, counts = map(torch.from_numpy, (expected_f1.constituents, expected_f1.counts))
    return _DeviceUtility(expected_f1.threshold, constituents.to(device), counts.to(device), expected_f1.empty_label)


def _maximize_expected_f1(scores: TensorScores, utility: _DeviceUtility) -> PendingDecoded:
    """The trees of maximal utility; see `decode.py`."""
    marginals = SpanCRF(scores.spans, scores.lengths, validate=False).marginals.flatten()
    # only spans more probable than the threshold can have a positive utility; marginals sum to 2n - 1
    max_candidates = int((2 * scores.total_words - len(scores.lengths)) / utility.threshold) + 1
    cells = nonzero_static(marginals > utility.threshold, max_candidates)
    size = scores.spans.shape[1]
    is_sentence = (cells // size % size == 0) & (cells % size == scores.lengths[cells // size**2])
    utilities, labels = utility.best_labels(
        scores.labels_at(Spans.at(cells, size)), marginals[cells].masked_fill(is_sentence, float(FORCED))
    )
    chart = float(TIE_BREAK) * marginals
    chart.index_add_(0, cells, utilities.masked_fill((cells == 0) | is_sentence, 0.0))
    label_chart = torch.full(marginals.shape, utility.empty_label, device=cells.device)
    label_chart.index_copy_(0, cells, labels)
    trees = SpanCRF(chart.view_as(scores.spans), scores.lengths, validate=False).argmax
    cells = _tree_cells(scores, trees)
    return _decoded(scores, cells, label_chart[cells])


def nonzero_static(mask: Tensor, size: int) -> Tensor:
    """The indices of the first `size` true values of a flat mask, padded with 0; does not synchronize the device."""
    ranks = mask.cumsum(0) - 1
    indices = torch.arange(len(mask), device=mask.device)
    out = indices.new_zeros(size + 1)  # the last element receives the indices of false values
    return out.scatter_(0, ranks.masked_fill(~mask, size), indices)[:size]
