"""`cpu_backend` for tensors on the CPU, which share their memory with its arrays."""

import torch
from torch import Tensor

from treecrf.arrays import Ints, Reals
from treecrf.chart import cpu_backend


def inside(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The inside chart, in a layout for `outside` only, and log Z of every sentence."""
    chart, log_z = cpu_backend.inside(*_arrays(scores, lengths))
    return torch.from_numpy(chart), torch.from_numpy(log_z)


def outside(scores: Tensor, lengths: Tensor, chart: Tensor) -> Tensor:
    """The marginals, shaped like scores; zero outside of the sentence and if the sentence has no allowed tree."""
    return torch.from_numpy(cpu_backend.outside(*_arrays(scores, lengths), chart.numpy()))


def cky(scores: Tensor, lengths: Tensor) -> Tensor:
    """The best tree of every sentence; the leftmost split wins a tie."""
    return torch.from_numpy(cpu_backend.cky(*_arrays(scores, lengths)))


def label_chart(
    offsets: Tensor, scores: Tensor, lengths: Tensor, is_constituent: Tensor, adds_labels: bool
) -> tuple[Tensor, Tensor]:
    """The chart (b, 2, n + 1, n + 1) of scores of labels, and their sums (b, 3, n + 1, n + 1); see `labels.py`."""
    label_scores, sentence_lengths = _arrays(scores, lengths)
    arguments = offsets.double().numpy(), label_scores, sentence_lengths, is_constituent.numpy(), adds_labels
    chart, sums = cpu_backend.label_chart(*arguments)
    return torch.from_numpy(chart), torch.from_numpy(sums)


def label_weights(
    scores: Tensor,
    sums: Tensor,
    chart: Tensor,
    sum_weights: Tensor | None,
    lengths: Tensor,
    is_constituent: Tensor,
    adds_labels: bool,
    weighs_free: bool,
) -> Tensor:
    """The gradient of the chart and of the sums with respect to the scores of labels; see `labels.py`."""
    label_scores, sentence_lengths = _arrays(scores, lengths)
    weights = None if sum_weights is None else sum_weights.numpy()
    marks = sentence_lengths, is_constituent.numpy(), adds_labels, weighs_free
    return torch.from_numpy(cpu_backend.label_weights(label_scores, sums.numpy(), chart.numpy(), weights, *marks))


def _arrays(scores: Tensor, lengths: Tensor) -> tuple[Reals, Ints]:
    # NumPy has no bfloat16
    return scores.detach().to(torch.promote_types(scores.dtype, torch.float32)).numpy(), lengths.numpy()
