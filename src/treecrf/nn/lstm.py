"""A bidirectional LSTM whose dropout masks are shared over time, without a loop over time.

The input masks are multiplications between the layers. The recurrent mask multiplies the hidden state at every step.
Our kernels do that, be it one mask for the batch or one for each sentence, as in the paper's code. Without them, a mask
that the batch shares is folded into the columns of the recurrent weights, so that torch's own LSTM never knows of it.
"""

from collections.abc import Iterable
from math import prod
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.data.batch import Ragged
from treecrf.nn.lstm_recurrence import Recurrence, kernels_for

Dropout = Literal["shared", "vanilla"]
RecurrentDropout = Literal["batch", "sentence", "none"]


def shared_mask(x: Tensor, *shape: int, dropout: float) -> Tensor:
    """A mask to multiply with: 0 with probability `dropout`, else scaled so that the mean stays."""
    return F.dropout(x.new_ones(shape), dropout)


class SharedDropout(nn.Module):
    """Dropout of (b, n, d) with one mask for all positions of a sentence; `vanilla`, with one for each."""

    def __init__(self, dropout: float, *, kind: Dropout = "shared") -> None:
        super().__init__()
        self.dropout = dropout
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.dropout:
            return x
        if self.kind == "vanilla":
            return F.dropout(x, self.dropout)
        return x * shared_mask(x, x.shape[0], 1, x.shape[2], dropout=self.dropout)


class Layer(nn.Module):
    """The weights of a forward and a backward LSTM; the four gates of all units in torch's order."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.weight_input = nn.Parameter(torch.empty(2, 4 * size, input_size))
        self.weight_hidden = nn.Parameter(torch.empty(2, 4 * size, size))
        self.bias_input = nn.Parameter(torch.empty(2, 4 * size))
        self.bias_hidden = nn.Parameter(torch.empty(2, 4 * size))
        for parameter in self.parameters():  # as torch would
            nn.init.uniform_(parameter, -(size**-0.5), size**-0.5)

    def reset_orthogonal(self) -> None:
        """Orthogonal matrices and no biases."""
        for weight in (*self.weight_input.detach(), *self.weight_hidden.detach()):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.bias_input)
        nn.init.zeros_(self.bias_hidden)

    def forward(self, x: Tensor, lengths: Ragged, *, mask: Tensor | None = None) -> Tensor:
        """Both directions over padded sequences, (b, s, d) to (b, s, 2, h).

        `mask` multiplies the hidden state before every step of each: (2, b, h), or (2, 1, h) for all sequences.
        """
        if kernels_for(x, self.size) is not None or (mask is not None and mask.shape[1] > 1):
            return self._with_our_steps(x, lengths.lengths, mask)
        return self._with_torch(x, lengths, mask)

    def _with_our_steps(self, x: Tensor, lengths: Tensor, mask: Tensor | None) -> Tensor:
        """One product for all inputs, then the steps."""
        batch, steps = x.shape[:2]
        bias = (self.bias_input + self.bias_hidden).flatten()
        gates = F.linear(x, self.weight_input.flatten(0, 1), bias)
        gates = gates.to(torch.promote_types(x.dtype, torch.float32)).view(batch, steps, 2, 4, self.size)
        mask = gates.new_ones(2, 1, self.size) if mask is None else mask.to(gates.dtype)
        args = (gates, self.weight_hidden, mask.expand(2, batch, self.size), lengths)
        return Recurrence.apply(*args)  # type: ignore[no-untyped-call, no-any-return]

    def _with_torch(self, x: Tensor, lengths: Ragged, mask: Tensor | None) -> Tensor:
        """Packed sequences, as cuDNN wants them."""
        dtype = x.dtype
        if x.is_cuda and torch.is_autocast_enabled("cuda"):
            dtype = torch.get_autocast_dtype(
                "cuda"
            )  # autocast itself would choose fp16, whose gradients vanish unscaled
        rows, places, counts = lengths.packing
        with torch.autocast(x.device.type, enabled=False):
            data = x.flatten(0, 1).index_select(0, rows).to(dtype)
            weights = self._weights(mask)
            if x.is_cuda:
                weights = one_chunk(weights, dtype)
            zeros = data.new_zeros(2, len(x), self.size)
            out, _, _ = torch.lstm(data, counts, (zeros, zeros), weights, True, 1, 0.0, self.training, True)
            return out.index_select(0, places.flatten()).view(*places.shape, 2, self.size)

    def _weights(self, mask: Tensor | None) -> list[Tensor]:
        """Input, recurrent and two biases of one direction, then of the other; a masked unit's column is zero."""
        hidden = self.weight_hidden if mask is None else self.weight_hidden * mask
        both = (self.weight_input.unbind(), hidden.unbind(), self.bias_input.unbind(), self.bias_hidden.unbind())
        return [weight for direction in zip(*both, strict=True) for weight in direction]


def one_chunk(weights: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The same weights as views of one buffer, matrices before biases: else cuDNN copies them one by one, and warns."""
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    chunk = torch.cat([weights[place].flatten() for place in order]).to(dtype)
    parts = torch.split(chunk, [weights[place].numel() for place in order])
    views = {place: part.view_as(weights[place]) for place, part in zip(order, parts, strict=True)}
    return [views[place] for place in range(8)]


class BiLSTM(nn.Module):
    """Layers of two LSTMs each, forward and backward: (b, s, d) to (b, s, 2, size)."""

    def __init__(
        self,
        input_size: int,
        size: int,
        layers: int,
        *,
        dropout: float = 0.0,
        kind: Dropout = "shared",
        recurrent_dropout: RecurrentDropout = "batch",
    ) -> None:
        super().__init__()
        self.size = size
        self.dropout = dropout
        self.kind = kind
        self.recurrent_dropout = recurrent_dropout
        self.layers = nn.ModuleList(Layer(width, size) for width in [input_size] + [2 * size] * (layers - 1))
        for layer in cast("Iterable[Layer]", self.layers):
            layer.reset_orthogonal()

    def forward(self, x: Tensor, lengths: Ragged) -> Tensor:
        """Context for each position."""
        masks = self._masks(x)
        for layer, (of_inputs, of_hidden) in zip(self.layers, masks, strict=True):
            if of_inputs is not None:
                x = x * of_inputs
            elif self.training and self.dropout:
                x = F.dropout(x, self.dropout)
            x = layer(x, lengths, mask=of_hidden).flatten(2)
        return x.view(*x.shape[:2], 2, self.size)

    def _masks(self, x: Tensor) -> list[tuple[Tensor | None, Tensor | None]]:
        """Each layer's masks of inputs (b, 1, d) and of hidden states (2, b or 1, h), drawn at once."""
        if not self.training or not self.dropout or self.kind == "vanilla":
            return [(None, None)] * len(self.layers)
        batch = len(x)
        rows = {"sentence": batch, "batch": 1, "none": 0}[self.recurrent_dropout]
        shapes = [(batch, 1, layer.weight_input.shape[2]) for layer in cast("Iterable[Layer]", self.layers)]
        shapes += [(2, rows, self.size)] * len(self.layers)
        drawn = torch.split(shared_mask(x, sum(map(prod, shapes)), dropout=self.dropout), list(map(prod, shapes)))
        masks = [mask.view(shape) for mask, shape in zip(drawn, shapes, strict=True)]
        of_inputs, of_hidden = masks[: len(self.layers)], masks[len(self.layers) :]
        return [(first, second if rows else None) for first, second in zip(of_inputs, of_hidden, strict=True)]
