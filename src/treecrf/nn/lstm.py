"""A bidirectional LSTM whose dropout masks are shared over time, without a loop over time.

The input masks are multiplications between the layers. The recurrent mask multiplies the hidden state at every step.
Our kernels do that, be it one mask for the batch or one for each sentence, as in the paper's code. Without them, a mask
that the batch shares is folded into the columns of the recurrent weights, so that torch's own LSTM never knows of it.
"""

from collections.abc import Iterable
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.nn.batch import Packing
from treecrf.nn.recurrence import Recurrence, kernels_for

Dropout = Literal["shared", "vanilla"]
Recurrent = Literal["batch", "sentence", "none"]


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


class BiLSTM(nn.Module):
    """Layers of two LSTMs each, forward and backward, (b, s, d) to (b, s, 2 * size)."""

    def __init__(
        self,
        input_size: int,
        size: int,
        layers: int,
        *,
        dropout: float = 0.0,
        kind: Dropout = "shared",
        recurrent: Recurrent = "batch",
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.drop_inputs = SharedDropout(dropout, kind=kind)
        self.recurrent = recurrent
        sizes = [input_size] + [2 * size] * (layers - 1)
        self.size = size
        self.layers = nn.ModuleList(nn.LSTM(width, size, bidirectional=True) for width in sizes)
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor, lengths: Tensor, packing: Packing) -> Tensor:
        """Context for each position; `lengths` counts the positions of each sequence, (b,)."""
        for layer in cast("Iterable[nn.LSTM]", self.layers):
            mask = None
            if self.training and self.dropout:
                x = self.drop_inputs(x)
                mask = self._recurrent_mask(x)
            x = run_lstm(layer, x, lengths, packing, mask=mask)
        return x

    def _recurrent_mask(self, x: Tensor) -> Tensor | None:
        if self.drop_inputs.kind == "vanilla" or self.recurrent == "none":
            return None
        rows = x.shape[0] if self.recurrent == "sentence" else 1
        return shared_mask(x, 2, rows, self.size, dropout=self.dropout)


def run_lstm(layer: nn.LSTM, x: Tensor, lengths: Tensor, packing: Packing, *, mask: Tensor | None = None) -> Tensor:
    """One bidirectional layer over padded sequences, (b, s, d) to (b, s, 2h).

    `mask` multiplies the hidden state before every step, for each direction: (2, b, h), or (2, 1, h) for all sequences.
    """
    if kernels_for(x) is not None or (mask is not None and mask.shape[1] > 1):
        return _recurrence(layer, x, lengths, mask)
    return _packed(layer, x, packing, mask)


def _recurrence(layer: nn.LSTM, x: Tensor, lengths: Tensor, mask: Tensor | None) -> Tensor:
    """The layer with the hidden state in our hands: one product for all inputs, then the steps."""
    batch, steps, size = *x.shape[:2], layer.hidden_size
    weight, recurrent, *biases = (torch.stack(pair) for pair in zip(*layer.all_weights, strict=True))
    by_unit = weight.view(2, 4, size, -1).transpose(1, 2).flatten(0, 2)  # (2 * h * 4, d)
    bias = (biases[0] + biases[1]).view(2, 4, size).transpose(1, 2).flatten()
    dtype = torch.promote_types(x.dtype, torch.float32)
    gates = F.linear(x, by_unit, bias).to(dtype).view(batch, steps, 2, size, 4)
    mask = gates.new_ones(2, 1, size) if mask is None else mask.to(dtype)
    hidden: Tensor = Recurrence.apply(  # type: ignore[no-untyped-call]
        gates, recurrent.view(2, 4, size, size).transpose(1, 2).contiguous(), mask.expand(2, batch, size), lengths
    )
    return hidden.flatten(2)


def _packed(layer: nn.LSTM, x: Tensor, packing: Packing, mask: Tensor | None) -> Tensor:
    """The layer as torch runs it, on packed sequences."""
    dtype = x.dtype
    if x.is_cuda and torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")  # autocast itself would choose fp16, whose gradients vanish unscaled
    rows, places, counts = packing
    with torch.autocast(x.device.type, enabled=False):
        data = x.flatten(0, 1).index_select(0, rows).to(dtype)
        weights = _weights(layer, mask)
        if x.is_cuda:
            weights = _one_chunk(weights, dtype)
        zeros = data.new_zeros(2, len(x), layer.hidden_size)
        out, _, _ = torch.lstm(data, counts, (zeros, zeros), weights, True, 1, 0.0, layer.training, True)
        return out.index_select(0, places.flatten()).view(*places.shape, -1)


def _weights(layer: nn.LSTM, mask: Tensor | None) -> list[Tensor]:
    # input, recurrent, two biases; twice
    weights: list[Tensor] = [weight for direction in layer.all_weights for weight in direction]
    if mask is not None:
        weights[1] = weights[1] * mask[0]  # (4h, h) by (1, h): a masked unit's column
        weights[5] = weights[5] * mask[1]
    return weights


def _one_chunk(weights: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The same weights as views of one buffer, matrices before biases: else cuDNN copies them one by one, and warns."""
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    chunk = torch.cat([weights[place].flatten() for place in order]).to(dtype)
    parts = torch.split(chunk, [weights[place].numel() for place in order])
    views = {place: part.view_as(weights[place]) for place, part in zip(order, parts, strict=True)}
    return [views[place] for place in range(8)]
