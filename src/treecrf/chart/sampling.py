"""Exact samples of trees from span scores."""

import torch
from torch import Tensor

from treecrf.chart import torch_backend


def sample_trees(scores: Tensor, lengths: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """`count` trees of each sentence, drawn by their probability: (count, b, n + 1, n + 1).

    Each step splits one pending span of every tree: a split's probability is that of its two sides within the span.
    """
    batch, size = scores.shape[:2]
    beta = torch_backend.by_fencepost(torch_backend.inside(scores.detach(), lengths)[0])
    trees = torch.zeros(count * batch, size, size, dtype=torch.bool, device=scores.device)
    tree = torch.arange(count * batch, device=scores.device)
    sentence = tree % batch
    # pending spans of each tree; spans of one word leave it at once, so it never holds more than n
    starts, ends = (torch.zeros(count * batch, size, dtype=torch.int64, device=scores.device) for _ in range(2))
    ends[:, 0] = lengths[sentence]
    pending = torch.ones_like(tree)
    fence = torch.arange(size, device=scores.device)
    for _ in range(2 * size - 3):
        top = (pending - 1).clamp(min=0)
        start, end = starts[tree, top], ends[tree, top]
        live = pending > 0
        trees[tree[live], start[live], end[live]] = True
        inner = (fence > start[:, None]) & (fence < end[:, None])
        logits = torch.where(inner, beta[sentence, start] + beta[sentence, :, end], -torch.inf)
        branches = live & (end - start > 1)
        weights = torch.where(branches[:, None], logits, 0.0).softmax(1)
        middle = torch.multinomial(weights, 1, generator=generator)[:, 0]
        # the right side takes the span's place, the left side goes on top
        starts[tree, top] = torch.where(branches, middle, start)
        above = (top + 1).clamp(max=size - 1)
        starts[tree, above] = torch.where(branches, start, starts[tree, above])
        ends[tree, above] = torch.where(branches, middle, ends[tree, above])
        pending = pending + torch.where(branches, 1, -1) * live
    return trees.view(count, batch, size, size)
