"""Hypothesis strategies for batches of span scores."""

import torch
from hypothesis import strategies as st
from torch import Tensor

from treecrf.chart import torch_backend


@st.composite
def charts(
    draw: st.DrawFn, *, max_words: int, max_batch: int = 3, constrained: bool | None = None, right_scores: bool = False
):
    """Scores (float64) and lengths of a ragged batch; cells outside a sentence are NaN.

    If `constrained`, some spans score -inf, but each sentence has at least one allowed tree. With `right_scores`, half
    of the batches have additional scores of right children.
    """
    lengths = torch.tensor(draw(st.lists(st.integers(1, max_words), min_size=1, max_size=max_batch)))
    size = int(lengths.max()) + 1 + draw(st.integers(0, 1))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.5, 3.0, 30.0]))
    shape = (len(lengths), 2, size, size) if right_scores and draw(st.booleans()) else (len(lengths), size, size)
    scores = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    if draw(st.booleans()) if constrained is None else constrained:
        scores = forbid(scores, lengths, generator)
    return scores.where(_sentence_mask(scores, lengths), torch.nan), lengths


def _sentence_mask(scores: Tensor, lengths: Tensor) -> Tensor:
    mask = torch_backend.span_mask(lengths, scores.shape[-1])
    return mask if scores.dim() == 3 else mask[:, None]


def forbid(scores: Tensor, lengths: Tensor, generator: torch.Generator) -> Tensor:
    """Sets random spans to -inf, except the spans of one random tree per sentence."""
    is_forbidden = torch.rand(scores.shape, generator=generator) < 0.4
    for b, length in enumerate(lengths.tolist()):
        is_forbidden[b] &= ~random_tree(length, scores.shape[-1], generator)
    return scores.masked_fill(is_forbidden, -torch.inf)


def random_tree(length: int, size: int, generator: torch.Generator) -> Tensor:
    """A tree with random splits."""
    tree = torch.zeros(size, size, dtype=torch.bool)
    pending = [(0, length)]
    while pending:
        start, end = pending.pop()
        tree[start, end] = True
        if end > start + 1:
            split = int(torch.randint(start + 1, end, (), generator=generator))
            pending += [(start, split), (split, end)]
    return tree


def clean(scores: Tensor, lengths: Tensor) -> Tensor:
    """Replaces the NaN outside the sentences by zeros, as the enumeration reads all cells."""
    return scores.where(_sentence_mask(scores, lengths), 0.0)
