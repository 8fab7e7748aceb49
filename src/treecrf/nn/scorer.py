"""From context to scores: boundary vectors, and what two of them say about the span between.

A scorer projects context vectors to left and right boundary vectors. Called on those of whole sentences it gives a
chart of all spans; `at` gives the same numbers for chosen spans, of pairs of boundaries.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.nn.lstm import Dropout, SharedDropout

_SLOPE = 0.1


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
        return torch.split(self.dropout(F.leaky_relu(self.linear(x), _SLOPE)), self.size, -1)


class Biaffine(nn.Module):
    """[left; 1]' W [right; 1] for each class; the bias on the right may be left out."""

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
        self.bias_right = bias_right
        self.boundaries = MLP(input_size, size, parts=2, dropout=dropout, kind=kind)
        self.weight = nn.Parameter(torch.zeros(classes, size + 1, size + bias_right))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Left and right boundary vectors of context vectors (b, n, d)."""
        left, right = self.boundaries(x)
        return left, right

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """The chart of all spans, (b, n, n, classes), of boundaries (b, n, d)."""
        left, right = self._with_ones(left, right)
        classes, rows, columns = self.weight.shape
        batch, size = left.shape[:2]
        half = left @ self.weight.transpose(0, 1).reshape(rows, classes * columns)
        chart = half.view(batch, size * classes, columns) @ right.mT
        return chart.view(batch, size, classes, size).transpose(2, 3)

    def at(self, left: Tensor, right: Tensor) -> Tensor:
        """The scores of m spans, (m, classes), of their boundaries (m, d)."""
        left, right = self._with_ones(left, right)
        return F.linear((left[:, :, None] * right[:, None, :]).flatten(1), self.weight.flatten(1))

    def _with_ones(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        return F.pad(left, (0, 1), value=1.0), F.pad(right, (0, 1), value=1.0) if self.bias_right else right


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
        return self.at(left[:, :, None], right[:, None])

    def at(self, left: Tensor, right: Tensor) -> Tensor:
        """The scores of m spans, (m, classes), of their boundaries (m, d)."""
        return self.out(F.leaky_relu(left - right, _SLOPE))  # type: ignore[no-any-return]
