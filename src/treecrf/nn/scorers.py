"""From context to scores: boundary vectors, and what two of them say about the span between.

A scorer projects context vectors to left and right boundary vectors. Called on those of whole sentences it gives a
chart of all spans; `at` gives the same numbers for chosen spans.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.data.batch import Spans
from treecrf.nn.lstm import Dropout, SharedDropout

LEAKY_SLOPE = 0.1
_SPANS_AT_ONCE = 8192


class MLP(nn.Module):
    """`parts` layers side by side over (b, n, d), each with its own orthogonal weights, as one product."""

    def __init__(
        self, input_size: int, size: int, *, parts: int = 1, dropout: float = 0.0, kind: Dropout = "shared"
    ) -> None:
        super().__init__()
        self.size = size
        self.linear = nn.Linear(input_size, parts * size)
        self.dropout = SharedDropout(dropout, kind=kind)
        for weight in torch.split(self.linear.weight.detach(), size):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.split(self.dropout(F.leaky_relu(self.linear(x), LEAKY_SLOPE)), self.size, -1)


class Biaffine(nn.Module):
    """[left; 1]' W [right; 1] for each class; without `bias_right`, [left; 1]' W right.

    The row and column of W that meet a one are kept apart from the rest, so that no ones are ever written.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        classes: int,
        *,
        bias_right: bool = True,
        dropout: float = 0.0,
        kind: Dropout = "shared",
    ) -> None:
        super().__init__()
        self.boundaries = MLP(input_size, size, parts=2, dropout=dropout, kind=kind)
        self.weight = nn.Parameter(torch.zeros(classes, size, size))
        self.weight_right = nn.Parameter(torch.zeros(classes, size))
        self.weight_left = nn.Parameter(torch.zeros(classes, size)) if bias_right else None
        self.bias = nn.Parameter(torch.zeros(classes)) if bias_right else None

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Left and right boundary vectors of context vectors (b, n, d)."""
        left, right = self.boundaries(x)
        return left, right

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """The chart of all spans, (b, n, n, classes), of boundaries (b, n, d)."""
        classes = len(self.weight)
        batch, size = left.shape[:2]
        half = F.linear(
            right, self.weight.flatten(0, 1), None if self.weight_left is None else self.weight_left.flatten()
        )
        alone = F.linear(right, self.weight_right, self.bias)
        chart = torch.baddbmm(alone.view(batch, 1, -1), left, half.view(batch, size * classes, -1).mT)
        return chart.view(batch, size, size, classes)

    def at(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """The scores of m spans, (m, classes), of boundaries (b, n, d); by the way that holds fewer numbers."""
        classes, width = self.weight_right.shape
        if left[..., 0].numel() * classes * (width + left.shape[1]) <= len(spans.cells) * width * width:
            chart: Tensor = self(left, right)
            return chart.flatten(0, 2).index_select(0, spans.cells)
        parts = [spans] if torch.is_grad_enabled() else spans.split(_SPANS_AT_ONCE)
        return torch.cat([self._pairs(*part.of(left, right)) for part in parts])

    def _pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The scores (m, classes) of the spans between m boundaries, (m, d)."""
        alone = F.linear(right, self.weight_right)
        if self.weight_left is not None:
            ends = torch.cat([left, right], -1)
            alone = F.linear(ends, torch.cat([self.weight_left, self.weight_right], -1), self.bias)
        return torch.addmm(alone, (left[:, :, None] * right[:, None, :]).flatten(1), self.weight.flatten(1).T)


class Minus(nn.Module):
    """An MLP over the difference of two context vectors.

    Its first layer is linear, so it is applied to the boundaries, not to the n^2 differences. Dropout is there too: a
    mask goes through the activation unchanged, as it is never negative.
    """

    def __init__(
        self, input_size: int, size: int, classes: int, *, dropout: float = 0.0, kind: Dropout = "shared"
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, size, bias=False)
        self.bias = nn.Parameter(torch.zeros(size))
        self.dropout = SharedDropout(dropout, kind=kind)
        self.out = nn.Linear(size, classes)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Left and right boundary vectors of context vectors (b, n, d)."""
        right = self.linear(x)
        both = torch.cat([right + self.bias, right], 1)  # along a sentence, so that the two share its mask
        left, right = self.dropout(both).chunk(2, 1)
        return left, right

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """The chart of all spans, (b, n, n, classes), of boundaries (b, n, d)."""
        return self._score(left[:, :, None], right[:, None])

    def at(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """The scores of m spans, (m, classes), of boundaries (b, n, d)."""
        return self._score(*spans.of(left, right))

    def _score(self, left: Tensor, right: Tensor) -> Tensor:
        return self.out(F.leaky_relu(left - right, LEAKY_SLOPE))  # type: ignore[no-any-return]
