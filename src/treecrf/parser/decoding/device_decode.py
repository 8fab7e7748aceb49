"""Decoding on the device of torch scores, without synchronizing it: for GPUs.

The results equal the results of `decode.py`, which is for scores on the host and for constraints.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from treecrf.arrays import Floats, Ints
from treecrf.chart.crf import SpanCRF
from treecrf.chart.torch_backend import span_mask
from treecrf.network.data.batch import require_finite
from treecrf.network.nn import TensorScores
from treecrf.network.nn.batch import Spans
from treecrf.network.nn.half_precision import runs_kernels
from treecrf.network.nn.scorers import nonzero_static
from treecrf.parser.decoding.decode import TIE_BREAK, decode
from treecrf.parser.decoding.expected_f1 import ExpectedF1, possible_tags
from treecrf.parser.decoding.label_grammar import CandidateSpans, LabelGrammar
from treecrf.trees.treebank.bracket_writer import FlatTrees

if TYPE_CHECKING:
    from treecrf.parser.decoding.triton_candidates import CandidateUtility

_UTILITIES = 8  # utilities that stay on their device: one per parser in use

PendingTrees = Callable[[], FlatTrees]  # waits for the trees of a batch and returns them


class _CheckedScores:
    """Scores of a batch. `is_finite` becomes false, on the device, if a score that decoding uses is not finite.

    Such a score counts as 0, so that decoding can go on until the host reads `is_finite`.
    """

    def __init__(self, scores: TensorScores) -> None:
        self.lengths, self.total_words = scores.lengths, scores.total_words
        self.labels, self.tags = scores.labels, scores.tags
        self.size = scores.spans.shape[1]
        self.spans = scores.spans.nan_to_num(0.0, 0.0, 0.0)
        self.is_finite = (scores.spans.isfinite() | ~span_mask(scores.lengths, self.size)).all()
        self._scores = scores

    @property
    def crf(self) -> SpanCRF:
        """The distribution over bracketings."""
        return SpanCRF(self.spans, self.lengths, validate=False)

    def labels_at(self, cells: Tensor) -> Tensor:
        """The label scores of spans at flat chart cells, (m, labels); cell 0 is padding."""
        label_scores = self._scores.labels_at(Spans.at(cells, self.size))
        self.is_finite = self.is_finite & (label_scores.isfinite() | (cells == 0)[:, None]).all()
        return label_scores.nan_to_num(0.0, 0.0, 0.0)

    def candidate_labels(self, cells: Tensor) -> Tensor:
        """The label scores of candidates, (m, labels); the rows of negative cells are not used."""
        return self._scores.candidate_labels(cells)

    def require_tags(self) -> Tensor:
        """The tag scores, (b, n, tags)."""
        assert self.tags is not None, "the network predicts tags"
        return self.tags

    def best_tags(self) -> Tensor:
        """The best tag of every word of a batch, (words,)."""
        tags = self.require_tags()
        is_word = torch.arange(tags.shape[1], device=tags.device) < self.lengths[:, None]
        words = nonzero_static(is_word.flatten(), self.total_words)
        return tags.flatten(0, 1)[words].argmax(-1)

    def copy(self, tensors: list[Tensor], build: Callable[..., FlatTrees]) -> PendingTrees:
        """Starts copies of tensors to the host, and does not wait for them; `build` makes trees of the arrays."""
        copies, copied = _copy_to_host([*tensors, self.is_finite])

        def wait() -> FlatTrees:
            if copied is not None:
                copied.synchronize()
            *arrays, is_finite = (host.numpy() for host in copies)
            require_finite(bool(is_finite))
            return build(*arrays)

        return wait


def _copy_to_host(tensors: list[Tensor]) -> tuple[list[Tensor], torch.cuda.Event | None]:
    """Starts copies of tensors to the host, and an event that happens when they are complete; does not wait."""
    if not tensors[0].is_cuda:
        return tensors, None
    copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in tensors]
    for host, tensor in zip(copies, tensors, strict=True):
        host.copy_(tensor, non_blocking=True)
    return copies, torch.cuda.current_stream(tensors[0].device).record_event()


def with_vectors(trees: PendingTrees, scores: TensorScores) -> PendingTrees:
    """The same trees with the vectors of their words."""
    (vectors,), copied = _copy_to_host([scores.word_vectors().float()])

    def wait() -> FlatTrees:
        if copied is not None:
            copied.synchronize()
        return trees()._replace(vectors=vectors.numpy())

    return wait


@torch.no_grad()
def decode_on_device(scores: TensorScores, *, mbr: bool = True, expected_f1: ExpectedF1 | None = None) -> PendingTrees:
    """The best labeled tree of each sentence and the best tags; see `decode`."""
    checked, mbr = _CheckedScores(scores), mbr and scores.is_crf
    if expected_f1 is not None and mbr:
        if expected_f1.grammar is None or scores.tags is None:
            return _maximize_expected_f1(checked, _device_utility(expected_f1, scores.spans.device))
        if runs_kernels(scores.spans):
            return _search_candidates(checked, expected_f1, expected_f1.grammar)
        return lambda: decode(scores.to_host().check_finite(), expected_f1=expected_f1)
    crf = checked.crf
    if scores.labels is None or not scores.is_crf:
        return _label_trees(checked, crf.mbr() if mbr else crf.argmax)
    chart = scores.labels.amax(-1)
    if mbr:  # a labeled span is correct if both the span and its label are
        chart = crf.marginals * (chart - checked.spans).exp()
    return _label_trees(checked, SpanCRF(chart, scores.lengths, validate=False).argmax)


def label_trees(scores: TensorScores, trees: Tensor) -> PendingTrees:
    """Trees, given as boolean charts, with the best label of every span and the best tags."""
    return _label_trees(_CheckedScores(scores), trees)


def _label_trees(scores: _CheckedScores, trees: Tensor) -> PendingTrees:
    cells = _tree_cells(scores, trees)
    return _flat_trees(scores, cells, scores.labels_at(cells).argmax(-1))


def _tree_cells(scores: _CheckedScores, trees: Tensor) -> Tensor:
    return nonzero_static(trees.flatten(), 2 * scores.total_words - len(trees))


def _flat_trees(scores: _CheckedScores, cells: Tensor, labels: Tensor) -> PendingTrees:
    """The spans at `cells` with their labels, and the best tags."""
    tags = [] if scores.tags is None else [scores.best_tags()]
    return scores.copy([cells // scores.size % scores.size, cells % scores.size, labels, *tags], FlatTrees)


def _search_candidates(scores: _CheckedScores, expected_f1: ExpectedF1, grammar: LabelGrammar) -> PendingTrees:
    """Finds the candidates on the device; the host searches the best trees among them."""
    from treecrf.parser.decoding import triton_candidates

    candidates = triton_candidates.find_candidates(
        scores.crf.marginals,
        scores.lengths,
        scores.total_words,
        scores.candidate_labels,
        scores.require_tags(),
        _candidate_utility(expected_f1, scores.spans.device),
    )
    scores.is_finite = scores.is_finite & (candidates.is_finite[0] > 0)

    def search(lengths: Ints, counts: Ints, tags: Ints, odds: Floats, *rows: Any) -> FlatTrees:
        spans = int(counts.sum())
        cells, labels, utility, sentence_labels = rows
        return grammar.best_trees(
            CandidateSpans(
                lengths,
                *possible_tags(tags.astype(np.int64), odds, grammar),
                scores.size,
                cells[:spans],
                labels[:spans].astype(np.int64),
                utility[:spans],
                sentence_labels.astype(np.int64),
            )
        )

    return scores.copy([scores.lengths, *candidates[:-1]], search)


@lru_cache(maxsize=_UTILITIES)
def _candidate_utility(expected_f1: ExpectedF1, device: torch.device) -> "CandidateUtility":
    from treecrf.parser.decoding.triton_candidates import CandidateUtility

    common, counts = map(torch.from_numpy, (expected_f1.common, expected_f1.counts))
    return CandidateUtility(expected_f1.threshold, common.to(device).float(), counts.to(device).float())


class _DeviceUtility(NamedTuple):
    """The arrays of an ExpectedF1 on a device."""

    threshold: float
    constituents: Tensor  # (labels, names), float64
    counts: Tensor  # (labels,), float64
    empty_label: int

    def best_labels(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the highest utility and the label of each span; see `ExpectedF1.best_labels`."""
        expected = label_scores.double().softmax(-1) @ self.constituents
        utility = marginals[:, None] * (expected @ self.constituents.T) - self.threshold * self.counts
        best, labels = utility.max(-1)
        free_labels = label_scores.masked_fill(self.counts > 0, -torch.inf).argmax(-1)
        return best.to(label_scores), torch.where(self.counts[labels] > 0, labels, free_labels)


@lru_cache(maxsize=_UTILITIES)
def _device_utility(expected_f1: ExpectedF1, device: torch.device) -> _DeviceUtility:
    constituents, counts = map(torch.from_numpy, (expected_f1.constituents, expected_f1.counts))
    return _DeviceUtility(expected_f1.threshold, constituents.to(device), counts.to(device), expected_f1.empty_label)


def _maximize_expected_f1(scores: _CheckedScores, utility: _DeviceUtility) -> PendingTrees:
    """The trees of maximal utility; see `decode.py`."""
    marginals = scores.crf.marginals.flatten()
    # only spans more probable than the threshold can have a positive utility; marginals sum to 2n - 1
    max_candidates = int((2 * scores.total_words - len(scores.lengths)) / utility.threshold) + 1
    cells = nonzero_static(marginals > utility.threshold, max_candidates)
    utilities, labels = utility.best_labels(scores.labels_at(cells), marginals[cells])
    chart = float(TIE_BREAK) * marginals
    chart.index_add_(0, cells, utilities.masked_fill(cells == 0, 0.0))
    label_chart = torch.full(marginals.shape, utility.empty_label, device=cells.device)
    label_chart.index_copy_(0, cells, labels)
    trees = SpanCRF(chart.view_as(scores.spans), scores.lengths, validate=False).argmax
    cells = _tree_cells(scores, trees)
    return _flat_trees(scores, cells, label_chart[cells])
