"""Triton kernels for the recurrence of an LSTM layer: one launch forward, one launch backward, one for inference.

Several programs divide the hidden units of a direction, with a barrier after every step. Each program keeps its columns
of the recurrent weights on its processor, in half precision, which has ten bits of mantissa, like TF32. Such a grid is
launched cooperatively, so that all programs are on the device at once. `lstm_recurrence.py` defines the tensors.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from treecrf.chart.grid_sync import INTERPRETED, grid_barrier
from treecrf.network.nn.triton_lstm_launch import BACKWARD_TERMS, choose_config, launch, padded_size

# one compilation serves all shapes of batches
SHAPES = ["first_group", "first_step", "end_step", "batch", "steps", "stride_direction", "stride_step", "stride_row"]
# gradients are scaled so that the largest incoming one has this value, far from both limits of half precision
GRAD_SCALE = tl.constexpr(256.0)
MAX_HALF = tl.constexpr(60000.0)


@triton.jit
def _sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit
def _units_and_columns(SIZE: tl.constexpr, UNITS: tl.constexpr):
    """The hidden units of this program and their columns, gate by gate, each with a mask for those that exist."""
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    column_unit = tl.program_id(0) * UNITS + tl.arange(0, 4 * UNITS) % UNITS
    return unit, unit < SIZE, tl.arange(0, 4 * UNITS) // UNITS * SIZE + column_unit, column_unit < SIZE


@triton.jit
def _positions(rows, length, t, direction, steps):
    """Index of step t of each sequence among the b * s positions; the backward direction starts at the last one."""
    return rows.to(tl.int64) * steps + tl.where(direction == 0, t, length - 1 - t)


@triton.jit
def _split_gates(x, ROWS: tl.constexpr, UNITS: tl.constexpr):
    """Splits (ROWS, 4 * UNITS) into the gates i, f, g, o, (ROWS, UNITS) each."""
    even, odd = tl.split(tl.permute(tl.reshape(x, (ROWS, 2, 2, UNITS)), (0, 3, 1, 2)))
    i, g = tl.split(even)
    f, o = tl.split(odd)
    return i, f, g, o


@triton.jit
def _join_gates(i, f, g, o, ROWS: tl.constexpr, UNITS: tl.constexpr):
    """Joins the gates i, f, g, o, (ROWS, UNITS) each, to (ROWS, 4 * UNITS)."""
    both = tl.join(tl.join(i, g), tl.join(f, o))  # (ROWS, UNITS, 2, 2)
    return tl.reshape(tl.permute(both, (0, 2, 3, 1)), (ROWS, 4 * UNITS))


@triton.jit
def _load_weights(weight, direction, column, is_column, term, SIZE: tl.constexpr):
    """The recurrent weights of this program's columns, transposed, (TERMS, 4 * UNITS)."""
    at = weight + direction * SIZE * 4 * SIZE + column[None, :] * SIZE + term[:, None]
    return tl.load(at, mask=is_column[None, :] & (term < SIZE)[:, None], other=0.0)


@triton.jit
def _clear_padding(out, rows, length, batch, steps, direction, column, is_column, WIDTH: tl.constexpr):
    """Writes zeros to the padding of (b, s, 2, WIDTH)."""
    in_batch = rows < batch
    for t in range(tl.min(tl.where(in_batch, length, steps)), steps):
        at = ((rows.to(tl.int64) * steps + t) * 2 + direction)[:, None] * WIDTH + column[None, :]
        tl.store(out + at, 0.0, mask=(in_batch & (length <= t))[:, None] & is_column[None, :])


# Forward: h_t = o * tanh(c_t), c_t = f * c_{t-1} + i * g, where i, f, g, o are the activations of
# gates_t + W (mask * h_{t-1}). Grid (PROGRAMS, 2, groups of ROWS sequences). A program computes UNITS hidden units of
# one direction and group, for the steps [first_step, end_step).
@triton.jit(do_not_specialize=SHAPES)
def recurrence_fwd_kernel(
    gates, weight, mask, lengths, hidden, cells, masked, barriers,
    first_group, first_step, end_step, batch, steps, stride_direction, stride_step, stride_row,
    SIZE: tl.constexpr, TERMS: tl.constexpr, PROGRAMS: tl.constexpr, UNITS: tl.constexpr, ROWS: tl.constexpr,
    MASK_PER_STEP: tl.constexpr,
):  # fmt: skip
    direction, group = tl.program_id(1), first_group + tl.program_id(2)
    rows = group * ROWS + tl.arange(0, ROWS)
    unit, is_unit, column, is_column = _units_and_columns(SIZE, UNITS)
    term = tl.arange(0, TERMS)
    length = tl.load(lengths + rows, mask=rows < batch, other=0).to(tl.int32)
    at_mask = mask + direction * stride_direction + rows[:, None] * stride_row + unit[None, :]
    mask_values = tl.load(at_mask, mask=(rows < batch)[:, None] & is_unit[None, :], other=0.0)
    weights = _load_weights(weight, direction, column, is_column, term, SIZE)
    c = tl.zeros((ROWS, UNITS), tl.float32)
    end_step = tl.minimum(end_step, tl.max(length, 0))
    for t in range(first_step, end_step):
        position = _positions(rows, length, t, direction, steps) * 2 + direction
        is_inside = (t < length)[:, None]
        at_unit = position[:, None] * SIZE + unit[None, :]
        at_gate = position[:, None] * (SIZE * 4) + column[None, :]
        unit_mask, gate_mask = is_inside & is_unit[None, :], is_inside & is_column[None, :]
        inputs = tl.load(gates + at_gate, mask=gate_mask, other=0.0)
        if t > 0:
            h_before = tl.load(
                masked + position[:, None] * SIZE + term[None, :],
                mask=is_inside & (term < SIZE)[None, :],
                other=0.0,
                cache_modifier=".cg",
            )
            inputs = tl.dot(h_before, weights, inputs)
        i, f, g, o = _split_gates(inputs, ROWS, UNITS)
        i, f, g, o = _sigmoid(i), _sigmoid(f), _tanh(g), _sigmoid(o)
        to_previous = tl.where(direction == 0, -2, 2) * SIZE
        if (t == first_step) & (t > 0):
            c = tl.load(cells + at_unit + to_previous, mask=unit_mask, other=0.0)
        c = f * c + i * g
        h = o * _tanh(c)
        if t == 0:
            tl.store(masked + at_unit, 0.0, mask=unit_mask)
        has_next = unit_mask & (t + 1 < length)[:, None]
        if MASK_PER_STEP:
            mask_values = tl.load(at_mask + stride_step.to(tl.int64) * (t + 1), mask=has_next, other=0.0)
        tl.store(masked + at_unit - to_previous, (h * mask_values).to(tl.float16), mask=has_next)
        tl.store(gates + at_gate, _join_gates(i, f, g, o, ROWS, UNITS), mask=gate_mask)
        tl.store(cells + at_unit, c, mask=unit_mask)
        tl.store(hidden + at_unit, h, mask=unit_mask)
        if t + 1 < end_step:
            grid_barrier(barriers + group * 2 + direction, t + 1 - first_step, PROGRAMS)
    if first_step == 0:
        _clear_padding(hidden, rows, length, batch, steps, direction, unit, is_unit, SIZE)
        _clear_padding(masked, rows, length, batch, steps, direction, unit, is_unit, SIZE)


# Inference: the hidden states of the forward kernel without a mask, which reads them as the states of step t - 1. Gates
# and hidden states have half precision. The interpreter carries `cells` from one launch to the next.
@triton.jit(do_not_specialize=SHAPES[:5])
def hidden_states_kernel(
    gates, weight, lengths, hidden, cells, barriers, first_group, first_step, end_step, batch, steps,
    SIZE: tl.constexpr, TERMS: tl.constexpr, PROGRAMS: tl.constexpr, UNITS: tl.constexpr, ROWS: tl.constexpr,
    CARRY: tl.constexpr,
):  # fmt: skip
    direction, group = tl.program_id(1), first_group + tl.program_id(2)
    rows = group * ROWS + tl.arange(0, ROWS)
    unit, is_unit, column, is_column = _units_and_columns(SIZE, UNITS)
    term = tl.arange(0, TERMS)
    length = tl.load(lengths + rows, mask=rows < batch, other=0).to(tl.int32)
    weights = _load_weights(weight, direction, column, is_column, term, SIZE)
    to_previous = tl.where(direction == 0, -2, 2) * SIZE
    c = tl.zeros((ROWS, UNITS), tl.float32)
    end_step = tl.minimum(end_step, tl.max(length, 0))
    for t in range(first_step, end_step):
        position = _positions(rows, length, t, direction, steps) * 2 + direction
        is_inside = (t < length)[:, None]
        at_unit = position[:, None] * SIZE + unit[None, :]
        unit_mask, gate_mask = is_inside & is_unit[None, :], is_inside & is_column[None, :]
        at_gate = position[:, None] * (SIZE * 4) + column[None, :]
        inputs = tl.load(gates + at_gate, mask=gate_mask, other=0.0).to(tl.float32)
        if t > 0:
            at_previous = position[:, None] * SIZE + to_previous + term[None, :]
            h_mask = is_inside & (term < SIZE)[None, :]
            h_before = tl.load(hidden + at_previous, mask=h_mask, other=0.0, cache_modifier=".cg")
            inputs = tl.dot(h_before, weights, inputs)
            if CARRY:
                c = tl.load(cells + at_unit + to_previous, mask=unit_mask, other=0.0)
        i, f, g, o = _split_gates(inputs, ROWS, UNITS)
        c = _sigmoid(f) * c + _sigmoid(i) * _tanh(g)
        tl.store(hidden + at_unit, (_sigmoid(o) * _tanh(c)).to(tl.float16), mask=unit_mask)
        if CARRY:
            tl.store(cells + at_unit, c, mask=unit_mask)
        if t + 1 < end_step:
            grid_barrier(barriers + group * 2 + direction, t + 1 - first_step, PROGRAMS)
    if first_step == 0:
        _clear_padding(hidden, rows, length, batch, steps, direction, unit, is_unit, SIZE)


# Backward: the gradients of the gates, with the same grid. Steps [first_step, end_step) count from the end of the
# longest sequence. Programs exchange scaled gradients of one step through `exchange`, (2, b, 2, 4 * SIZE).
@triton.jit(do_not_specialize=SHAPES)
def recurrence_bwd_kernel(
    grad_hidden, largest_grad, gates, weight, mask, lengths, cells, grad_gates, exchange, carried_grad_c, barriers,
    first_group, first_step, end_step, batch, steps, stride_direction, stride_step, stride_row,
    SIZE: tl.constexpr, TERMS: tl.constexpr, PROGRAMS: tl.constexpr, UNITS: tl.constexpr, ROWS: tl.constexpr,
    MASK_PER_STEP: tl.constexpr, CARRY: tl.constexpr,
):  # fmt: skip
    direction, group = tl.program_id(1), first_group + tl.program_id(2)
    rows = group * ROWS + tl.arange(0, ROWS)
    unit, is_unit, column, is_column = _units_and_columns(SIZE, UNITS)
    length = tl.load(lengths + rows, mask=rows < batch, other=0).to(tl.int32)
    in_batch = (rows < batch)[:, None]
    at_row = (rows.to(tl.int64) * 2 + direction)[:, None]
    row_mask = in_batch & is_unit[None, :]
    at_mask = mask + direction * stride_direction + rows[:, None] * stride_row + unit[None, :]
    mask_values = tl.load(at_mask, mask=row_mask, other=0.0)
    largest = tl.load(largest_grad)
    scale = GRAD_SCALE / tl.where(largest > 0, largest, GRAD_SCALE)
    grad_c = tl.zeros((ROWS, UNITS), tl.float32)
    if CARRY:
        grad_c = tl.load(carried_grad_c + at_row * SIZE + unit[None, :], mask=row_mask, other=0.0)
    exchange_size = batch.to(tl.int64) * 2 * SIZE * 4
    longest = tl.max(length, 0)
    end_step = tl.minimum(end_step, longest)
    for step in range(first_step, end_step):
        t = longest - 1 - step
        position = _positions(rows, length, t, direction, steps) * 2 + direction
        is_inside = (t < length)[:, None]
        at_unit = position[:, None] * SIZE + unit[None, :]
        at_gate = position[:, None] * (SIZE * 4) + column[None, :]
        unit_mask, gate_mask = is_inside & is_unit[None, :], is_inside & is_column[None, :]
        grad_h = tl.load(grad_hidden + at_unit, mask=unit_mask, other=0.0)
        if step > 0:
            recurrent_grad = tl.zeros((ROWS, UNITS), tl.float32)
            source = exchange + (step + 1) % 2 * exchange_size
            for first_term in range(0, SIZE * 4, TERMS):
                term = first_term + tl.arange(0, TERMS)
                grads_after = tl.load(
                    source + at_row * (SIZE * 4) + term[None, :],
                    mask=in_batch & (term < SIZE * 4)[None, :],
                    other=0.0,
                    cache_modifier=".cg",
                )
                weights = tl.load(
                    weight + direction * SIZE * 4 * SIZE + term[:, None] * SIZE + unit[None, :],
                    mask=(term < SIZE * 4)[:, None] & is_unit[None, :],
                    other=0.0,
                )
                recurrent_grad = tl.dot(grads_after, weights, recurrent_grad)
            if MASK_PER_STEP:
                has_next = unit_mask & (t + 1 < length)[:, None]
                mask_values = tl.load(at_mask + stride_step.to(tl.int64) * (t + 1), mask=has_next, other=0.0)
            grad_h += recurrent_grad * mask_values / scale
        i, f, g, o = _split_gates(tl.load(gates + at_gate, mask=gate_mask, other=0.0), ROWS, UNITS)
        tanh_c = _tanh(tl.load(cells + at_unit, mask=unit_mask, other=0.0))
        to_previous = tl.where(direction == 0, -2, 2) * SIZE
        has_previous = tl.zeros((ROWS, 1), tl.int32) + t > 0
        c_before = tl.load(cells + at_unit + to_previous, mask=unit_mask & has_previous, other=0.0)
        grad_c += grad_h * o * (1 - tanh_c * tanh_c)
        grad_all = _join_gates(
            grad_c * g * i * (1 - i),
            grad_c * c_before * f * (1 - f),
            grad_c * i * (1 - g * g),
            grad_h * tanh_c * o * (1 - o),
            ROWS,
            UNITS,
        )
        grad_c *= f
        tl.store(grad_gates + at_gate, grad_all, mask=gate_mask)
        scaled = tl.minimum(tl.maximum(grad_all * scale, -MAX_HALF), MAX_HALF).to(tl.float16)
        tl.store(
            exchange + step % 2 * exchange_size + at_row * (SIZE * 4) + column[None, :],
            scaled,
            mask=in_batch & is_column[None, :],
        )
        if step + 1 < end_step:
            grid_barrier(barriers + group * 2 + direction, step + 1 - first_step, PROGRAMS)
    if first_step == 0:
        _clear_padding(grad_gates, rows, length, batch, steps, direction, column, is_column, 4 * SIZE)
    if CARRY:
        tl.store(carried_grad_c + at_row * SIZE + unit[None, :], grad_c, mask=row_mask)


def _mask_settings(mask: Tensor) -> dict[str, Any]:
    return {"strides": mask.stride()[:3], "MASK_PER_STEP": mask.stride(1) > 0}


def forward(gates: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns `hidden`, `cells` and `masked`; overwrites `gates` with their values after the activation."""
    batch, steps, _, _, size = gates.shape
    hidden = gates.new_empty(batch, steps, 2, size)
    cells = torch.empty_like(hidden)
    masked = torch.empty_like(hidden, dtype=torch.float16)
    config = choose_config(gates)
    tensors = (gates, weight.half(), mask, lengths, hidden, cells, masked)
    launch(recurrence_fwd_kernel, config, tensors, gates, TERMS=padded_size(size), **_mask_settings(mask))
    return hidden, cells, masked


def hidden_states(gates: Tensor, weight: Tensor, lengths: Tensor) -> Tensor:
    """The hidden states (b, s, 2, h), zero in padding, for gates and weights in half precision."""
    hidden = gates.new_empty(*gates.shape[:3], gates.shape[-1])
    cells = torch.empty_like(hidden, dtype=torch.float32) if INTERPRETED else hidden
    tensors = (gates, weight, lengths, hidden, cells)
    launch(
        hidden_states_kernel,
        choose_config(gates),
        tensors,
        gates,
        TERMS=padded_size(gates.shape[-1]),
        CARRY=INTERPRETED,
    )
    return hidden


def backward(
    grad_hidden: Tensor, gates: Tensor, cells: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor
) -> Tensor:
    """Returns the gradient of the gates before the activation."""
    batch, _, _, _, size = gates.shape
    grad_hidden = grad_hidden.contiguous()
    largest_grad = torch.linalg.vector_norm(grad_hidden, torch.inf)
    grad_gates = torch.empty_like(gates)
    exchange = torch.empty(2, batch, 2, 4 * size, dtype=torch.float16, device=gates.device)
    # only the interpreter, with its launch for each step, carries a gradient from one launch to the next
    carried_grad_c = torch.zeros_like(exchange[0, ..., :size], dtype=gates.dtype) if INTERPRETED else cells
    config = choose_config(gates, is_backward=True)
    inputs = (grad_hidden, largest_grad, gates, weight.half(), mask, lengths, cells)
    tensors = (*inputs, grad_gates, exchange, carried_grad_c)
    settings = _mask_settings(mask)
    launch(recurrence_bwd_kernel, config, tensors, gates, TERMS=BACKWARD_TERMS, CARRY=INTERPRETED, **settings)
    return grad_gates
