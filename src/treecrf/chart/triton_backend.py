"""Inside, outside and CKY as Triton kernels, for GPUs.

Each kernel computes all widths of one sentence in one launch. Work charts are (batch, width, start) in float64: the
spans of one width are contiguous, and so are both operands of the split loop,

    beta(w, i) = s(i, i + w) + logsumexp_k  beta(k, i) + beta(w - k, i + k).

Scores are (batch, n + 1, n + 1), or (batch, 2, n + 1, n + 1) with additional scores r of right children. The
work chart then has two planes, beta and beta + r, and the second is read for right children. Marginals have two planes
too: of a span anywhere, and of a span as a right child.

float64 keeps sums of a thousand scores exact to their last digits. Exponentials are computed in float32 (float64 for
float64 scores), after the maximum has been subtracted. Scores may have any floating-point type and any strides.

One program computes a sentence. If sentences are few and long, several programs share the spans of each width, with a
barrier after each width; their grid is launched cooperatively, so that all of them are on the device at once.
"""

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from treecrf.chart.grid_sync import INTERPRETED, grid_barrier
from treecrf.chart.triton_labels import label_chart, label_weights
from treecrf.chart.triton_launch import LaunchConfig, launch

__all__ = ["cky", "inside", "inside_outside", "label_chart", "label_weights", "outside"]

# one compilation serves all shapes of batches
SHAPES = ["first_width", "end_width", "size", "stride_b", "stride_r", "stride_i", "stride_j"]


def launch_config(scores: Tensor) -> LaunchConfig:
    """The configuration that fills the device for this batch; the thresholds were measured on an H200."""
    batch, size = len(scores), scores.shape[-1]
    if INTERPRETED:
        return LaunchConfig(programs=1 + size % 2, spans=16, splits=8, warps=4)
    processors = _processors(scores.device)
    is_large_batch = batch > 2 * processors
    if size <= 49:
        return LaunchConfig(1, 32, 8, 2) if is_large_batch else LaunchConfig(1, 32, 16, 4)
    if size <= 97:
        return LaunchConfig(1, 64, 8, 4) if is_large_batch else LaunchConfig(1, 64, 16, 8)
    programs = processors // batch  # a barrier needs all programs on the device at once
    if programs <= 1:
        return LaunchConfig(1, 128, 8, 8)
    if 16 * programs < size:
        return LaunchConfig(programs, 16, 64, 8)
    return LaunchConfig(min(programs, triton.cdiv(size, 8)), 8, 128, 8)


@cache
def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


@triton.jit
def _load_scores(scores, start, width, stride_i, stride_j, is_span):
    start = start.to(tl.int64)
    return tl.load(scores + start * stride_i + (start + width) * stride_j, mask=is_span, other=0.0).to(tl.float64)


@triton.jit
def _split_terms(chart, right_chart, size, start, width, first_split, is_span, SPLITS: tl.constexpr):
    """beta(k, i) + right_beta(w - k, i + k) for SPLITS values of k from `first_split` on: (SPLITS, SPANS)."""
    k = first_split + tl.arange(0, SPLITS)[:, None]
    is_split = is_span[None, :] & (k < width)
    left = tl.load(chart + k * size + start[None, :], mask=is_split, other=float("-inf"))
    right = tl.load(right_chart + (width - k) * size + (start[None, :] + k), mask=is_split, other=float("-inf"))
    return left + right


# Inside: beta(w, i) = s(i, i + w) + logsumexp_k beta(k, i) + right_beta(w - k, i + k), from narrow to wide spans.
# Grid and ownership: see inside_outside_kernel. Each of SPLITS rows keeps its own running maximum and sum.
@triton.jit
def _inside(
    scores, chart, right_chart, log_z, counter, program, length,
    first_width, end_width, size, stride_r, stride_i, stride_j,
    PLANES: tl.constexpr, PROGRAMS: tl.constexpr, SPANS: tl.constexpr, SPLITS: tl.constexpr, EXP_DTYPE: tl.constexpr,
):  # fmt: skip
    for width in range(first_width, tl.minimum(end_width, length + 1)):
        for block in range(program * SPANS, length - width + 1, PROGRAMS * SPANS):
            start = block + tl.arange(0, SPANS)
            is_span = start <= length - width
            maxima = tl.full((SPLITS, SPANS), float("-inf"), tl.float64)
            sums = tl.zeros((SPLITS, SPANS), EXP_DTYPE)
            for first_split in range(1, width, SPLITS):
                terms = _split_terms(chart, right_chart, size, start, width, first_split, is_span, SPLITS)
                new_maxima = tl.maximum(maxima, terms)
                shifts = tl.where(new_maxima == float("-inf"), 0.0, new_maxima)
                sums = sums * tl.exp((maxima - shifts).to(EXP_DTYPE)) + tl.exp((terms - shifts).to(EXP_DTYPE))
                maxima = new_maxima
            maximum = tl.max(maxima, 0)
            shift = tl.where(maximum == float("-inf"), 0.0, maximum)
            total = tl.sum(sums * tl.exp((maxima - shift[None, :]).to(EXP_DTYPE)), 0)
            log_total = tl.log(tl.where(total == 0, 1.0, total)).to(tl.float64)
            log_sum = tl.where(total == 0, float("-inf"), maximum + log_total)
            beta = tl.where(width == 1, 0.0, log_sum) + _load_scores(scores, start, width, stride_i, stride_j, is_span)
            tl.store(chart + width * size + start, beta, mask=is_span)
            if PLANES == 2:
                right_score = _load_scores(scores + stride_r, start, width, stride_i, stride_j, is_span)
                tl.store(right_chart + width * size + start, beta + right_score, mask=is_span)
            tl.store(log_z + start, beta, mask=(start == 0) & (start + width == length))
        if width + 1 < end_width:
            grid_barrier(counter, width, PROGRAMS)


# Outside: mu(w, i) = sum_k exp(beta(w, i) + right_beta(k, i + w) + outer(w + k, i))
#                   + sum_k exp(right_beta(w, i) + beta(k, i - k) + outer(w + k, i - k)),   outer = log mu + s - beta,
# from wide to narrow spans; the first sum is over siblings on the right, the second over siblings on the left.
# Grid and ownership: see inside_outside_kernel. `barriers` counts the barriers before this pass.
@triton.jit
def _outside(
    scores, chart, right_chart, outer, marginals, counter, barriers, program, length,
    first_width, end_width, size, stride_i, stride_j,
    PLANES: tl.constexpr, PROGRAMS: tl.constexpr, SPANS: tl.constexpr, SPLITS: tl.constexpr, EXP_DTYPE: tl.constexpr,
):  # fmt: skip
    widest = tl.minimum(end_width - 1, length)
    for step in range(0, widest - first_width + 1):
        width = widest - step
        for block in range(program * SPANS, length - width + 1, PROGRAMS * SPANS):
            start = block + tl.arange(0, SPANS)
            is_span = start <= length - width
            beta = tl.load(chart + width * size + start, mask=is_span, other=float("-inf"))
            right_beta = beta
            if PLANES == 2:
                right_beta = tl.load(right_chart + width * size + start, mask=is_span, other=float("-inf"))
            sums = tl.zeros((SPLITS, SPANS), EXP_DTYPE)
            right_sums = tl.zeros((SPLITS, SPANS), EXP_DTYPE)
            for first_split in range(1, length - width + 1, SPLITS):
                k = first_split + tl.arange(0, SPLITS)[:, None]
                sibling_row, parent_row = k * size, (width + k) * size
                end = start[None, :] + width
                has_right = is_span[None, :] & (end + k <= length)
                terms = tl.load(right_chart + sibling_row + end, mask=has_right, other=float("-inf"))
                terms += tl.load(outer + parent_row + start[None, :], mask=has_right, other=float("-inf"))
                sums += tl.exp((terms + beta[None, :]).to(EXP_DTYPE))
                sibling_start = start[None, :] - k
                has_left = is_span[None, :] & (sibling_start >= 0)
                terms = tl.load(chart + sibling_row + sibling_start, mask=has_left, other=float("-inf"))
                terms += tl.load(outer + parent_row + sibling_start, mask=has_left, other=float("-inf"))
                if PLANES == 2:
                    right_sums += tl.exp((terms + right_beta[None, :]).to(EXP_DTYPE))
                else:
                    sums += tl.exp((terms + beta[None, :]).to(EXP_DTYPE))
            is_root = (start == 0) & (start + width == length) & (beta > float("-inf"))
            cell = start * size + start + width
            mu = tl.sum(sums, 0)
            if PLANES == 2:
                right_mu = tl.sum(right_sums, 0)
                mu += right_mu
                tl.store(marginals + size * size + cell, right_mu.to(marginals.dtype.element_ty), mask=is_span)
            mu = tl.where(is_root, 1.0, mu)
            log_sum = beta - _load_scores(scores, start, width, stride_i, stride_j, is_span)
            log_mu = tl.log(tl.where(mu > 0, mu, 1.0)).to(tl.float64)
            tl.store(outer + width * size + start, tl.where(mu > 0, log_mu - log_sum, float("-inf")), mask=is_span)
            tl.store(marginals + cell, mu.to(marginals.dtype.element_ty), mask=is_span)
        if width > first_width:
            grid_barrier(counter, barriers + step + 1, PROGRAMS)


@triton.jit
def _zero_padding(marginals, program, length, size, PROGRAMS: tl.constexpr, CELLS: tl.constexpr):
    """Stores zeros in the cells that are not spans of the sentence; the outside pass does not write them."""
    for block in range(program * CELLS, size * size, PROGRAMS * CELLS):
        cell = block + tl.arange(0, CELLS)
        start, end = cell // size, cell % size
        is_padding = (cell < size * size) & ((start >= end) | (end > length))
        tl.store(marginals + cell, tl.zeros((CELLS,), marginals.dtype.element_ty), mask=is_padding)


# The inside pass, the outside pass, or both in this order, for widths in [first_width, end_width).
# Grid (batch, PROGRAMS): a program owns every PROGRAMS-th block of SPANS starts of each width of one sentence.
@triton.jit(do_not_specialize=SHAPES)
def inside_outside_kernel(
    scores, lengths, chart, log_z, outer, marginals, counters,
    first_width, end_width, size, stride_b, stride_r, stride_i, stride_j,
    INSIDE: tl.constexpr, OUTSIDE: tl.constexpr, EXP_DTYPE: tl.constexpr,
    PLANES: tl.constexpr, PROGRAMS: tl.constexpr, SPANS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    program = tl.program_id(1)
    size = size.to(tl.int64)
    length = tl.load(lengths + sentence).to(tl.int32)
    scores += sentence * stride_b
    chart += sentence * PLANES * size * size
    right_chart = chart + (PLANES - 1) * size * size
    counters += sentence
    barriers = 0
    if INSIDE:
        log_z += sentence
        _inside(
            scores, chart, right_chart, log_z, counters, program, length, first_width, end_width, size, stride_r,
            stride_i, stride_j, PLANES, PROGRAMS, SPANS, SPLITS, EXP_DTYPE,
        )  # fmt: skip
    if OUTSIDE:
        outer += sentence * size * size
        marginals += sentence * PLANES * size * size
        if end_width == size:
            _zero_padding(marginals, program, length, size, PROGRAMS, 1024)
            if PLANES == 2:
                _zero_padding(marginals + size * size, program, length, size, PROGRAMS, 1024)
        if INSIDE:
            # the inside pass ended without a barrier if the sentence is as long as the chart
            barriers = length
            if length + 1 == end_width:
                grid_barrier(counters, length, PROGRAMS)
        _outside(
            scores, chart, right_chart, outer, marginals, counters, barriers, program, length, first_width, end_width,
            size, stride_i, stride_j, PLANES, PROGRAMS, SPANS, SPLITS, EXP_DTYPE,
        )  # fmt: skip


# CKY: best(w, i) = s(i, i + w) + max_k best(k, i) + right_best(w - k, i + k), and the smallest k with the maximum.
# Grid (batch, PROGRAMS): a program owns every PROGRAMS-th block of SPANS starts of each width of one sentence.
@triton.jit(do_not_specialize=SHAPES)
def cky_fwd_kernel(
    scores, lengths, chart, splits, counters,
    first_width, end_width, size, stride_b, stride_r, stride_i, stride_j,
    PLANES: tl.constexpr, PROGRAMS: tl.constexpr, SPANS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    program = tl.program_id(1)
    size = size.to(tl.int64)
    length = tl.load(lengths + sentence).to(tl.int32)
    scores += sentence * stride_b
    chart += sentence * PLANES * size * size
    right_chart = chart + (PLANES - 1) * size * size
    splits += sentence * size * size
    for width in range(first_width, tl.minimum(end_width, length + 1)):
        for block in range(program * SPANS, length - width + 1, PROGRAMS * SPANS):
            start = block + tl.arange(0, SPANS)
            is_span = start <= length - width
            maxima = tl.full((SPLITS, SPANS), float("-inf"), tl.float64)
            best_splits = tl.full((SPLITS, SPANS), 1, tl.int32)
            for first_split in range(1, width, SPLITS):
                terms = _split_terms(chart, right_chart, size, start, width, first_split, is_span, SPLITS)
                is_better = terms > maxima
                best_splits = tl.where(is_better, first_split + tl.arange(0, SPLITS)[:, None], best_splits)
                maxima = tl.where(is_better, terms, maxima)
            maximum = tl.max(maxima, 0)
            split = tl.min(tl.where(maxima == maximum[None, :], best_splits, width), 0)
            children = tl.where(width == 1, 0.0, maximum)
            best = children + _load_scores(scores, start, width, stride_i, stride_j, is_span)
            tl.store(chart + width * size + start, best, mask=is_span)
            if PLANES == 2:
                right_score = _load_scores(scores + stride_r, start, width, stride_i, stride_j, is_span)
                tl.store(right_chart + width * size + start, best + right_score, mask=is_span)
            tl.store(splits + width * size + start, split, mask=is_span)
        if width + 1 < end_width:
            grid_barrier(counters + sentence, width, PROGRAMS)


# Backtrace: a marked span marks its two children, from wide to narrow spans. Grid (batch,): a program owns a sentence.
@triton.jit(do_not_specialize=["size"])
def trace_kernel(splits, lengths, trees, size, SPANS: tl.constexpr):
    sentence = tl.program_id(0).to(tl.int64)
    size = size.to(tl.int64)
    length = tl.load(lengths + sentence).to(tl.int32)
    splits += sentence * size * size
    trees += sentence * size * size
    tl.store(trees + length, 1)
    tl.debug_barrier()
    for step in range(0, length - 1):
        width = length - step
        for block in range(0, length - width + 1, SPANS):
            start = block + tl.arange(0, SPANS)
            is_span = start <= length - width
            is_marked = tl.load(trees + start * size + start + width, mask=is_span, other=0) != 0
            middle = start + tl.load(splits + width * size + start, mask=is_marked, other=1)
            tl.store(trees + start * size + middle, 1, mask=is_marked)
            tl.store(trees + middle * size + start + width, 1, mask=is_marked)
        tl.debug_barrier()


def _launch_widths(
    kernel: Any,
    scores: Tensor,
    lengths: Tensor,
    work: tuple[Tensor, ...],
    constants: tuple[Any, ...] = (),
    *,
    descending: bool = False,
) -> None:
    """Launches a kernel over all widths; in the interpreter, once per width if there would be barriers."""
    batch, size = len(scores), scores.shape[-1]
    config = launch_config(scores)
    # a single program per sentence has no barriers; `lengths` stands in for the unused counters
    counters = torch.zeros(batch, dtype=torch.int32, device=scores.device) if config.programs > 1 else lengths
    widths = [(1, size)]
    if INTERPRETED and config.programs > 1:
        widths = [(width, width + 1) for width in range(1, size)]
    for first_width, end_width in reversed(widths) if descending else widths:
        strides = scores.stride() if scores.dim() == 4 else (scores.stride(0), 0, *scores.stride()[1:])
        arguments = (scores, lengths, *work, counters, first_width, end_width, size, *strides)
        sizes = 1 if scores.dim() == 3 else 2, config.programs, config.spans, config.splits
        launch(kernel, (batch, config.programs, 1), arguments, config, (*constants, *sizes))


def inside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """beta by width and start, and log Z of every sentence."""
    chart, log_z = _chart(scores), scores.new_empty(len(scores), dtype=torch.float64)
    work = (chart, log_z, chart, chart)
    _launch_widths(inside_outside_kernel, scores, lengths, work, (True, False, _exp_dtype(scores)))
    return chart, log_z


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginals, shaped like scores, for beta by width and start."""
    marginals = _marginals(scores)
    work = (chart, chart, _chart(scores), marginals)
    _launch_widths(inside_outside_kernel, scores, lengths, work, (False, True, _exp_dtype(scores)), descending=True)
    return marginals


def inside_outside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """beta, log Z and marginals, in one launch."""
    if INTERPRETED and launch_config(scores).programs > 1:
        chart, log_z = inside(scores, lengths)
        return chart, log_z, outside(scores, lengths, chart)
    chart, log_z, marginals = _chart(scores), scores.new_empty(len(scores), dtype=torch.float64), _marginals(scores)
    work = (chart, log_z, _chart(scores), marginals)
    _launch_widths(inside_outside_kernel, scores, lengths, work, (True, True, _exp_dtype(scores)))
    return chart, log_z, marginals


def cky(scores: Tensor, lengths: Tensor) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    batch, size = len(scores), scores.shape[-1]
    splits = torch.empty(batch, size, size, dtype=torch.int32, device=scores.device)
    _launch_widths(cky_fwd_kernel, scores, lengths, (_chart(scores), splits))
    trees = torch.zeros(splits.shape, dtype=torch.uint8, device=scores.device)
    config = LaunchConfig(programs=1, spans=32, splits=1, warps=1)
    launch(trace_kernel, (batch, 1, 1), (splits, lengths, trees, size), config, (config.spans,))
    return trees.view(torch.bool)


def _chart(scores: Tensor) -> Tensor:
    return scores.new_empty(scores.shape, dtype=torch.float64)


def _marginals(scores: Tensor) -> Tensor:
    return scores.new_empty(scores.shape, dtype=torch.promote_types(scores.dtype, torch.float32))


def _exp_dtype(scores: Tensor) -> Any:
    return tl.float64 if scores.dtype == torch.float64 else tl.float32
