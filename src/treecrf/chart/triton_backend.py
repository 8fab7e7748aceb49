"""The speed: inside, outside and CKY as Triton kernels, and the functions that launch them.

Each kernel walks the widths of one sentence inside one launch. Work charts are (batch, width, start) in float64: the
spans of one width are contiguous, so are both operands of the split loop,

    beta(w, i) = s(i, i + w) + logsumexp_k  beta(k, i) + beta(w - k, i + k),

and sums of a thousand scores keep their last digits. Exponentials are taken in float32 (float64 for float64 scores)
after the subtraction that makes them safe. Scores may be of any floating type and any strides.

A sentence belongs to one program, or, where sentences are few and long, to several that share the spans of a width and
meet before the next; such a grid is launched cooperatively, so that all its programs are on the device at once.
"""

from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from treecrf.chart.grid_sync import INTERPRETED, meet

# one compilation serves every shape of batch
SHAPES = ["first", "last", "size", "stride_b", "stride_i", "stride_j"]


class Plan(NamedTuple):
    """How one launch cuts its work."""

    parts: int  # programs of a sentence
    spans: int  # spans that a program sums at once
    splits: int  # splits of each that it takes at once
    warps: int


def plan(scores: Tensor) -> Plan:
    """The cut that fills the device for this batch; thresholds measured on an H200."""
    batch, size = scores.shape[:2]
    if INTERPRETED:
        return Plan(parts=1 + size % 2, spans=16, splits=8, warps=4)
    processors = _processors(scores.device)
    crowded = batch > 2 * processors
    if size <= 49:
        return Plan(1, 32, 8, 2) if crowded else Plan(1, 32, 16, 4)
    if size <= 97:
        return Plan(1, 64, 8, 4) if crowded else Plan(1, 64, 16, 8)
    parts = processors // batch  # all on the device at once, as meeting needs
    if parts <= 1:
        return Plan(1, 128, 8, 8)
    if 16 * parts < size:
        return Plan(parts, 16, 64, 8)
    return Plan(min(parts, triton.cdiv(size, 8)), 8, 128, 8)


@cache
def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


@triton.jit
def _load_scores(scores, start, width, stride_i, stride_j, there):
    start = start.to(tl.int64)
    return tl.load(scores + start * stride_i + (start + width) * stride_j, mask=there, other=0.0).to(tl.float64)


@triton.jit
def _split_terms(chart, size, start, width, begin, there, SPLITS: tl.constexpr):
    """beta(k, i) + beta(w - k, i + k) for SPLITS values of k from `begin` on: (SPLITS, SPANS)."""
    k = begin + tl.arange(0, SPLITS)[:, None]
    both = there[None, :] & (k < width)
    left = tl.load(chart + k * size + start[None, :], mask=both, other=float("-inf"))
    right = tl.load(chart + (width - k) * size + (start[None, :] + k), mask=both, other=float("-inf"))
    return left + right


# inside: beta(w, i) = s(i, i + w) + logsumexp_k beta(k, i) + beta(w - k, i + k)
@triton.jit
def _inside(
    scores,
    chart,
    log_z,
    meeting,
    part,
    length,
    first,
    last,
    size,
    stride_i,
    stride_j,
    PARTS: tl.constexpr,
    SPANS: tl.constexpr,
    SPLITS: tl.constexpr,
    REAL: tl.constexpr,
):
    for width in range(first, tl.minimum(last, length + 1)):
        for block in range(part * SPANS, length - width + 1, PARTS * SPANS):
            start = block + tl.arange(0, SPANS)
            there = start <= length - width
            tops = tl.full((SPLITS, SPANS), float("-inf"), tl.float64)
            totals = tl.zeros((SPLITS, SPANS), REAL)
            for begin in range(1, width, SPLITS):
                terms = _split_terms(chart, size, start, width, begin, there, SPLITS)
                new_tops = tl.maximum(tops, terms)
                shifts = tl.where(new_tops == float("-inf"), 0.0, new_tops)
                totals = totals * tl.exp((tops - shifts).to(REAL)) + tl.exp((terms - shifts).to(REAL))
                tops = new_tops
            top = tl.max(tops, 0)
            shift = tl.where(top == float("-inf"), 0.0, top)
            total = tl.sum(totals * tl.exp((tops - shift[None, :]).to(REAL)), 0)
            below = tl.where(total == 0, float("-inf"), top + tl.log(tl.where(total == 0, 1.0, total)).to(tl.float64))
            beta = tl.where(width == 1, 0.0, below) + _load_scores(scores, start, width, stride_i, stride_j, there)
            tl.store(chart + width * size + start, beta, mask=there)
            tl.store(log_z + start, beta, mask=(start == 0) & (start + width == length))
        if width + 1 < last:
            meet(meeting, width, PARTS)


# outside: mu(w, i) = sum_k exp(beta(w, i) + beta(k, i + w) + above(w + k, i))
#                   + sum_k exp(beta(w, i) + beta(k, i - k) + above(w + k, i - k)),   above = log mu + s - beta
@triton.jit
def _outside(
    scores,
    chart,
    above,
    marginals,
    meeting,
    rounds,
    part,
    length,
    first,
    last,
    size,
    stride_i,
    stride_j,
    PARTS: tl.constexpr,
    SPANS: tl.constexpr,
    SPLITS: tl.constexpr,
    REAL: tl.constexpr,
):
    widest = tl.minimum(last - 1, length)
    for step in range(0, widest - first + 1):
        width = widest - step
        for block in range(part * SPANS, length - width + 1, PARTS * SPANS):
            start = block + tl.arange(0, SPANS)
            there = start <= length - width
            beta = tl.load(chart + width * size + start, mask=there, other=float("-inf"))
            totals = tl.zeros((SPLITS, SPANS), REAL)
            for begin in range(1, length - width + 1, SPLITS):
                k = begin + tl.arange(0, SPLITS)[:, None]
                row, parent = k * size, (width + k) * size
                end = start[None, :] + width
                rightward = there[None, :] & (end + k <= length)
                terms = tl.load(chart + row + end, mask=rightward, other=float("-inf"))
                terms += tl.load(above + parent + start[None, :], mask=rightward, other=float("-inf"))
                totals += tl.exp((terms + beta[None, :]).to(REAL))
                before = start[None, :] - k
                leftward = there[None, :] & (before >= 0)
                terms = tl.load(chart + row + before, mask=leftward, other=float("-inf"))
                terms += tl.load(above + parent + before, mask=leftward, other=float("-inf"))
                totals += tl.exp((terms + beta[None, :]).to(REAL))
            whole = (start == 0) & (start + width == length) & (beta > float("-inf"))
            mu = tl.where(whole, 1.0, tl.sum(totals, 0))
            below = beta - _load_scores(scores, start, width, stride_i, stride_j, there)
            log_mu = tl.log(tl.where(mu > 0, mu, 1.0)).to(tl.float64)
            tl.store(above + width * size + start, tl.where(mu > 0, log_mu - below, float("-inf")), mask=there)
            tl.store(marginals + start * size + start + width, mu.to(marginals.dtype.element_ty), mask=there)
        if width > first:
            meet(meeting, rounds + step + 1, PARTS)


@triton.jit
def _clear(marginals, part, length, size, PARTS: tl.constexpr, CELLS: tl.constexpr):
    """Put zeros where the outside pass puts nothing: cells that are no span of the sentence."""
    for block in range(part * CELLS, size * size, PARTS * CELLS):
        cell = block + tl.arange(0, CELLS)
        start, end = cell // size, cell % size
        nothing = (cell < size * size) & ((start >= end) | (end > length))
        tl.store(marginals + cell, tl.zeros((CELLS,), marginals.dtype.element_ty), mask=nothing)


# grid (batch, PARTS); a program owns every PARTS-th block of SPANS starts, for widths in [first, last): the inside pass
# from narrow to wide, the outside pass from wide to narrow, or one after the other
@triton.jit(do_not_specialize=SHAPES)
def inside_outside_kernel(
    scores,
    lengths,
    chart,
    log_z,
    above,
    marginals,
    meetings,
    first,
    last,
    size,
    stride_b,
    stride_i,
    stride_j,
    INSIDE: tl.constexpr,
    OUTSIDE: tl.constexpr,
    REAL: tl.constexpr,
    PARTS: tl.constexpr,
    SPANS: tl.constexpr,
    SPLITS: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    size = size.to(tl.int64)
    length = tl.load(lengths + sentence).to(tl.int32)
    scores += sentence * stride_b
    chart += sentence * size * size
    meetings += sentence
    rounds = 0
    if INSIDE:
        log_z += sentence
        _inside(
            scores, chart, log_z, meetings, part, length, first, last, size, stride_i, stride_j,
            PARTS, SPANS, SPLITS, REAL,
        )  # fmt: skip
    if OUTSIDE:
        above += sentence * size * size
        marginals += sentence * size * size
        if last == size:
            _clear(marginals, part, length, size, PARTS, 1024)
        if INSIDE:
            # of a sentence as long as the chart the last width had no meeting after it, of others it had
            rounds = length
            if length + 1 == last:
                meet(meetings, length, PARTS)
        _outside(
            scores, chart, above, marginals, meetings, rounds, part, length, first, last, size, stride_i, stride_j,
            PARTS, SPANS, SPLITS, REAL,
        )  # fmt: skip


# CKY: best(w, i) = s(i, i + w) + max_k best(k, i) + best(w - k, i + k), the leftmost k on a tie; grid as above
@triton.jit(do_not_specialize=SHAPES)
def cky_fwd_kernel(
    scores,
    lengths,
    chart,
    splits,
    meetings,
    first,
    last,
    size,
    stride_b,
    stride_i,
    stride_j,
    PARTS: tl.constexpr,
    SPANS: tl.constexpr,
    SPLITS: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    size = size.to(tl.int64)
    length = tl.load(lengths + sentence).to(tl.int32)
    scores += sentence * stride_b
    chart += sentence * size * size
    splits += sentence * size * size
    for width in range(first, tl.minimum(last, length + 1)):
        for block in range(part * SPANS, length - width + 1, PARTS * SPANS):
            start = block + tl.arange(0, SPANS)
            there = start <= length - width
            tops = tl.full((SPLITS, SPANS), float("-inf"), tl.float64)
            splits_of = tl.full((SPLITS, SPANS), 1, tl.int32)
            for begin in range(1, width, SPLITS):
                terms = _split_terms(chart, size, start, width, begin, there, SPLITS)
                better = terms > tops
                splits_of = tl.where(better, begin + tl.arange(0, SPLITS)[:, None], splits_of)
                tops = tl.where(better, terms, tops)
            top = tl.max(tops, 0)
            split = tl.min(tl.where(tops == top[None, :], splits_of, width), 0)
            below = tl.where(width == 1, 0.0, top)
            best = below + _load_scores(scores, start, width, stride_i, stride_j, there)
            tl.store(chart + width * size + start, best, mask=there)
            tl.store(splits + width * size + start, split, mask=there)
        if width + 1 < last:
            meet(meetings + sentence, width, PARTS)


# back-trace: a marked span marks its two children, widest spans first; one program a sentence
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
            there = start <= length - width
            marked = tl.load(trees + start * size + start + width, mask=there, other=0) != 0
            middle = start + tl.load(splits + width * size + start, mask=marked, other=1)
            tl.store(trees + start * size + middle, 1, mask=marked)
            tl.store(trees + middle * size + start + width, 1, mask=marked)
        tl.debug_barrier()


_READY: dict[tuple[Any, ...], Any] = {}  # compiled kernels, by all that they were compiled for


def _launch(
    kernel: Any, grid: tuple[int, int, int], arguments: tuple[Any, ...], cut: Plan, constants: tuple[Any, ...]
) -> None:
    """Run a kernel: at once if one is compiled for such arguments, else through Triton, at three times the host's cost.

    The tensors of this room are aligned; those of the caller have to be for what was compiled for aligned ones.
    """
    scores, lengths = arguments[:2]
    options = {"num_warps": cut.warps, "launch_cooperative_grid": cut.parts > 1}
    key = (kernel, scores.device, scores.dtype, cut, constants)
    with torch.cuda.device_of(scores):
        if INTERPRETED or (scores.data_ptr() | lengths.data_ptr()) % 16 or scores.numel() >= 2**31:
            kernel[grid](*arguments, *constants, **options)
        elif key in _READY:
            _READY[key][grid](*arguments, *constants)
        else:
            _READY[key] = kernel[grid](*arguments, *constants, **options)


def _launch_widths(
    kernel: Any,
    scores: Tensor,
    lengths: Tensor,
    work: tuple[Tensor, ...],
    constants: tuple[Any, ...] = (),
    *,
    descending: bool = False,
) -> None:
    """Run a kernel over all widths; in the interpreter, width by width where programs would have to meet."""
    batch, size = scores.shape[:2]
    cut = plan(scores)
    # a program that is alone with its sentence meets nobody
    meetings = torch.zeros(batch, dtype=torch.int32, device=scores.device) if cut.parts > 1 else lengths
    widths = [(1, size)]
    if INTERPRETED and cut.parts > 1:
        widths = [(width, width + 1) for width in range(1, size)]
    for first, last in reversed(widths) if descending else widths:
        arguments = (scores, lengths, *work, meetings, first, last, size, *scores.stride())
        _launch(kernel, (batch, cut.parts, 1), arguments, cut, (*constants, cut.parts, cut.spans, cut.splits))


def inside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """beta of every span, by width and start, and log Z of every sentence."""
    chart, log_z = _chart(scores), _log_z(scores)
    work = (chart, log_z, chart, chart)
    _launch_widths(inside_outside_kernel, scores, lengths, work, (True, False, _real(scores)))
    return chart, log_z


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginal of every span, given beta."""
    marginals = _marginals(scores)
    work = (chart, chart, _chart(scores), marginals)
    _launch_widths(inside_outside_kernel, scores, lengths, work, (False, True, _real(scores)), descending=True)
    return marginals


def inside_outside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """beta, log Z and marginals, in one launch."""
    if INTERPRETED and plan(scores).parts > 1:
        chart, log_z = inside(scores, lengths)
        return chart, log_z, outside(scores, lengths, chart)
    chart, log_z, marginals = _chart(scores), _log_z(scores), _marginals(scores)
    work = (chart, log_z, _chart(scores), marginals)
    _launch_widths(inside_outside_kernel, scores, lengths, work, (True, True, _real(scores)))
    return chart, log_z, marginals


def cky(scores: Tensor, lengths: Tensor) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    batch, size = scores.shape[:2]
    splits = torch.empty(scores.shape, dtype=torch.int32, device=scores.device)
    _launch_widths(cky_fwd_kernel, scores, lengths, (_chart(scores), splits))
    trees = torch.zeros(scores.shape, dtype=torch.uint8, device=scores.device)
    cut = Plan(parts=1, spans=32, splits=1, warps=1)
    _launch(trace_kernel, (batch, 1, 1), (splits, lengths, trees, size), cut, (cut.spans,))
    return trees.view(torch.bool)


def _chart(scores: Tensor) -> Tensor:
    return torch.empty(scores.shape, dtype=torch.float64, device=scores.device)


def _log_z(scores: Tensor) -> Tensor:
    return torch.empty(len(scores), dtype=torch.float64, device=scores.device)


def _marginals(scores: Tensor) -> Tensor:
    dtype = torch.float64 if scores.dtype == torch.float64 else torch.float32
    return torch.empty(scores.shape, dtype=dtype, device=scores.device)


def _real(scores: Tensor) -> Any:
    return tl.float64 if scores.dtype == torch.float64 else tl.float32
