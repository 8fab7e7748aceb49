"""What a span is worth to a tree: the probabilities of its constituents, less a price for each.

A tree whose constituents are worth the most has the best F to be expected, if the price is about half of that F: a
constituent that is less probable costs more precision than it brings recall. Spans that binarization made are worth
nothing, so they have no say in what the tree is.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from treecrf.nn.int8 import FastWorth, missing

_ROWS = 1024  # that a CPU looks at at once, so that they stay in its cache
_NEARLY_NOTHING = 1e-6  # by which labels that are worth the same are told apart


@dataclass(frozen=True, kw_only=True)
class Worth:
    """The constituents in the chains of labels, and the price of each."""

    price: float
    holds: Tensor  # (labels, names) one where a label's chain holds a constituent, else zero; float64
    counts: Tensor  # (labels,) the constituents of each; float64

    def __post_init__(self) -> None:
        if not 0 < self.price < 1:
            raise ValueError(f"price is {self.price}; expected a probability between 0 and 1")

    @cached_property
    def nothing(self) -> int:
        """A label without a constituent; which one makes no difference to a tree."""
        return int(self.counts.argmin())

    @cached_property
    def _fast(self) -> FastWorth | None:
        """The same in compiled code, where there is some for the device."""
        if self.holds.device.type != "cpu" or missing():
            return None
        return FastWorth(self.holds, self.counts, self.price, _NEARLY_NOTHING)

    def to(self, device: torch.device) -> "Worth":
        """The same on a device."""
        return Worth(price=self.price, holds=self.holds.to(device), counts=self.counts.to(device))

    def best(self, labels: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """What m spans are worth with their best labels, and those, of label scores (m, labels) and marginals (m,)."""
        if self._fast is not None and labels.dtype == marginals.dtype == torch.float32:
            return self._fast(labels, marginals)
        rows = max(1, len(labels)) if labels.is_cuda else _ROWS
        parts = zip(labels.split(rows), marginals.split(rows), strict=True)
        values, indices = zip(*(self._best(*part) for part in parts), strict=True)
        return torch.cat(values).to(labels.dtype), torch.cat(indices)

    def _best(self, labels: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        posteriors = labels.double().softmax(-1)  # whose products round alike in any company
        names = marginals[:, None] * (posteriors @ self.holds)
        told_apart = _NEARLY_NOTHING * posteriors - self.price * self.counts
        worth = torch.addmm(told_apart, names, self.holds.T)
        found = worth.masked_fill_(labels == -torch.inf, -torch.inf).max(-1)
        return found.values, found.indices
