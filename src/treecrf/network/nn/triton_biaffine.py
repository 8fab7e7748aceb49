"""A Triton kernel for the biaffine scores of labels at single spans, in half precision.

The vectors of boundaries have half precision. For each unit of the left vectors, the right vectors are multiplied by a
matrix on tensor cores; the products are multiplied by the left unit and added up in float32.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor, nn

SPANS = 128  # spans that a program scores


# Scores of SPANS spans and LABELS labels. `weights` has a matrix (TERMS, labels) for each unit of the left vectors, one
# for right vectors alone and one for left vectors alone. Negative cells are no spans. Grid: blocks of spans, of labels.
@triton.jit(do_not_specialize=["count", "size"])
def label_scores_kernel(
    left, right, cells, weights, bias, scores, count, size, labels,
    WIDTH: tl.constexpr, TERMS: tl.constexpr, PADDED: tl.constexpr, SPANS: tl.constexpr, LABELS: tl.constexpr,
):  # fmt: skip
    span, label = tl.program_id(0) * SPANS + tl.arange(0, SPANS), tl.program_id(1) * LABELS + tl.arange(0, LABELS)
    cell = tl.load(cells + span, mask=span < count, other=-1)
    if tl.max(cell, 0) < 0:
        return
    term = tl.arange(0, TERMS)
    mask = (cell >= 0)[:, None] & (term < WIDTH)[None, :]
    first_left = cell // size * WIDTH
    first_right = (cell // size - cell // size % size + cell % size) * WIDTH
    rights = tl.load(right + first_right[:, None] + term[None, :], mask=mask, other=0.0)
    lefts = tl.load(left + first_left[:, None] + term[None, :], mask=mask, other=0.0)
    at_weight = weights + term[:, None] * PADDED + label[None, :]
    total = tl.dot(rights, tl.load(at_weight + WIDTH * TERMS * PADDED))
    total = tl.dot(lefts, tl.load(at_weight + (WIDTH + 1) * TERMS * PADDED), total)
    for unit in range(WIDTH):
        factor = tl.load(left + first_left + unit, mask=cell >= 0, other=0.0).to(tl.float32)
        total += factor[:, None] * tl.dot(rights, tl.load(at_weight + unit * TERMS * PADDED))
    total += tl.load(bias + label)[None, :]
    at_score = scores + span.to(tl.int64)[:, None] * labels + label[None, :]
    tl.store(at_score, total, mask=(span < count)[:, None] & (label < labels)[None, :])


class PackedWeights(NamedTuple):
    """The weights of a biaffine scorer as the kernel reads them, padded to whole blocks."""

    matrices: Tensor  # (width + 2, terms, labels) in half precision
    bias: Tensor  # (labels,)
    labels: int  # without padding


def pack_weights(scorer: nn.Module) -> PackedWeights:
    """The weights of a `Biaffine`."""
    weights = {name: weight.detach() for name, weight in scorer.named_parameters(recurse=False)}
    labels, width, _ = weights["weight"].shape
    nothing = weights["weight_right"].new_zeros(labels, width)
    linear = torch.stack([weights["weight_right"], weights.get("weight_left", nothing)], 1)
    matrices = torch.cat([weights["weight"], linear], 1).permute(1, 2, 0)  # (width + 2, width, labels)
    terms = max(16, triton.next_power_of_2(width))
    padding = -labels % _label_block(terms)
    matrices = F.pad(matrices, (0, padding, 0, terms - width)).half().contiguous()
    return PackedWeights(matrices, F.pad(weights.get("bias", nothing[:, 0]), (0, padding)).float(), labels)


def _label_block(terms: int) -> int:
    return 64 if terms <= 64 else 128


def label_scores(left: Tensor, right: Tensor, cells: Tensor, packed: PackedWeights) -> Tensor:
    """Scores (m, labels) in float32 of the spans at m chart cells, for boundary vectors (b, n + 1, d).

    The rows of negative cells are not computed.
    """
    _, terms, padded = packed.matrices.shape
    scores = torch.empty(len(cells), packed.labels, device=left.device)
    block, size, width = _label_block(terms), *left.shape[1:]
    tensors = (left.contiguous(), right.contiguous(), cells, packed.matrices, packed.bias, scores)
    label_scores_kernel[(triton.cdiv(len(cells), SPANS), padded // block)](
        *tensors, len(cells), size, packed.labels,
        WIDTH=width, TERMS=terms, PADDED=padded, SPANS=SPANS, LABELS=block, num_warps=block // 16,
    )  # fmt: skip
    return scores
