"""Hypothesis strategies for batches of span scores."""

import torch
from hypothesis import strategies as st
from torch import Tensor

from treecrf.chart import naive, torch_backend


@st.composite
def charts(draw: st.DrawFn, *, max_words: int, max_batch: int = 3, constrained: bool | None = None):
    """Scores (float64) and lengths of a ragged batch; cells outside a sentence hold NaN.

    Where constrained, some spans score -inf, but at least one tree is left to each sentence.
    """
    lengths = torch.tensor(draw(st.lists(st.integers(1, max_words), min_size=1, max_size=max_batch)))
    size = int(lengths.max()) + 1 + draw(st.integers(0, 1))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.5, 3.0, 30.0]))
    scores = scale * torch.randn(len(lengths), size, size, generator=generator, dtype=torch.float64)
    if draw(st.booleans()) if constrained is None else constrained:
        scores = forbid(scores, lengths, generator)
    return scores.masked_fill(~torch_backend.within(lengths, size), torch.nan), lengths


def forbid(scores: Tensor, lengths: Tensor, generator: torch.Generator) -> Tensor:
    """Put -inf on random spans outside of one random tree of each sentence."""
    banned = torch.rand(scores.shape, generator=generator) < 0.4
    for b, length in enumerate(lengths.tolist()):
        banned[b] &= ~random_tree(length, scores.shape[-1], generator)
    return scores.masked_fill(banned, -torch.inf)


def random_tree(length: int, size: int, generator: torch.Generator) -> Tensor:
    """A tree by splits at random places."""
    tree = torch.zeros(size, size, dtype=torch.bool)
    pending = [(0, length)]
    while pending:
        start, end = pending.pop()
        tree[start, end] = True
        if end > start + 1:
            middle = int(torch.randint(start + 1, end, (), generator=generator))
            pending += [(start, middle), (middle, end)]
    return tree


def clean(scores: Tensor, lengths: Tensor) -> Tensor:
    """Zeros for the NaN outside the sentences, which enumeration would trip over."""
    return scores.where(torch_backend.within(lengths, scores.shape[-1]), 0.0)


def every_tree(scores: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """All trees of one sentence, best first, and their scores."""
    return naive.tree_scores(scores, length)
