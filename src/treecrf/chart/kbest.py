"""The k best trees of each sentence, in descending order of score; the search runs on the CPU.

Every span keeps its k best trees, from short spans to long ones. A tree of a span is a choice, such as a label, over a
split with the tree of rank a on the left and of rank b on the right. Only pairs with (a + 1) (b + 1) <= k are needed: a
pair has at least (a + 1) (b + 1) - 1 better ones at the same split. Some choices may be excluded for right children of
two or more words (see `tree_crf.py`).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from treecrf.chart import cpu_backend, dispatch, numpy_backend


class RankedTrees(NamedTuple):
    """The k best trees of each sentence; after the last tree, the score is -inf and there are no spans."""

    scores: Tensor  # (k, b)
    choices: Tensor  # (k, b, n + 1, n + 1): the choice of each span, and -1 elsewhere


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
    backend = cpu_backend if cpu_backend.available else numpy_backend
    tensors = (
        values.detach().double(),
        lengths,
        is_right_choice,
        None if split_scores is None else split_scores.detach().double(),
    )
    try:
        array, sentence_lengths, *options = (None if tensor is None else tensor.cpu().numpy() for tensor in tensors)
    except RuntimeError as error:
        raise RuntimeError(f"torch.func does not reach the k best trees; {dispatch.WITHOUT_VMAP}") from error
    assert array is not None and sentence_lengths is not None
    scores, choices = backend.best_trees(array, sentence_lengths, k, *options)
    return RankedTrees(torch.from_numpy(scores).to(values.device), torch.from_numpy(choices).to(values.device))
