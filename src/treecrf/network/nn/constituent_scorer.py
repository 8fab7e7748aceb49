"""A small network that classifies the constituents of decoded trees, from the vectors of words."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.network.data.model_config import LEAKY_SLOPE


class ConstituentScorer(nn.Module):
    """Logits of the classes of constituents; each class is independent of the others.

    A constituent has some words with different roles, such as its head, and some symbols, such as its label and its
    parent's. Each role has a product with its word's vector, and each symbol has a vector; they are added up. Schemes
    of annotation have a vector each, and a bias for each class.
    """

    def __init__(
        self, *, width: int, size: int, roles: int, symbols: tuple[int, int], classes: int, schemes: int
    ) -> None:
        """`width` is the size of the network's vectors; `symbols` are the numbers of columns and of symbols."""
        super().__init__()
        self.words = nn.Linear(width, size)
        self.roles = nn.Linear(size, roles * size)
        self.symbols = nn.Parameter(torch.randn(*symbols, size) * 0.1)
        self.schemes = nn.Parameter(torch.zeros(schemes, size))
        self.hidden = nn.Linear(size, size)
        self.out = nn.Linear(size, classes, bias=False)
        self.biases = nn.Parameter(torch.zeros(schemes, classes))
        self.dropout = nn.Dropout(0.2)

    def forward(self, vectors: Tensor, words: Tensor, symbols: Tensor, schemes: Tensor) -> Tensor:
        """Logits (m, classes) of constituents with words (m, roles), symbols (m, columns) and schemes (m,).

        The words are rows of `vectors` (w, width); w stands for no word.
        """
        roles = words.shape[1]
        projected = self.roles(self.dropout(F.leaky_relu(self.words(vectors), LEAKY_SLOPE)))
        rows = F.pad(projected.view(-1, roles, self.out.in_features), (0, 0, 0, 0, 0, 1))
        total = rows[words, torch.arange(roles)].sum(1) + self.schemes[schemes]
        total = total + self.symbols[torch.arange(symbols.shape[1]), symbols].sum(1)
        hidden = self.dropout(F.leaky_relu(total, LEAKY_SLOPE))
        hidden = self.dropout(F.leaky_relu(self.hidden(hidden), LEAKY_SLOPE))
        return self.out(hidden) + self.biases[schemes]  # type: ignore[no-any-return]
