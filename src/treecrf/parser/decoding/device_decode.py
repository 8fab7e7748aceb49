"""Decoding on the device of torch scores, without synchronizing it: for GPUs.

The results are those of `decode.py`, which is for scores on the host and for constraints.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.network.nn import TensorScores
from treecrf.network.nn.batch import Spans
from treecrf.parser.decoding.candidates import CHOICES, LABEL_TIE_BREAK, MIN_PROBABILITY, SPANS_PER_WORD
from treecrf.parser.decoding.decode import FORCED, TIE_BREAK, Decoded
from treecrf.parser.decoding.expected_f1 import ExpectedF1
from treecrf.parser.decoding.label_grammar import NO_LABEL, Candidates, LabelGrammar

_UTILITIES = 8  # utilities that stay on their device: one per parser in use


class PendingDecoded(NamedTuple):
    """Trees whose copy to the host may not be complete."""

    flat: Tensor  # starts, ends, labels and tags
    sizes: list[int]  # of each
    copied: torch.cuda.Event | None

    @staticmethod
    def copy(parts: list[Tensor]) -> "PendingDecoded":
        """Starts one copy of starts, ends, labels and perhaps tags to the host; does not wait for it."""
        (flat,), copied = copy_to_host([torch.cat(parts)])
        return PendingDecoded(flat, [len(part) for part in parts], copied)

    def wait(self) -> Decoded:
        """The trees on the host, once the copy is complete."""
        wait_for(self.copied)
        starts, ends, labels, *tags = (part.numpy() for part in torch.split(self.flat, self.sizes))
        return Decoded(starts=starts, ends=ends, labels=labels, tags=tags[0] if tags else None)


class PendingCandidates(NamedTuple):
    """Candidates whose copy to the host may not be complete. The search for the best trees runs on the host."""

    tensors: list[Tensor]  # lengths, tags, cells, labels, utility and sentence labels: see `Candidates`
    size: int  # of the chart
    copied: torch.cuda.Event | None
    grammar: LabelGrammar

    def wait(self) -> Decoded:
        """The best trees, once the copy is complete."""
        wait_for(self.copied)
        lengths, tags, cells, labels, utility, sentence_labels = (tensor.numpy() for tensor in self.tensors)
        first = int(np.searchsorted(cells, 0))  # the cells before it are padding
        candidates = Candidates(
            lengths, tags, self.size, cells[first:], labels[first:], utility[first:], sentence_labels
        )
        return Decoded(**self.grammar.best_trees(candidates)._asdict(), tags=tags)


def find_candidates(scores: TensorScores, expected_f1: ExpectedF1) -> PendingCandidates:
    """Ranks the labels of the most probable spans and starts their copy to the host; see `candidates.py`."""
    size, lengths = scores.spans.shape[1], scores.lengths
    marginals = SpanCRF(scores.spans, lengths, validate=False).marginals.flatten(1)
    count = min(SPANS_PER_WORD * (size - 1), size**2)
    values, places = marginals.topk(count)  # in descending order
    is_candidate = torch.arange(count, device=values.device) < SPANS_PER_WORD * lengths[:, None]
    is_candidate &= values >= MIN_PROBABILITY
    sentence_cells = torch.arange(len(lengths), device=values.device) * size**2 + lengths
    cells = places + (sentence_cells - lengths)[:, None]
    cells, order = torch.where(is_candidate, cells, -1).flatten().sort()
    rows = torch.searchsorted(cells, sentence_cells)  # of the sentences' own spans
    values = values.flatten()[order].index_fill(0, rows, 1.0)  # every tree has them
    labels, utility, probabilities = _device_utility(expected_f1, values.device).rank_labels(
        scores.labels_at(Spans.at(cells.clamp(min=0), size)), values
    )
    has_constituents = _device_utility(expected_f1, values.device).counts[labels] > 0
    limits = utility[:, :1].masked_fill(~has_constituents[:, :1], torch.inf)
    utility = torch.minimum(utility, limits) - float(LABEL_TIE_BREAK) * (probabilities[:, :1] - probabilities)
    is_choice = has_constituents & (values[:, None] * probabilities >= MIN_PROBABILITY)
    first_has_constituents = has_constituents[rows, :1]
    is_choice[rows] &= first_has_constituents
    is_choice[rows, 0] = first_has_constituents[:, 0]
    sentence_labels = labels[rows, 0].masked_fill(first_has_constituents[:, 0], NO_LABEL)
    labels = labels.masked_fill(~is_choice, NO_LABEL)
    assert expected_f1.grammar is not None, "candidates are for a grammar"
    tensors = [lengths, _best_tags(scores), cells, labels, utility, sentence_labels]
    copies, copied = copy_to_host(tensors)
    return PendingCandidates(copies, size, copied, expected_f1.grammar)


def _best_tags(scores: TensorScores) -> Tensor:
    """The best tag of every word of a batch, (words,)."""
    assert scores.tags is not None, "the network predicts tags"
    is_word = torch.arange(scores.tags.shape[1], device=scores.tags.device) < scores.lengths[:, None]
    return scores.tags.argmax(-1).flatten()[nonzero_static(is_word.flatten(), scores.total_words)]


def copy_to_host(tensors: list[Tensor]) -> tuple[list[Tensor], torch.cuda.Event | None]:
    """Starts copies of tensors to the host, and an event that happens when they are complete; does not wait."""
    if not tensors[0].is_cuda:
        return tensors, None
    copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in tensors]
    for host, tensor in zip(copies, tensors, strict=True):
        host.copy_(tensor, non_blocking=True)
    return copies, torch.cuda.current_stream(tensors[0].device).record_event()


def wait_for(copied: torch.cuda.Event | None) -> None:
    """Waits until copies are complete."""
    if copied is not None:
        copied.synchronize()


@torch.no_grad()
def decode_on_device(
    scores: TensorScores, *, mbr: bool = True, expected_f1: ExpectedF1 | None = None
) -> "PendingDecoded | PendingCandidates":
    """The best labeled tree of each sentence and the best tags; see `decode`."""
    mbr = mbr and scores.is_crf
    if expected_f1 is not None and expected_f1.grammar is not None and scores.tags is not None and mbr:
        return find_candidates(scores, expected_f1)
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
        parts.append(_best_tags(scores))
    return PendingDecoded.copy(parts)


class _DeviceUtility(NamedTuple):
    """The arrays of an ExpectedF1 on a device."""

    threshold: float
    constituents: Tensor  # (labels, names), float64
    counts: Tensor  # (labels,), float64
    empty_label: int

    def best_labels(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the utility and the label of each span; see `ExpectedF1.best_labels`."""
        labels, utility, _ = (ranked[:, 0] for ranked in self.rank_labels(label_scores, marginals, choices=1))
        is_dropped = utility < 0
        return utility.masked_fill(is_dropped, 0.0), labels.masked_fill(is_dropped, self.empty_label)

    def rank_labels(self, label_scores: Tensor, marginals: Tensor, *, choices: int = CHOICES) -> list[Tensor]:
        """Labels, utility and probabilities, (spans, choices); see `ExpectedF1.rank_labels`."""
        probabilities = label_scores.double().softmax(-1)  # in float64, rounding does not depend on the batch
        label_probabilities, labels = probabilities.topk(min(choices, probabilities.shape[-1]), -1)
        expected = probabilities @ self.constituents
        matched = torch.stack([(expected * self.constituents[column]).sum(-1) for column in labels.unbind(-1)], -1)
        utility = marginals[:, None] * matched - self.threshold * self.counts[labels]
        return [labels, utility.to(label_scores), label_probabilities.to(label_scores)]


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
