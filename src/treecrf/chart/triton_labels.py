"""Sums over the labels of each span, and their gradients, as Triton kernels; `torch_backend.py` defines them.

The sums over constituents, free labels and all labels, the scores of the chart, and the weights each take one launch,
which reads the scores of labels once. A program computes CELLS cells with all their labels, LABELS lanes each. Sums and
charts are in float64; exponentials are computed in float32 (float64 for float64 scores).
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from treecrf.chart.triton_launch import LaunchConfig, launch

SHAPES = ["cell_count", "size", "labels"]  # one compilation serves all shapes of batches
LANES = 2048  # scores that a program reads at once


@triton.jit
def _cells(lengths, cell_count, size, CELLS: tl.constexpr):
    """The cells of a program, their sentences and places in a chart, and whether they are spans, and long ones."""
    cell = tl.program_id(0).to(tl.int64) * CELLS + tl.arange(0, CELLS)
    sentence, place = cell // (size * size), cell % (size * size)
    start, end = place // size, place % size
    length = tl.load(lengths + sentence, mask=cell < cell_count, other=0)
    is_span = (cell < cell_count) & (start < end) & (end <= length)
    return cell, sentence, place, is_span, is_span & (end > start + 1)


@triton.jit
def _finite(x):
    """x, and 0 in place of -inf, so that -inf less this number is not NaN."""
    return tl.where(x == float("-inf"), 0.0, x)


@triton.jit
def _log_sum(x, is_used, EXP_DTYPE: tl.constexpr):
    """logsumexp over the used labels of each cell, (CELLS,), in float64; -inf without labels."""
    x = tl.where(is_used, x, float("-inf"))
    maximum = tl.max(x, 1)
    shift = _finite(maximum)
    total = tl.sum(tl.exp(x - shift[:, None]), 1).to(tl.float64)
    return tl.where(total == 0, float("-inf"), shift.to(tl.float64) + tl.log(tl.where(total == 0, 1.0, total)))


@triton.jit
def _log_add(a, b):
    """log(exp(a) + exp(b)); -inf if both are."""
    maximum = tl.maximum(a, b)
    shift = _finite(maximum)
    total = maximum + tl.log(tl.where(maximum == float("-inf"), 1.0, tl.exp(a - shift) + tl.exp(b - shift)))
    return tl.where((a != a) | (b != b), a + b, total)


# sums: logsumexp over constituents, free labels and all labels. chart: offset (+ all labels with ADDS_LABELS), and the
# additional score of a right child, constituents - all labels. Grid: blocks of CELLS cells.
@triton.jit(do_not_specialize=SHAPES)
def label_chart_kernel(
    scores, lengths, is_constituent, offsets, chart, sums, cell_count, size, labels,
    ADDS_LABELS: tl.constexpr, CELLS: tl.constexpr, LABELS: tl.constexpr, EXP_DTYPE: tl.constexpr,
):  # fmt: skip
    size = size.to(tl.int64)
    cell, sentence, place, is_span, is_long = _cells(lengths, cell_count, size, CELLS)
    label = tl.arange(0, LABELS)
    is_label = is_span[:, None] & (label < labels)[None, :]
    x = tl.load(scores + cell[:, None] * labels + label[None, :], mask=is_label, other=float("-inf")).to(EXP_DTYPE)
    group = tl.load(is_constituent + label, mask=label < labels, other=0)[None, :] != 0
    constituents = _log_sum(x, is_label & group, EXP_DTYPE)
    free = _log_sum(x, is_label & (group == 0), EXP_DTYPE)
    total = _log_add(constituents, free)
    is_cell = cell < cell_count
    first_sum = sums + 3 * sentence * size * size + place
    tl.store(first_sum, tl.where(is_span, constituents, 0.0), mask=is_cell)
    tl.store(first_sum + size * size, tl.where(is_span, free, 0.0), mask=is_cell)
    tl.store(first_sum + 2 * size * size, tl.where(is_span, total, 0.0), mask=is_cell)
    score = tl.load(offsets + cell, mask=is_cell, other=0.0)
    if ADDS_LABELS:
        score = tl.where(is_span, score + total, score)
    first_score = chart + 2 * sentence * size * size + place
    has_right_score = is_long & (total != float("-inf"))
    tl.store(first_score, score, mask=is_cell)
    tl.store(first_score + size * size, tl.where(has_right_score, constituents - _finite(total), 0.0), mask=is_cell)


@triton.jit
def _share(group_sum, total):
    """exp(group_sum - total), and 0 where the total is -inf."""
    return tl.where(total == float("-inf"), 0.0, tl.exp(group_sum - _finite(total)))


# weight = exp(score - sum of the group) * factor of the group, 0 outside the sentences; see label_factors in
# torch_backend.py. Grid: blocks of CELLS cells.
@triton.jit(do_not_specialize=SHAPES)
def label_weights_kernel(
    scores, lengths, is_constituent, chart, sums, sum_weights, weights, cell_count, size, labels,
    ADDS_LABELS: tl.constexpr, WEIGHS_FREE: tl.constexpr, WEIGHS_SUMS: tl.constexpr,
    CELLS: tl.constexpr, LABELS: tl.constexpr, EXP_DTYPE: tl.constexpr,
):  # fmt: skip
    size = size.to(tl.int64)
    cell, sentence, place, is_span, is_long = _cells(lengths, cell_count, size, CELLS)
    plane = size * size
    first_sum = sums + 3 * sentence * plane + place
    constituents = tl.load(first_sum, mask=is_span, other=0.0)
    free = tl.load(first_sum + plane, mask=is_span, other=0.0)
    total = tl.load(first_sum + 2 * plane, mask=is_span, other=0.0)
    constituent_factor = tl.load(chart + 2 * sentence * plane + plane + place, mask=is_long, other=0.0)
    factor = -constituent_factor
    free_factor = tl.zeros_like(factor)
    if ADDS_LABELS:
        factor += tl.load(chart + 2 * sentence * plane + place, mask=is_span, other=0.0)
    if WEIGHS_SUMS:
        first_weight = sum_weights + 3 * sentence * plane + place
        constituent_factor += tl.load(first_weight, mask=is_span, other=0.0)
        free_factor += tl.load(first_weight + plane, mask=is_span, other=0.0)
        factor += tl.load(first_weight + 2 * plane, mask=is_span, other=0.0)
    constituent_factor += factor * _share(constituents, total)
    free_factor += factor * _share(free, total)

    label = tl.arange(0, LABELS)
    is_label = is_span[:, None] & (label < labels)[None, :]
    places = cell[:, None] * labels + label[None, :]
    x = tl.load(scores + places, mask=is_label, other=0.0).to(tl.float64)
    group = tl.load(is_constituent + label, mask=label < labels, other=0)[None, :] != 0
    shift = tl.where(group, constituents[:, None], free[:, None])
    value = tl.where(group, constituent_factor[:, None], free_factor[:, None]).to(EXP_DTYPE)
    is_used = is_label & (shift != float("-inf"))
    if not WEIGHS_FREE:
        is_used = is_used & group
    weight = tl.exp((x - tl.where(is_used, shift, 0.0)).to(EXP_DTYPE)) * value
    is_place = (cell < cell_count)[:, None] & (label < labels)[None, :]
    tl.store(weights + places, tl.where(is_used, weight, 0.0), mask=is_place)


def label_chart(
    offsets: Tensor, scores: Tensor, lengths: Tensor, is_constituent: Tensor, adds_labels: bool
) -> tuple[Tensor, Tensor]:
    """The chart (b, 2, n + 1, n + 1) of scores of labels, and their sums (b, 3, n + 1, n + 1); see `labels.py`."""
    batch, size, _, _ = scores.shape
    chart, sums = (scores.new_empty(batch, count, size, size, dtype=torch.float64) for count in (2, 3))
    work = offsets.double().contiguous(), chart, sums
    _launch_cells(label_chart_kernel, scores, lengths, is_constituent, work, (adds_labels,))
    return chart, sums


def label_weights(
    scores: Tensor,
    sums: Tensor,
    chart: Tensor,
    sum_weights: Tensor | None,
    lengths: Tensor,
    is_constituent: Tensor,
    adds_labels: bool,
    weighs_free: bool,
) -> Tensor:
    """The gradient of the chart and of the sums with respect to the scores of labels; see `labels.py`."""
    weights = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    charts = [part.double().contiguous() for part in (chart, sums, sums if sum_weights is None else sum_weights)]
    flags = adds_labels, weighs_free, sum_weights is not None
    _launch_cells(label_weights_kernel, scores, lengths, is_constituent, (*charts, weights), flags)
    return weights


def _launch_cells(
    kernel: Any,
    scores: Tensor,
    lengths: Tensor,
    is_constituent: Tensor,
    work: tuple[Tensor, ...],
    flags: tuple[bool, ...],
) -> None:
    batch, size, _, labels = scores.shape
    lanes = triton.next_power_of_2(labels)
    cells = max(1, LANES // lanes)
    arguments = scores.contiguous(), lengths.contiguous(), is_constituent.contiguous().view(torch.uint8), *work
    count, exp_dtype = batch * size * size, tl.float64 if scores.dtype == torch.float64 else tl.float32
    config = LaunchConfig(programs=1, spans=cells, splits=1, warps=4)
    launch(
        kernel,
        (triton.cdiv(count, cells), 1, 1),
        (*arguments, count, size, labels),
        config,
        (*flags, cells, lanes, exp_dtype),
    )
