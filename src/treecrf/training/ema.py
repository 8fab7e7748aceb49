"""Exponential moving average (EMA) of weights, which often parses better than the weights of any single step."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn


class EMA:
    """The moving average of weights: average = decay * average + (1 - decay) * weights, from the first weights on."""

    @torch.no_grad()
    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self._weights = list(weights)
        self._update_averages = get_ema_multi_avg_fn(decay)
        self.averages = [weight.clone() for weight in self._weights]

    def update(self) -> None:
        """Adds the current weights to the averages, without synchronizing the device."""
        self._update_averages(self.averages, self._weights, None)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Gives the weights the values of their averages inside the context; their memory addresses stay the same."""
        backup = [weight.detach().clone() for weight in self._weights]
        self._overwrite_weights(self.averages)
        try:
            yield
        finally:
            self._overwrite_weights(backup)

    @torch.no_grad()
    def _overwrite_weights(self, values: Sequence[Tensor]) -> None:
        torch._foreach_copy_(self._weights, list(values))
