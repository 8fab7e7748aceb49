"""What a span is worth to a tree: the probabilities of its constituents, less a price for each.

A tree whose constituents are worth the most has the best F to be expected, if the price is about half of that F: a
constituent that is less probable costs more precision than it brings recall. Spans that binarization made are worth
nothing, so they have no say in what the tree is. A span has its most probable label, or none if that is not worth it:
of the label S SQ the constituents may be probable by way of S and of SQ, of which no tree has both.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from treecrf.nn.int8 import FastWorth, missing

_ROWS = 1024  # that a CPU looks at at once, so that they stay in its cache


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
        return FastWorth(self.holds, self.counts, self.price, self.nothing)

    def to(self, device: torch.device) -> "Worth":
        """The same on a device."""
        return Worth(price=self.price, holds=self.holds.to(device), counts=self.counts.to(device))

    def best(self, labels: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """What m spans are worth, and their labels, of label scores (m, labels), -inf if ruled out, and marginals."""
        if self._fast is not None and labels.dtype == marginals.dtype == torch.float32:
            return self._fast(labels, marginals)
        rows = max(1, len(labels)) if labels.is_cuda else _ROWS
        parts = zip(labels.split(rows), marginals.split(rows), strict=True)
        values, indices = zip(*(self._best(*part) for part in parts), strict=True)
        return torch.cat(values).to(labels.dtype), torch.cat(indices)

    def _best(self, labels: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        posteriors = labels.double().softmax(-1)  # whose products round alike in any company
        likeliest = labels.argmax(-1)
        held = (posteriors @ self.holds * self.holds[likeliest]).sum(-1)
        worth = marginals * held - self.price * self.counts[likeliest]
        is_none = (worth < 0) & (labels[:, self.nothing] > -torch.inf)
        return worth.masked_fill(is_none, 0.0), likeliest.masked_fill(is_none, self.nothing)
