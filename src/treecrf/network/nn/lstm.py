"""A bidirectional LSTM with dropout masks that are shared over time (variational dropout) or drawn for every step.

Input masks multiply the inputs of each layer. Recurrent masks multiply the hidden state before every step. A shared
recurrent mask is drawn for the batch or for each sentence, a vanilla one for each step of each sentence. Our Triton
kernels apply all kinds. Without them, a mask for the batch is multiplied into the columns of the recurrent weights, so
that torch's LSTM can run, and other masks need a loop over time.
"""

from collections.abc import Iterable
from math import prod
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.network.data.model_config import DropoutKind, ModelConfig
from treecrf.network.nn.batch import SequenceLengths
from treecrf.network.nn.half_precision import runs_half_kernels
from treecrf.network.nn.lstm_recurrence import LSTMRecurrence, find_triton_kernels
from treecrf.network.nn.rounding import is_rounding, round_weights


def shared_mask(x: Tensor, *shape: int, dropout: float) -> Tensor:
    """A dropout mask to multiply with: 0 with probability `dropout`, else 1 / (1 - dropout)."""
    return F.dropout(x.new_ones(shape), dropout)


class SharedDropout(nn.Module):
    """Dropout of (b, n, d) with one mask for all positions of a sentence.

    Kind `vanilla`, for the paper's ablations, is ordinary dropout.
    """

    def __init__(self, dropout: float, *, kind: DropoutKind = "shared") -> None:
        super().__init__()
        self.dropout = dropout
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.dropout:
            return x
        if self.kind == "vanilla":
            return F.dropout(x, self.dropout)
        return x * shared_mask(x, x.shape[0], 1, x.shape[2], dropout=self.dropout)


class BiLSTMLayer(nn.Module):
    """One layer: a forward and a backward LSTM, with the gates in torch's order i, f, g, o."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.weight_input = nn.Parameter(torch.empty(2, 4 * size, input_size))
        self.weight_hidden = nn.Parameter(torch.empty(2, 4 * size, size))
        self.bias_input = nn.Parameter(torch.empty(2, 4 * size))
        self.bias_hidden = nn.Parameter(torch.empty(2, 4 * size))
        for parameter in self.parameters():  # as torch initializes its LSTM
            nn.init.uniform_(parameter, -(size**-0.5), size**-0.5)

    def reset_orthogonal(self) -> None:
        """Initializes weights with orthogonal matrices and biases with zeros."""
        for weight in (*self.weight_input.detach(), *self.weight_hidden.detach()):
            nn.init.orthogonal_(weight)
        nn.init.zeros_(self.bias_input)
        nn.init.zeros_(self.bias_hidden)

    def forward(self, x: Tensor, lengths: SequenceLengths, *, mask: Tensor | None = None) -> Tensor:
        """Runs both directions over padded sequences, (b, s, d) to (b, s, 2, h).

        `mask` multiplies the hidden state before each step. Its shape is (2, s, b, h): directions, steps in the order
        of the direction, sequences, units. A mask of size 1 in s or b is for all steps or all sequences.
        """
        kernels = find_triton_kernels(x, self.size)
        if kernels is not None and mask is None and runs_half_kernels(x):
            return kernels.hidden_states(self._gates(x), self.weight_hidden, lengths.on_device)  # type: ignore[no-any-return]
        if kernels is not None or is_rounding() or (mask is not None and mask.shape[1:3] != (1, 1)):
            return self._run_recurrence(x, lengths.on_device, mask)
        return self._run_torch(x, lengths, mask)

    def _run_recurrence(self, x: Tensor, lengths: Tensor, mask: Tensor | None) -> Tensor:
        """Runs our own recurrence, after one matrix product for the inputs of all steps."""
        batch, steps = x.shape[:2]
        gates = self._gates(x).to(torch.promote_types(x.dtype, torch.float32))
        mask = gates.new_ones(2, 1, 1, self.size) if mask is None else mask.to(gates.dtype)
        weight = round_weights(self.weight_hidden) if is_rounding() else self.weight_hidden
        args = (gates, weight, mask.expand(2, steps, batch, self.size), lengths)
        return LSTMRecurrence.apply(*args)  # type: ignore[no-untyped-call, no-any-return]

    def _gates(self, x: Tensor) -> Tensor:
        """The inputs of the gates, (b, s, 2, 4, h)."""
        bias = (self.bias_input + self.bias_hidden).flatten()
        return F.linear(x, self.weight_input.flatten(0, 1), bias).view(*x.shape[:2], 2, 4, self.size)

    def _run_torch(self, x: Tensor, lengths: SequenceLengths, mask: Tensor | None) -> Tensor:
        """Runs torch's LSTM over packed sequences."""
        dtype = x.dtype
        if x.is_cuda and torch.is_autocast_enabled("cuda"):
            # autocast itself would run cuDNN in fp16, and unscaled gradients vanish in fp16
            dtype = torch.get_autocast_dtype("cuda")
        padded_index, packed_index, batch_sizes = lengths.packing
        with torch.autocast(x.device.type, enabled=False):
            packed = x.flatten(0, 1).index_select(0, padded_index).to(dtype)
            weights = self._masked_weights(mask)
            if x.is_cuda:
                weights = flatten_weights(weights, dtype)
            zeros = packed.new_zeros(2, len(x), self.size)
            out, _, _ = torch.lstm(packed, batch_sizes, (zeros, zeros), weights, True, 1, 0.0, self.training, True)
            return out.index_select(0, packed_index.flatten()).view(*packed_index.shape, 2, self.size)

    def _masked_weights(self, mask: Tensor | None) -> list[Tensor]:
        """Input weights, recurrent weights and both biases of the forward direction, then of the backward direction."""
        hidden = self.weight_hidden if mask is None else self.weight_hidden * mask[:, 0]
        both = (self.weight_input.unbind(), hidden.unbind(), self.bias_input.unbind(), self.bias_hidden.unbind())
        return [weight for direction in zip(*both, strict=True) for weight in direction]


def flatten_weights(weights: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The weights as views of one buffer, matrices before biases; otherwise cuDNN copies each one and warns."""
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    buffer = torch.cat([weights[number].flatten() for number in order]).to(dtype)
    chunks = torch.split(buffer, [weights[number].numel() for number in order])
    views = {number: chunk.view_as(weights[number]) for number, chunk in zip(order, chunks, strict=True)}
    return [views[number] for number in range(8)]


class BiLSTM(nn.Module):
    """A stack of bidirectional layers, (b, s, d) to (b, s, 2, size)."""

    def __init__(self, config: ModelConfig, input_size: int) -> None:
        super().__init__()
        self.size = config.lstm_size
        self.dropout = config.dropout
        self.kind = config.dropout_kind
        self.recurrent_dropout = config.recurrent_dropout
        widths = [input_size] + [2 * self.size] * (config.lstm_layers - 1)
        self.layers = nn.ModuleList(BiLSTMLayer(width, self.size) for width in widths)
        for layer in cast("Iterable[BiLSTMLayer]", self.layers):
            layer.reset_orthogonal()

    def forward(self, x: Tensor, lengths: SequenceLengths) -> Tensor:
        """The context vectors of each position."""
        masks = self._draw_masks(x)
        for layer, (input_mask, hidden_mask) in zip(self.layers, masks, strict=True):
            if input_mask is not None:
                x = x * input_mask
            x = layer(x, lengths, mask=hidden_mask).flatten(2)
        return x.view(*x.shape[:2], 2, self.size)

    def _draw_masks(self, x: Tensor) -> list[tuple[Tensor | None, Tensor | None]]:
        """Draws the masks of all layers at once: per layer, of inputs (b, s or 1, d) and hidden states.

        Masks of hidden states are (2, s or 1, b or 1, h). A vanilla mask is never shared by the sentences of a batch.
        """
        if not self.training or not self.dropout:
            return [(None, None)] * len(self.layers)
        batch, steps = len(x), x.shape[1] if self.kind == "vanilla" else 1
        rows = {"sentence": batch, "batch": batch if self.kind == "vanilla" else 1, "none": 0}[self.recurrent_dropout]
        shapes: list[tuple[int, ...]]
        shapes = [(batch, steps, layer.weight_input.shape[2]) for layer in cast("Iterable[BiLSTMLayer]", self.layers)]
        shapes += [(2, steps, rows, self.size)] * len(self.layers)
        sizes = list(map(prod, shapes))
        chunks = torch.split(shared_mask(x, sum(sizes), dropout=self.dropout), sizes)
        masks = [chunk.view(shape) for chunk, shape in zip(chunks, shapes, strict=True)]
        input_masks, hidden_masks = masks[: len(self.layers)], masks[len(self.layers) :]
        pairs = zip(input_masks, hidden_masks, strict=True)
        return [(input_mask, hidden_mask if rows else None) for input_mask, hidden_mask in pairs]
