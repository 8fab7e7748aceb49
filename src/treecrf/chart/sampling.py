"""Exact samples of trees from the scores of spans, and of splits."""

import torch
from torch import Tensor

from treecrf.chart import torch_backend


@torch.no_grad()
def sample_trees(
    scores: Tensor,
    lengths: Tensor,
    count: int,
    generator: torch.Generator | None,
    split_scores: Tensor | None = None,
) -> Tensor:
    """`count` random trees of each sentence, (count, b, n + 1, n + 1).

    Each step splits one pending span (i, j) of every tree at k, with probability proportional to
    exp(beta(i, k) + beta(k, j)). Scores may have additional scores of right children, and splits have scores too.
    """
    batch, size = len(scores), scores.shape[-1]
    beta = torch_backend.by_fencepost(torch_backend.inside(scores, lengths, split_scores)[0])
    right_beta = beta + torch_backend.separate_right_scores(scores)[1]
    trees = torch.zeros(count * batch, size, size, dtype=torch.bool, device=scores.device)
    tree = torch.arange(count * batch, device=scores.device)
    sentence = tree % batch
    # a stack of pending spans per tree; single words leave it at once, so it never holds more than n spans
    starts, ends = (torch.zeros(count * batch, size, dtype=torch.int64, device=scores.device) for _ in range(2))
    ends[:, 0] = lengths[sentence]
    depth = torch.ones_like(tree)
    fence = torch.arange(size, device=scores.device)
    for _ in range(2 * size - 3):
        top = (depth - 1).clamp(min=0)
        start, end = starts[tree, top], ends[tree, top]
        is_pending = depth > 0
        trees[tree[is_pending], start[is_pending], end[is_pending]] = True
        is_split = (fence > start[:, None]) & (fence < end[:, None])
        logits = beta[sentence, start] + right_beta[sentence, :, end]
        if split_scores is not None:
            logits = logits + split_scores[sentence, start, :, end]
        is_branching = is_pending & (end - start > 1)
        weights = torch.where(is_branching[:, None], logits.where(is_split, -torch.inf), 0.0).softmax(1)
        split = torch.multinomial(weights, 1, generator=generator)[:, 0]
        # the right child replaces the span, the left child goes on top of it
        starts[tree, top] = torch.where(is_branching, split, start)
        above = (top + 1).clamp(max=size - 1)
        starts[tree, above] = torch.where(is_branching, start, starts[tree, above])
        ends[tree, above] = torch.where(is_branching, split, ends[tree, above])
        depth = depth + torch.where(is_branching, 1, -1) * is_pending
    return trees.view(count, batch, size, size)
