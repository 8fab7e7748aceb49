"""The k best trees of each sentence, in descending order of score, on any device.

Every span keeps its k best trees, from short spans to long ones. A tree of a span is a choice, such as a label, over a
split with the tree of rank a on the left and of rank b on the right. Only pairs with (a + 1) (b + 1) <= k are needed: a
pair has at least (a + 1) (b + 1) - 1 better ones at the same split. Some choices may be excluded for right children of
two or more words (see `tree_crf.py`).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart.torch_backend import span_mask

_MAX_CANDIDATES = 1 << 26  # candidates that are compared at once


class RankedTrees(NamedTuple):
    """The k best trees of each sentence; after the last tree, the score is -inf and there are no spans."""

    scores: Tensor  # (k, b)
    choices: Tensor  # (k, b, n + 1, n + 1): the choice of each span, and -1 elsewhere


Choices = tuple[Tensor, Tensor]  # the best choices of each span: values in descending order, and numbers


@torch.no_grad()
def best_trees(
    values: Tensor,
    lengths: Tensor,
    k: int,
    *,
    is_right_choice: Tensor | None = None,
    split_scores: Tensor | None = None,
) -> RankedTrees:
    """The k best trees for the values of choices, (b, n + 1, n + 1, choices), and scores of splits.

    `is_right_choice` (choices,) tells which choices right children of two or more words may have; by default all.
    """
    if k < 1:
        raise ValueError(f"k is {k}; expected at least 1")
    size, pairs = values.shape[1], sum(k // (rank + 1) for rank in range(k))
    share = max(1, _MAX_CANDIDATES // max(1, size * size * pairs))
    chunks = []
    for first in range(0, len(values), share):
        part = slice(first, first + share)
        left = right = _best_choices(values[part], lengths[part], k)
        if is_right_choice is not None:
            is_long = torch.ones(size, size, dtype=torch.bool, device=values.device).triu(2)[..., None]
            right = _best_choices(values[part].masked_fill(is_long & ~is_right_choice, -torch.inf), lengths[part], k)
        chunks.append(_Ranking(left, right, lengths[part], k, None if split_scores is None else split_scores[part]))
    return RankedTrees(*(torch.cat(parts, 1) for parts in zip(*(chunk.trees() for chunk in chunks), strict=True)))


def _best_choices(values: Tensor, lengths: Tensor, k: int) -> Choices:
    best, ids = values.double().topk(min(k, values.shape[-1]), -1)
    return best.masked_fill(~span_mask(lengths, values.shape[1])[..., None], -torch.inf), ids


class _Ranking:
    """The k best trees of every span of a batch; charts are (b, n + 1, n + 1, k) by fencepost."""

    def __init__(
        self, left: Choices, right: Choices, lengths: Tensor, k: int, split_scores: Tensor | None = None
    ) -> None:
        self.lengths, self.k, self._split_scores = lengths, k, split_scores
        (left_values, self._left_ids), (right_values, self._right_ids) = left, right
        size, device = left_values.shape[1], left_values.device
        shape = (*left_values.shape[:3], k)
        self._left, self._right = (left_values.new_full(shape, -torch.inf) for _ in range(2))
        # choice and rank of the split, for a left child or the whole sentence, and for a right child
        self._left_choice, self._right_choice = (torch.zeros(shape, dtype=torch.int64, device=device) for _ in range(2))
        self._splits = torch.zeros(*shape, 3, dtype=torch.int64, device=device)  # the split, and the ranks of its sides
        ranks = torch.arange(k, device=device)
        first, second = (((ranks[:, None] + 1) * (ranks + 1)) <= k).nonzero(as_tuple=True)
        for width in range(1, size):
            starts = torch.arange(size - width, device=device)
            ends = starts + width
            if width == 1:
                best = left_values.new_full((len(lengths), len(starts), k), -torch.inf)
                best[..., 0] = 0.0
            else:
                best = self._rank_splits(starts, width, first, second)
            charts = (left_values, self._left, self._left_choice), (right_values, self._right, self._right_choice)
            for values, chart, choice in charts:
                # the k best sums of a choice and a pair of trees, and their numbers: choice * k + rank
                sums = values[:, starts, ends, :, None] + best[..., None, :]
                chart[:, starts, ends], choice[:, starts, ends] = sums.flatten(-2).topk(k, -1)

    def _rank_splits(self, starts: Tensor, width: int, first: Tensor, second: Tensor) -> Tensor:
        """The k best pairs of trees, over all splits of the spans of one width, (b, starts, k)."""
        splits = starts[:, None] + torch.arange(1, width, device=starts.device)
        left = self._left[:, starts[:, None], splits]
        if self._split_scores is not None:
            scores = self._split_scores[:, starts[:, None], splits, starts[:, None] + width]
            is_sentence = (starts + width <= self.lengths[:, None])[..., None]
            left = left + scores.where(is_sentence, 0.0)[..., None]
        right = self._right[:, splits, starts[:, None] + width]
        candidates = (left[..., first] + right[..., second]).flatten(2)  # (b, starts, splits * pairs)
        best, index = candidates.topk(self.k, -1)
        pair = index % len(first)
        split = starts[:, None] + 1 + index // len(first)
        self._splits[:, starts, starts + width] = torch.stack((split, first[pair], second[pair]), -1)
        return best

    def trees(self) -> RankedTrees:
        """Follows the choices from the whole sentences down, for all trees at once."""
        batch, size = self._left.shape[:2]
        device = self._left.device
        sentence = torch.arange(batch, device=device).repeat(self.k)
        rank = torch.arange(self.k, device=device).repeat_interleave(batch)
        tree = torch.arange(self.k * batch, device=device)
        scores = self._left[sentence, 0, self.lengths[sentence], rank]
        chart = torch.full((self.k * batch, size, size), -1, device=device)
        # a stack of spans for each tree: start, end, rank, and whether the span is a right child
        stack = torch.zeros(self.k * batch, size + 1, 4, dtype=torch.int64, device=device)
        stack[:, 0, 1], stack[:, 0, 2] = self.lengths[sentence], rank
        depth = (scores > -torch.inf).long()
        left_choices, right_choices = self._left_choice.flatten(0, 2), self._right_choice.flatten(0, 2)
        left_ids, right_ids, splits = (part.flatten(0, 2) for part in (self._left_ids, self._right_ids, self._splits))
        for _ in range(2 * size - 3):
            is_pending = depth > 0
            top = (depth - 1).clamp(min=0)
            start, end, place, is_right = stack[tree, top].unbind(-1)
            span = (sentence * size + start) * size + end
            choice = torch.where(is_right > 0, right_choices[span, place], left_choices[span, place])
            number, pair = choice // self.k, choice % self.k
            ids = torch.where(is_right > 0, right_ids[span, number], left_ids[span, number])
            chart[tree[is_pending], start[is_pending], end[is_pending]] = ids[is_pending]
            split, left, right = splits[span, pair].unbind(-1)
            is_branching = is_pending & (end - start > 1)
            # the right child replaces the span, the left child goes on top of it
            here, above = (tree[is_branching], top[is_branching]), (tree[is_branching], top[is_branching] + 1)
            stack[here] = torch.stack((split, end, right, torch.ones_like(end)), -1)[is_branching]
            stack[above] = torch.stack((start, split, left, torch.zeros_like(end)), -1)[is_branching]
            depth = depth + torch.where(is_branching, 1, -1) * is_pending
        return RankedTrees(scores.view(self.k, batch), chart.view(self.k, batch, size, size))
