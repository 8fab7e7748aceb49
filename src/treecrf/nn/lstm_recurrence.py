"""An LSTM layer's recurrence with a mask on the hidden state: the explanation, the join, and its gradient.

Both directions run at once over padded sequences, each over the positions that a sequence has. Tensors, with b
sequences of at most s positions and h hidden units:

    gates    (b, s, 2, 4, h)   what the input says to the four gates of each unit: enter, keep, new, leave
    weight   (2, 4h, h)        what the hidden state before says to them
    mask     (2, b, h)         multiplies the hidden state before; may be one row for all, expanded
    hidden, cells, masked      (b, s, 2, h): outputs, cells, and the masked state that entered each step
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def kernels_for(x: Tensor, size: int) -> ModuleType | None:
    """The kernels, where they can run `size` hidden units and their precision, which is TF32's, is allowed."""
    if not x.is_cuda or x.dtype == torch.float64 or not _tf32_allowed():
        return None
    try:
        from treecrf.nn import triton_lstm
    except ImportError:  # a build of torch that comes without Triton
        return None
    return triton_lstm if triton_lstm.fits(size, x.device) else None


def _tf32_allowed() -> bool:
    """Whether torch's own LSTM would use TF32; releases before 2.9 have one setting for all of cuDNN."""
    settings = getattr(torch.backends.cudnn, "rnn", None)
    return torch.backends.cudnn.allow_tf32 if settings is None else settings.fp32_precision == "tf32"


class Recurrence(torch.autograd.Function):
    """Hidden states (b, s, 2, h), zero in padding; the gates are used up."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        room = kernels_for(gates, gates.shape[-1])
        hidden, cells, masked = (forward if room is None else room.forward)(gates, weight, mask, lengths)
        ctx.save_for_backward(gates, weight, mask, lengths, cells, masked)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        gates, weight, mask, lengths, cells, masked = ctx.saved_tensors
        room = kernels_for(gates, gates.shape[-1])
        to_gates = (backward if room is None else room.backward)(grad, gates, cells, weight, mask, lengths)
        # one product over all steps, rather than one in each
        rows, entered = to_gates.flatten(3).flatten(0, 1), masked.flatten(0, 1).to(grad.dtype)
        return to_gates, torch.bmm(rows.permute(1, 2, 0), entered.transpose(0, 1)), None, None


def forward(gates: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states, cells, and what entered each step; `gates` become those that were used."""
    ready = _aligned(gates, lengths)
    hidden = torch.zeros_like(ready[..., 0, :])
    cells, masked = torch.zeros_like(hidden), torch.zeros_like(hidden)
    out = cell = torch.zeros_like(hidden[:, 0])
    for t in range(ready.shape[1]):
        masked[:, t] = out * mask
        step = ready[:, t] + (masked[:, t] @ weight.mT).view_as(ready[:, t])
        enter, keep, new, leave = step.unbind(-2)
        enter, keep, new, leave = enter.sigmoid(), keep.sigmoid(), new.tanh(), leave.sigmoid()
        cell = keep * cell + enter * new
        out = leave * cell.tanh()
        ready[:, t] = torch.stack([enter, keep, new, leave], -2)
        hidden[:, t], cells[:, t] = out, cell
    gates.copy_(_restored(ready, lengths))
    return _restored(hidden, lengths), _restored(cells, lengths), _restored(masked, lengths)


def backward(grad: Tensor, gates: Tensor, cells: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
    """The gradient of the gates before they were squashed."""
    ready, grads, states = _aligned(gates, lengths), _aligned(grad, lengths), _aligned(cells, lengths)
    to_gates = torch.zeros_like(ready)
    to_hidden = to_cell = torch.zeros_like(grads[:, 0])
    for t in range(ready.shape[1] - 1, -1, -1):
        enter, keep, new, leave = ready[:, t].unbind(-2)
        squashed = states[:, t].tanh()
        to_out = grads[:, t] + to_hidden
        to_cell = to_cell + to_out * leave * (1 - squashed * squashed)
        before = states[:, t - 1] if t else torch.zeros_like(squashed)
        to_enter = to_cell * new * enter * (1 - enter)
        to_keep = to_cell * before * keep * (1 - keep)
        to_new = to_cell * enter * (1 - new * new)
        to_leave = to_out * squashed * leave * (1 - leave)
        to_gates[:, t] = torch.stack([to_enter, to_keep, to_new, to_leave], -2)
        to_cell = to_cell * keep
        to_hidden = to_gates[:, t].flatten(2) @ weight * mask
    return _restored(to_gates, lengths)


def _aligned(x: Tensor, lengths: Tensor) -> Tensor:
    """(b, s, 2, ...) as (2, s, b, ...) where both directions start at step 0, with zeros where a sequence is over."""
    position = torch.arange(x.shape[1], device=x.device)
    there = position < lengths[:, None]
    order = torch.where(there, lengths[:, None] - 1 - position, position)
    rows = torch.arange(len(x), device=x.device)[:, None]
    both = torch.stack([x[:, :, 0], x[rows, order, 1]])
    return (both * there.view(1, *there.shape, *[1] * (x.dim() - 3))).transpose(1, 2)


def _restored(x: Tensor, lengths: Tensor) -> Tensor:
    """What `_aligned` took: a reversal is its own inverse."""
    there_and_back = (2, 1, 0, *range(3, x.dim()))
    return _aligned(x.permute(there_and_back), lengths).permute(there_and_back).contiguous()
