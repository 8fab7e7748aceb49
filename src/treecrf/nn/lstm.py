"""A bidirectional LSTM whose dropout masks are shared over time, without a loop over time.

The input masks are multiplications between the layers. The recurrent mask multiplies the hidden state at every step:
where the whole batch shares one, it is folded into the columns of the recurrent weights, and cuDNN never knows. A mask
for each sentence, as in the paper's code, cannot be folded; its loop has a backward pass of its own.
"""

from collections.abc import Iterable
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.nn.batch import Packing

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
        self.kind = kind
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
        dropping = self.training and self.dropout > 0
        if dropping and self.kind == "shared" and self.recurrent == "sentence":
            return self._by_sentence(x, lengths)
        rows, places, counts = packing
        batch, steps = x.shape[:2]
        data = x.flatten(0, 1).index_select(0, rows)
        sentences = rows // steps
        for layer in cast("Iterable[nn.LSTM]", self.layers):
            mask = None
            if dropping:
                data = self._drop_inputs(data, sentences, batch)
                mask = self._recurrent_mask(data)
            data, _ = run_lstm(layer, data, counts, mask=mask)
        return data.index_select(0, places.flatten()).view(batch, steps, -1)

    def _drop_inputs(self, data: Tensor, sentences: Tensor, batch: int) -> Tensor:
        if self.kind == "vanilla":
            return F.dropout(data, self.dropout)
        return data * shared_mask(data, batch, data.shape[1], dropout=self.dropout).index_select(0, sentences)

    def _recurrent_mask(self, data: Tensor) -> Tensor | None:
        if self.kind == "vanilla" or self.recurrent == "none":
            return None
        return shared_mask(data, 2, self.size, dropout=self.dropout)

    def _by_sentence(self, x: Tensor, lengths: Tensor) -> Tensor:
        backward = reversal(lengths, x.shape[1])
        for layer in cast("Iterable[nn.LSTM]", self.layers):
            x = x * shared_mask(x, x.shape[0], 1, x.shape[2], dropout=self.dropout)
            mask = shared_mask(x, 2, x.shape[0], self.size, dropout=self.dropout)
            x = masked_lstm(layer, x, backward, mask)
        return x


def run_lstm(layer: nn.LSTM, data: Tensor, counts: Tensor, *, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """One bidirectional layer over packed positions: its outputs, and the last states (2, b, h).

    `mask` (2, h) multiplies the hidden state before every step, one row for each direction.
    """
    dtype = data.dtype
    if data.is_cuda and torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")  # autocast itself would choose fp16, whose gradients vanish unscaled
    with torch.autocast(data.device.type, enabled=False):
        weights = _weights(layer, mask)
        if data.is_cuda:
            weights = _one_chunk(weights, dtype)
        data = data.to(dtype)
        zeros = data.new_zeros(2, int(counts[0]), layer.hidden_size)
        out, last, _ = torch.lstm(data, counts, (zeros, zeros), weights, True, 1, 0.0, layer.training, True)
    return out, last


def _weights(layer: nn.LSTM, mask: Tensor | None) -> list[Tensor]:
    weights: list[Tensor] = [
        weight for direction in layer.all_weights for weight in direction
    ]  # input, recurrent, two biases; twice
    if mask is not None:
        weights[1] = weights[1] * mask[0]
        weights[5] = weights[5] * mask[1]
    return weights


def _one_chunk(weights: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The same weights as views of one buffer, matrices before biases: else cuDNN copies them one by one, and warns."""
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    chunk = torch.cat([weights[place].flatten() for place in order]).to(dtype)
    parts = torch.split(chunk, [weights[place].numel() for place in order])
    views = {place: part.view_as(weights[place]) for place, part in zip(order, parts, strict=True)}
    return [views[place] for place in range(8)]


def reversal(lengths: Tensor, steps: int) -> Tensor:
    """Where each position stands when every sequence is reversed within its length: (b, s), its own inverse."""
    position = torch.arange(steps, device=lengths.device)
    ends = lengths[:, None]
    return torch.where(position < ends, ends - 1 - position, position)


def masked_lstm(layer: nn.LSTM, x: Tensor, backward: Tensor, mask: Tensor) -> Tensor:
    """One bidirectional layer over padded (b, s, d) with a recurrent mask for each sentence, (2, b, h).

    Both directions run left to right, one over reversed sequences, so that padding always comes last.
    """
    batch, steps = x.shape[:2]
    forward, reverse = layer.all_weights
    with torch.autocast(x.device.type, enabled=False):
        inputs = torch.stack([x.float(), _reverse(x.float(), backward)]).transpose(1, 2).flatten(1, 2)  # (2, s * b, d)
        weight, recurrent, *biases = (torch.stack(pair) for pair in zip(forward, reverse, strict=True))
        gates = torch.baddbmm((biases[0] + biases[1])[:, None], inputs, weight.mT).view(2, steps, batch, -1)
        hidden = Recurrence.apply(gates, recurrent, mask.float())  # type: ignore[no-untyped-call]  # (2, s, b, h)
    ahead, back = hidden.transpose(1, 2)
    return torch.cat([ahead, _reverse(back, backward)], -1)


def _reverse(x: Tensor, backward: Tensor) -> Tensor:
    return x.gather(1, backward[:, :, None].expand(-1, -1, x.shape[2]))


class Recurrence(torch.autograd.Function):
    """h_t = LSTM(gates_t + W (mask * h_{t-1})): gates (2, s, b, 4h), W (2, 4h, h), mask (2, b, h) to (2, s, b, h).

    The gradient of W is one product over all steps at the end, so each step of the way back has one product, not two.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
        size = weight.shape[2]
        hidden = gates.new_empty(
            2, gates.shape[1] + 1, gates.shape[2], size
        )  # with the zero state before the first step
        hidden[:, 0] = 0
        cells = torch.empty_like(hidden)
        cells[:, 0] = 0
        active = torch.empty_like(gates)
        for t in range(gates.shape[1]):
            a = torch.baddbmm(gates[:, t], hidden[:, t] * mask, weight.mT)
            a[..., : 2 * size].sigmoid_()
            a[..., 2 * size : 3 * size].tanh_()
            a[..., 3 * size :].sigmoid_()
            enter, keep, new, leave = a.chunk(4, -1)
            cells[:, t + 1] = torch.addcmul(enter * new, keep, cells[:, t])
            torch.mul(leave, cells[:, t + 1].tanh(), out=hidden[:, t + 1])
            active[:, t] = a
        ctx.save_for_backward(weight, mask, hidden, cells, active)
        return hidden[:, 1:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        weight, mask, hidden, cells, active = ctx.saved_tensors
        size = weight.shape[2]
        gates = torch.empty_like(active)
        to_hidden = to_cell = torch.zeros_like(mask)
        for t in range(active.shape[1] - 1, -1, -1):
            enter, keep, new, leave = active[:, t].chunk(4, -1)
            squashed = cells[:, t + 1].tanh()
            to_output = grad[:, t] + to_hidden
            to_cell = to_cell + to_output * leave * (1 - squashed * squashed)
            step = gates[:, t]
            torch.mul(to_cell * new, enter * (1 - enter), out=step[..., :size])
            torch.mul(to_cell * cells[:, t], keep * (1 - keep), out=step[..., size : 2 * size])
            torch.mul(to_cell * enter, 1 - new * new, out=step[..., 2 * size : 3 * size])
            torch.mul(to_output * squashed, leave * (1 - leave), out=step[..., 3 * size :])
            to_cell = to_cell * keep
            to_hidden = torch.bmm(step, weight) * mask
        before = (hidden[:, :-1] * mask[:, None]).flatten(1, 2)
        return gates, torch.bmm(gates.flatten(1, 2).mT, before), None
