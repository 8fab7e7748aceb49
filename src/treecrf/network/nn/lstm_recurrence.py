"""The recurrence of a bidirectional LSTM layer with a dropout mask on the hidden state, and its gradient.

`LSTMRecurrence` runs the Triton kernels if they support the device and size, else `forward` and `backward` of this
module, which define the computation. Both directions run at once over padded sequences. Tensors, for b sequences of at
most s positions and h hidden units:

    gates    (b, s, 2, 4, h)   inputs of the gates i, f, g, o of each unit; `forward` overwrites them with their values
    weight   (2, 4h, h)        recurrent weights
    mask     (2, s, b, h)      multiplies the previous hidden state of each step; may be expanded over steps and
                               sequences. Step 0 of the backward direction is the last position of a sequence
    hidden, cells              (b, s, 2, h): hidden states and cell states
    masked                     (b, s, 2, h): the masked previous hidden state of each step
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from treecrf.network.nn.half_precision import runs_kernels
from treecrf.network.nn.rounding import is_rounding, round_rows


def find_triton_kernels(x: Tensor, size: int) -> ModuleType | None:
    """The module of Triton kernels, if they support `size` hidden units and PyTorch allows their precision, TF32."""
    if x.dtype == torch.float64 or not (_tf32_allowed() or x.dtype == torch.float16) or is_rounding():
        return None
    if not runs_kernels(x):
        return None
    from treecrf.network.nn import triton_lstm, triton_lstm_launch

    return triton_lstm if triton_lstm_launch.supports(size, x.device) else None


def _tf32_allowed() -> bool:
    """Whether torch's LSTM would use TF32; before PyTorch 2.9, one setting applies to all of cuDNN."""
    settings = getattr(torch.backends.cudnn, "rnn", None)
    return torch.backends.cudnn.allow_tf32 if settings is None else settings.fp32_precision == "tf32"


class LSTMRecurrence(torch.autograd.Function):
    """Computes hidden states (b, s, 2, h), zero in padding; overwrites `gates`."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        kernels = find_triton_kernels(gates, gates.shape[-1])
        run = forward if kernels is None else kernels.forward
        hidden, cells, masked = run(gates, weight, mask, lengths)
        ctx.is_rounded = is_rounding()
        ctx.save_for_backward(gates, weight, mask, lengths, cells, masked)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor) -> tuple[Tensor, Tensor, None, None]:
        gates, weight, mask, lengths, cells, masked = ctx.saved_tensors
        kernels = None if ctx.is_rounded else find_triton_kernels(gates, gates.shape[-1])
        run = backward if kernels is None else kernels.backward
        grad_gates = run(grad_hidden, gates, cells, weight, mask, lengths)
        # one product over all steps is faster than one in each step
        gate_rows, hidden_rows = grad_gates.flatten(3).flatten(0, 1), masked.flatten(0, 1).to(grad_hidden.dtype)
        return grad_gates, torch.bmm(gate_rows.permute(1, 2, 0), hidden_rows.transpose(0, 1)), None, None


def forward(gates: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns `hidden`, `cells` and `masked`; overwrites `gates` with their values after the activation."""
    steps = _align(gates, lengths)
    hidden = torch.zeros_like(steps[..., 0, :])
    cells, masked = torch.zeros_like(hidden), torch.zeros_like(hidden)
    h = c = torch.zeros_like(hidden[:, 0])
    for t in range(steps.shape[1]):
        masked[:, t] = round_rows(h * mask[:, t]) if is_rounding() else h * mask[:, t]
        inputs = steps[:, t] + (masked[:, t] @ weight.mT).view_as(steps[:, t])
        i, f, g, o = inputs.unbind(-2)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        h = o * c.tanh()
        steps[:, t] = torch.stack([i, f, g, o], -2)
        hidden[:, t], cells[:, t] = h, c
    gates.copy_(_unalign(steps, lengths))
    return _unalign(hidden, lengths), _unalign(cells, lengths), _unalign(masked, lengths)


def backward(
    grad_hidden: Tensor, gates: Tensor, cells: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor
) -> Tensor:
    """Returns the gradient of the gates before the activation."""
    steps, grads, states = _align(gates, lengths), _align(grad_hidden, lengths), _align(cells, lengths)
    grad_gates = torch.zeros_like(steps)
    grad_h_next = grad_c = torch.zeros_like(grads[:, 0])
    for t in range(steps.shape[1] - 1, -1, -1):
        i, f, g, o = steps[:, t].unbind(-2)
        tanh_c = states[:, t].tanh()
        grad_h = grads[:, t] + grad_h_next
        grad_c = grad_c + grad_h * o * (1 - tanh_c * tanh_c)
        c_before = states[:, t - 1] if t else torch.zeros_like(tanh_c)
        grad_i = grad_c * g * i * (1 - i)
        grad_f = grad_c * c_before * f * (1 - f)
        grad_g = grad_c * i * (1 - g * g)
        grad_o = grad_h * tanh_c * o * (1 - o)
        grad_gates[:, t] = torch.stack([grad_i, grad_f, grad_g, grad_o], -2)
        grad_c = grad_c * f
        grad_h_next = grad_gates[:, t].flatten(2) @ weight * mask[:, t]
    return _unalign(grad_gates, lengths)


def _align(x: Tensor, lengths: Tensor) -> Tensor:
    """(b, s, 2, ...) as (2, s, b, ...), where both directions start at step 0, with zeros after the end."""
    position = torch.arange(x.shape[1], device=x.device)
    is_inside = position < lengths[:, None]
    order = torch.where(is_inside, lengths[:, None] - 1 - position, position)
    rows = torch.arange(len(x), device=x.device)[:, None]
    both = torch.stack([x[:, :, 0], x[rows, order, 1]])
    return (both * is_inside.view(1, *is_inside.shape, *[1] * (x.dim() - 3))).transpose(1, 2)


def _unalign(x: Tensor, lengths: Tensor) -> Tensor:
    """The inverse of `_align`; a reversal is its own inverse."""
    dims = (2, 1, 0, *range(3, x.dim()))
    return _align(x.permute(dims), lengths).permute(dims).contiguous()
