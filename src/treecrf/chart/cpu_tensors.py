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


def label_sums(scores: Tensor, lengths: Tensor, is_constituent: Tensor) -> Tensor:
    """The logsumexp over constituents, free labels and all labels, (b, 3, n + 1, n + 1); 0 outside the sentences."""
    return torch.from_numpy(cpu_backend.label_sums(*_arrays(scores, lengths), is_constituent.numpy()))


def label_weights(scores: Tensor, sums: Tensor, factors: Tensor, lengths: Tensor, is_constituent: Tensor) -> Tensor:
    """exp(score - sum of its group) times a factor of the group, like the scores; 0 outside the sentences."""
    label_scores, sentence_lengths = _arrays(scores, lengths)
    arrays = sums.detach().numpy(), factors.detach().numpy(), sentence_lengths, is_constituent.numpy()
    return torch.from_numpy(cpu_backend.label_weights(label_scores, *arrays))


def _arrays(scores: Tensor, lengths: Tensor) -> tuple[Reals, Ints]:
    # NumPy has no bfloat16
    return scores.detach().to(torch.promote_types(scores.dtype, torch.float32)).numpy(), lengths.numpy()
