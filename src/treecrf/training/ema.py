"""The running average of weights, which often parses better than any weights it is the average of."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


class Average:
    """The average of weights: it starts as what they are, and each step keeps the share `kept` of it."""

    @torch.no_grad()
    def __init__(self, weights: Sequence[Tensor], kept: float) -> None:
        self._weights = list(weights)
        self._kept = kept
        self.tensors = [weight.clone() for weight in self._weights]

    @torch.no_grad()
    def update(self) -> None:
        """Count the weights as they are now; nothing waits for the device."""
        torch._foreach_lerp_(self.tensors, self._weights, 1 - self._kept)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the weights be the average while this lasts; they stay where they are in memory."""
        own = [weight.detach().clone() for weight in self._weights]
        self._copy(self.tensors)
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, values: Sequence[Tensor]) -> None:
        torch._foreach_copy_(self._weights, list(values))
