"""Triton kernels for the inference of BERT in half precision: attention, and the end of a block.

Sums, softmax and layer normalization are in float32.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

ROWS = 4  # rows that a program normalizes
MAX_BLOCK = 64  # pieces that a program of attention reads at once
LOG2_E = tl.constexpr(math.log2(math.e))


@triton.jit
def _load_rows(tensor, rows, length, stride, HEAD_SIZE: tl.constexpr, TERMS: tl.constexpr):
    """The vectors of one head at some rows, (rows, TERMS), with zeros after the end of a segment."""
    term = tl.arange(0, TERMS)
    mask = (rows < length)[:, None] & (term < HEAD_SIZE)[None, :]
    return tl.load(tensor + rows[:, None] * stride + term[None, :], mask=mask, other=0.0)


# softmax(query key' / sqrt(HEAD_SIZE) + distance scores) value for BLOCK pieces of one head of a segment, whose first
# `length` pieces count; the others get zeros. `distance_scores` are the scores of each head from the distance -FARTHEST
# to FARTHEST; there are none if FARTHEST is 0. Grid: (segments * heads, blocks of pieces).
@triton.jit(do_not_specialize=["width", "heads"])
def attention_kernel(
    query, key, value, distance_scores, lengths, out, width, heads, scale,
    HEAD_SIZE: tl.constexpr, TERMS: tl.constexpr, BLOCK: tl.constexpr, FARTHEST: tl.constexpr,
):  # fmt: skip
    segment, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    stride = heads * HEAD_SIZE
    first = segment.to(tl.int64) * width * stride + head * HEAD_SIZE
    length = tl.load(lengths + segment).to(tl.int32)
    row, term = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, TERMS)
    queries = _load_rows(query + first, row, length, stride, HEAD_SIZE, TERMS)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    context = tl.zeros((BLOCK, TERMS), tl.float32)
    for start in range(0, tl.where(tl.program_id(1) * BLOCK < length, length, 0), BLOCK):
        column = start + tl.arange(0, BLOCK)
        keys = _load_rows(key + first, column, length, stride, HEAD_SIZE, TERMS)
        values = _load_rows(value + first, column, length, stride, HEAD_SIZE, TERMS)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        if FARTHEST:
            distance = tl.minimum(tl.maximum(column[None, :] - row[:, None], -FARTHEST), FARTHEST)
            scores += tl.load(distance_scores + head * (2 * FARTHEST + 1) + FARTHEST + distance).to(tl.float32) * LOG2_E
        scores = tl.where((column < length)[None, :], scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - new_largest[:, None])
        decay = tl.exp2(largest - new_largest)
        total = total * decay + tl.sum(weights, 1)
        context = context * decay[:, None] + tl.dot(weights.to(tl.float16), values)
        largest = new_largest
    is_piece = row < length
    context = tl.where(is_piece[:, None], context / tl.where(is_piece, total, 1.0)[:, None], 0.0)
    mask = (row < width)[:, None] & (term < HEAD_SIZE)[None, :]
    tl.store(out + first + row[:, None] * stride + term[None, :], context.to(tl.float16), mask=mask)


def attention(
    query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, heads: int, distance_scores: Tensor | None = None
) -> Tensor:
    """The attended values (w, p, d) of segments whose first `lengths` (w,) pieces count, and zeros after them.

    `distance_scores` (heads, 2 * farthest + 1) are added to the scores of pairs of pieces.
    """
    segments, width, size = query.shape
    head_size = size // heads
    block = min(MAX_BLOCK, max(16, triton.next_power_of_2(width)))
    out = torch.empty_like(query)
    attention_kernel[(segments * heads, triton.cdiv(width, block))](
        query, key, value, distance_scores, lengths, out, width, heads, LOG2_E.value / math.sqrt(head_size),
        HEAD_SIZE=head_size, TERMS=max(16, triton.next_power_of_2(head_size)), BLOCK=block,
        FARTHEST=0 if distance_scores is None else distance_scores.shape[1] // 2, num_warps=4,
    )  # fmt: skip
    return out


# out = layer norm(x + residual) for ROWS rows of SIZE numbers.
@triton.jit(do_not_specialize=["count"])
def add_and_normalize_kernel(
    x, residual, weight, bias, out, count, epsilon, SIZE: tl.constexpr, TERMS: tl.constexpr, ROWS: tl.constexpr
):
    row, term = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS), tl.arange(0, TERMS)
    mask = (row < count)[:, None] & (term < SIZE)[None, :]
    at = row[:, None] * SIZE + term[None, :]
    total = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) + tl.load(residual + at, mask=mask, other=0.0)
    centered = tl.where(mask, total - (tl.sum(total, 1) / SIZE)[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, 1) / SIZE + epsilon)
    factor = tl.load(weight + term, mask=term < SIZE, other=0.0).to(tl.float32)
    offset = tl.load(bias + term, mask=term < SIZE, other=0.0).to(tl.float32)
    normalized = centered * scale[:, None] * factor[None, :] + offset[None, :]
    tl.store(out + at, normalized.to(tl.float16), mask=mask)


def add_and_normalize(x: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
    """The layer normalization of x + residual, (..., d)."""
    size = x.shape[-1]
    count, out = x.numel() // size, torch.empty_like(x)
    add_and_normalize_kernel[(triton.cdiv(count, ROWS),)](
        x, residual, norm.weight, norm.bias, out, count, norm.eps,
        SIZE=size, TERMS=triton.next_power_of_2(size), ROWS=ROWS, num_warps=4,
    )  # fmt: skip
    return out
