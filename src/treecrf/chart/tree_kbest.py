"""The k best labeled trees of each sentence, in descending order of score, on any device.

Every span keeps its k best trees, from short spans to long ones. A tree of a span is a label, or no constituent, over a
split with the tree of rank a on the left and of rank b on the right. Only pairs with (a + 1) (b + 1) <= k are needed: a
pair has at least (a + 1) (b + 1) - 1 better ones at the same split. Right children of two or more words have a label,
so each tree comes once (see `tree_crf.py`).
"""

from typing import NamedTuple

import torch
from torch import Tensor

_MAX_CANDIDATES = 1 << 26  # candidates that are compared at once


class RankedTrees(NamedTuple):
    """The k best trees of each sentence; after the last tree, the score is -inf and there are no labels."""

    scores: Tensor  # (k, b)
    labels: Tensor  # (k, b, n + 1, n + 1): the labels of constituents, and -1 elsewhere


def best_trees(labeled: Tensor, free: Tensor, lengths: Tensor, k: int) -> RankedTrees:
    """The k best trees for the log-potentials of labels (b, n + 1, n + 1, labels) and of no constituent."""
    size, pairs = labeled.shape[1], sum(k // (rank + 1) for rank in range(k))
    share = max(1, _MAX_CANDIDATES // max(1, size * size * pairs))
    chunks = [
        _Ranking(labeled[first : first + share], free[first : first + share], lengths[first : first + share], k).trees()
        for first in range(0, len(labeled), share)
    ]
    return RankedTrees(*(torch.cat(parts, 1) for parts in zip(*chunks, strict=True)))


class _Ranking:
    """The k best trees of every span of a batch; charts are (b, n + 1, n + 1, k) by fencepost."""

    def __init__(self, labeled: Tensor, free: Tensor, lengths: Tensor, k: int) -> None:
        self.lengths, self.k = lengths, k
        size, device = labeled.shape[1], labeled.device
        choices = min(k, labeled.shape[-1])
        values, self._labels = labeled.double().topk(choices, -1)
        self._labels = torch.cat([self._labels, torch.full_like(self._labels[..., :1], -1)], -1)
        values = torch.cat([values, free.double()[..., None]], -1)  # the last choice is no constituent
        shape = (*labeled.shape[:3], k)
        self._left, self._right = (torch.empty(shape, dtype=values.dtype, device=device) for _ in range(2))
        # choice and rank of the split, for a left child or the whole sentence, and for a right child
        self._left_choice, self._right_choice = (torch.zeros(shape, dtype=torch.int64, device=device) for _ in range(2))
        self._splits = torch.zeros(*shape, 3, dtype=torch.int64, device=device)  # the split, and the ranks of its sides
        ranks = torch.arange(k, device=device)
        first, second = (((ranks[:, None] + 1) * (ranks + 1)) <= k).nonzero(as_tuple=True)
        for width in range(1, size):
            starts = torch.arange(size - width, device=device)
            ends = starts + width
            if width == 1:
                best = torch.full((len(labeled), len(starts), k), -torch.inf, dtype=values.dtype, device=device)
                best[..., 0] = 0.0
            else:
                best = self._rank_splits(starts, width, first, second)
            choices_here = values[:, starts, ends]
            self._left[:, starts, ends], self._left_choice[:, starts, ends] = self._combine(choices_here, best)
            if width > 1:
                choices_here = choices_here.clone()
                choices_here[..., -1] = -torch.inf
            self._right[:, starts, ends], self._right_choice[:, starts, ends] = self._combine(choices_here, best)

    def _rank_splits(self, starts: Tensor, width: int, first: Tensor, second: Tensor) -> Tensor:
        """The k best pairs of trees under spans of one width, (b, starts, k)."""
        splits = starts[:, None] + torch.arange(1, width, device=starts.device)
        left = self._left[:, starts[:, None], splits][..., first]
        right = self._right[:, splits, starts[:, None] + width][..., second]
        candidates = (left + right).flatten(2)  # (b, starts, splits * pairs)
        best, index = candidates.topk(self.k, -1)
        pair = index % len(first)
        split = starts[:, None] + 1 + index // len(first)
        self._splits[:, starts, starts + width] = torch.stack((split, first[pair], second[pair]), -1)
        return best

    def _combine(self, choices: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
        """The k best sums of a choice and a pair of trees, and their numbers: choice * k + rank."""
        values, index = (choices[..., None] + best[..., None, :]).flatten(-2).topk(self.k, -1)
        return values, index

    def trees(self) -> RankedTrees:
        """Follows the choices from the whole sentences down, for all trees at once."""
        batch, size = self._left.shape[:2]
        device = self._left.device
        sentence = torch.arange(batch, device=device).repeat(self.k)
        rank = torch.arange(self.k, device=device).repeat_interleave(batch)
        tree = torch.arange(self.k * batch, device=device)
        scores = self._left[sentence, 0, self.lengths[sentence], rank]
        labels = torch.full((self.k * batch, size, size), -1, device=device)
        # a stack of spans for each tree: start, end, rank, and whether the span is a right child
        stack = torch.zeros(self.k * batch, size + 1, 4, dtype=torch.int64, device=device)
        stack[:, 0, 1], stack[:, 0, 2] = self.lengths[sentence], rank
        depth = (scores > -torch.inf).long()
        for _ in range(2 * size - 3):
            is_pending = depth > 0
            top = (depth - 1).clamp(min=0)
            start, end, place, is_right = stack[tree, top].unbind(-1)
            cell = (sentence, start, end, place)
            choice = torch.where(is_right > 0, self._right_choice[cell], self._left_choice[cell])
            pending = tree[is_pending], start[is_pending], end[is_pending]
            labels[pending] = self._labels[sentence, start, end, choice // self.k][is_pending]
            split, left, right = self._splits[sentence, start, end, choice % self.k].unbind(-1)
            is_branching = is_pending & (end - start > 1)
            # the right child replaces the span, the left child goes on top of it
            here, above = (tree[is_branching], top[is_branching]), (tree[is_branching], top[is_branching] + 1)
            stack[here] = torch.stack((split, end, right, torch.ones_like(end)), -1)[is_branching]
            stack[above] = torch.stack((start, split, left, torch.zeros_like(end)), -1)[is_branching]
            depth = depth + torch.where(is_branching, 1, -1) * is_pending
        shape = (self.k, batch, size, size)
        return RankedTrees(scores.view(self.k, batch), labels.view(shape))
