"""The speed: a whole LSTM layer's recurrence, forward and back, in one Triton launch each.

A direction's hidden units are shared out among programs that meet after every step, so that each one's columns of the
recurrent weights stay close to it, in half precision: ten bits of mantissa, as many as TF32 has. A grid whose programs
meet is launched cooperatively, so that all of them are on the device at once. The tensors are those of `recurrence.py`.
"""

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime import driver

from treecrf.chart.grid_sync import INTERPRETED, grid_barrier

# one compilation serves every shape of batch
SHAPES = ["start", "first", "last", "batch", "steps", "stride_direction", "stride_row"]
# gradients are scaled so that the largest that comes in is this, far from both ends of half precision
SCALED = tl.constexpr(256.0)
LARGEST = tl.constexpr(60000.0)
INNER_BACK = 128  # terms of a product at a time on the way back


class Plan(NamedTuple):
    """How one launch cuts its work."""

    units: int  # hidden units of a program
    rows: int  # sequences of a program
    warps: int
    groups: int | None = None  # of rows at once; as many as there are, where nobody meets

    def parts(self, size: int) -> int:
        return -(-size // self.units)


class Device(NamedTuple):
    """What a plan must fit on."""

    processors: int
    memory: int  # bytes that a program can share between its threads


@cache
def fits(size: int, device: torch.device) -> bool:
    """Whether a program's share of the weights of so many hidden units fits on a processor."""
    return INTERPRETED or all(plan(1, size, device_of(device), back=back) is not None for back in (False, True))


def plan(batch: int, size: int, device: Device, *, back: bool) -> Plan | None:
    """The cut that keeps all programs on the device at once, if there is one; preferences measured on an H200."""
    if size <= 64:
        return Plan(units=max(16, triton.next_power_of_2(size)), rows=32, warps=8)
    units = 32 if back else 16
    while 2 * -(-size // units) > device.processors:
        units *= 2
    groups = device.processors // (2 * -(-size // units))
    rows = min(64, max(16, triton.next_power_of_2(-(-batch // groups))))
    while _memory(rows, units, size, back=back) > device.memory:
        rows //= 2
        if rows < 16:
            return None
    return Plan(units, rows, 8, groups)


def _memory(rows: int, units: int, size: int, *, back: bool) -> int:
    """Bytes of the operands of a program's products; on the way back those are short and in three stages."""
    if back:
        return 2 * 3 * (rows + units) * INNER_BACK
    return 2 * (rows + 4 * units) * inner(size)


def inner(size: int) -> int:
    return max(16, int(triton.next_power_of_2(size)))


@cache
def device_of(device: torch.device) -> Device:
    if INTERPRETED:
        return Device(processors=132, memory=2**17)
    properties: dict[str, int] = driver.active.utils.get_device_properties(device.index)
    return Device(properties["multiprocessor_count"], properties["max_shared_mem"])


def _plan(gates: Tensor, *, back: bool) -> Plan:
    if INTERPRETED:
        return Plan(units=16, rows=16, warps=4, groups=1)
    cut = plan(len(gates), gates.shape[-1], device_of(gates.device), back=back)
    assert cut is not None, "asked before: fits()"
    return cut


@triton.jit
def _sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit
def _place(rows, length, t, direction, steps):
    """Where step t of each sequence stands: the backward direction starts at its last position."""
    return rows.to(tl.int64) * steps + tl.where(direction == 0, t, length - 1 - t)


@triton.jit
def _four(x, ROWS: tl.constexpr, UNITS: tl.constexpr):
    """The four gates of (ROWS, 4 * UNITS)."""
    even, odd = tl.split(tl.permute(tl.reshape(x, (ROWS, 2, 2, UNITS)), (0, 3, 1, 2)))
    enter, new = tl.split(even)
    keep, leave = tl.split(odd)
    return enter, keep, new, leave


@triton.jit
def _one(enter, keep, new, leave, ROWS: tl.constexpr, UNITS: tl.constexpr):
    """(ROWS, 4 * UNITS) of four gates."""
    both = tl.join(tl.join(enter, new), tl.join(keep, leave))  # (ROWS, UNITS, 2, 2)
    return tl.reshape(tl.permute(both, (0, 2, 3, 1)), (ROWS, 4 * UNITS))


@triton.jit
def _clear(out, rows, length, batch, steps, direction, inner, is_own, WIDTH: tl.constexpr):
    """Zeros for the padding of (b, s, 2, WIDTH)."""
    in_batch = rows < batch
    for t in range(tl.min(tl.where(in_batch, length, steps)), steps):
        at = ((rows.to(tl.int64) * steps + t) * 2 + direction)[:, None] * WIDTH + inner[None, :]
        tl.store(out + at, 0.0, mask=(in_batch & (length <= t))[:, None] & is_own[None, :])


# h_t = o * tanh(c_t), c_t = f * c_{t-1} + i * g, where i, f, g, o are gates_t + W (mask * h_{t-1}), squashed
# grid (PARTS, 2, groups of ROWS sequences); a program owns UNITS hidden units, for all steps in [first, last)
@triton.jit(do_not_specialize=SHAPES)
def recurrence_fwd_kernel(
    gates,
    weight,
    mask,
    lengths,
    hidden,
    cells,
    masked,
    meetings,
    start,
    first,
    last,
    batch,
    steps,
    stride_direction,
    stride_row,
    SIZE: tl.constexpr,
    INNER: tl.constexpr,
    PARTS: tl.constexpr,
    UNITS: tl.constexpr,
    ROWS: tl.constexpr,
):
    direction, group = tl.program_id(1), start + tl.program_id(2)
    rows = group * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    is_own = unit < SIZE
    column_unit = tl.program_id(0) * UNITS + tl.arange(0, 4 * UNITS) % UNITS
    column = tl.arange(0, 4 * UNITS) // UNITS * SIZE + column_unit  # gate by gate
    is_own_column = column_unit < SIZE
    inner = tl.arange(0, INNER)
    length = tl.load(lengths + rows, mask=rows < batch, other=0).to(tl.int32)
    kept = tl.load(
        mask + direction * stride_direction + rows[:, None] * stride_row + unit[None, :],
        mask=(rows < batch)[:, None] & is_own[None, :],
        other=0.0,
    )
    weights = tl.load(
        weight + direction * SIZE * 4 * SIZE + column[None, :] * SIZE + inner[:, None],
        mask=is_own_column[None, :] & (inner < SIZE)[:, None],
        other=0.0,
    )
    cell = tl.zeros((ROWS, UNITS), tl.float32)
    last = tl.minimum(last, tl.max(length, 0))
    for t in range(first, last):
        place = _place(rows, length, t, direction, steps) * 2 + direction
        there = (t < length)[:, None]
        at_unit = place[:, None] * SIZE + unit[None, :]
        at_gate = place[:, None] * (SIZE * 4) + column[None, :]
        own, own_gates = there & is_own[None, :], there & is_own_column[None, :]
        total = tl.load(gates + at_gate, mask=own_gates, other=0.0)
        if t > 0:
            before = tl.load(
                masked + place[:, None] * SIZE + inner[None, :],
                mask=there & (inner < SIZE)[None, :],
                other=0.0,
                cache_modifier=".cg",
            )
            total = tl.dot(before, weights, total)
        enter, keep, new, leave = _four(total, ROWS, UNITS)
        enter, keep, new, leave = _sigmoid(enter), _sigmoid(keep), _tanh(new), _sigmoid(leave)
        step_back = tl.where(direction == 0, -2, 2) * SIZE
        if (t == first) & (t > 0):
            cell = tl.load(cells + at_unit + step_back, mask=own, other=0.0)
        cell = keep * cell + enter * new
        out = leave * _tanh(cell)
        if t == 0:
            tl.store(masked + at_unit, 0.0, mask=own)
        tl.store(masked + at_unit - step_back, (out * kept).to(tl.float16), mask=own & (t + 1 < length)[:, None])
        tl.store(gates + at_gate, _one(enter, keep, new, leave, ROWS, UNITS), mask=own_gates)
        tl.store(cells + at_unit, cell, mask=own)
        tl.store(hidden + at_unit, out, mask=own)
        if t + 1 < last:
            grid_barrier(meetings + group * 2 + direction, t + 1 - first, PARTS)
    if first == 0:
        _clear(hidden, rows, length, batch, steps, direction, unit, is_own, SIZE)
        _clear(masked, rows, length, batch, steps, direction, unit, is_own, SIZE)


# the same backwards in time: steps [first, last) are counted from the end of the longest sequence
@triton.jit(do_not_specialize=SHAPES)
def recurrence_bwd_kernel(
    grad,
    largest,
    gates,
    weight,
    mask,
    lengths,
    cells,
    to_gates,
    shared,
    carried,
    meetings,
    start,
    first,
    last,
    batch,
    steps,
    stride_direction,
    stride_row,
    SIZE: tl.constexpr,
    INNER: tl.constexpr,
    PARTS: tl.constexpr,
    UNITS: tl.constexpr,
    ROWS: tl.constexpr,
    CARRIED: tl.constexpr,
):
    direction, group = tl.program_id(1), start + tl.program_id(2)
    rows = group * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    is_own = unit < SIZE
    column_unit = tl.program_id(0) * UNITS + tl.arange(0, 4 * UNITS) % UNITS
    column = tl.arange(0, 4 * UNITS) // UNITS * SIZE + column_unit  # gate by gate
    is_own_column = column_unit < SIZE
    length = tl.load(lengths + rows, mask=rows < batch, other=0).to(tl.int32)
    in_batch = (rows < batch)[:, None]
    at_row = (rows.to(tl.int64) * 2 + direction)[:, None]
    real = in_batch & is_own[None, :]
    kept = tl.load(
        mask + direction * stride_direction + rows[:, None] * stride_row + unit[None, :], mask=real, other=0.0
    )
    biggest = tl.load(largest)
    up = SCALED / tl.where(biggest > 0, biggest, SCALED)
    to_cell = tl.zeros((ROWS, UNITS), tl.float32)
    if CARRIED:
        to_cell = tl.load(carried + at_row * SIZE + unit[None, :], mask=real, other=0.0)
    slot = batch.to(tl.int64) * 2 * SIZE * 4
    longest = tl.max(length, 0)
    last = tl.minimum(last, longest)
    for back in range(first, last):
        t = longest - 1 - back
        place = _place(rows, length, t, direction, steps) * 2 + direction
        there = (t < length)[:, None]
        at_unit = place[:, None] * SIZE + unit[None, :]
        at_gate = place[:, None] * (SIZE * 4) + column[None, :]
        own, own_gates = there & is_own[None, :], there & is_own_column[None, :]
        to_out = tl.load(grad + at_unit, mask=own, other=0.0)
        if back > 0:
            total = tl.zeros((ROWS, UNITS), tl.float32)
            source = shared + (back + 1) % 2 * slot
            for begin in range(0, SIZE * 4, INNER):
                inner = begin + tl.arange(0, INNER)
                after = tl.load(
                    source + at_row * (SIZE * 4) + inner[None, :],
                    mask=in_batch & (inner < SIZE * 4)[None, :],
                    other=0.0,
                    cache_modifier=".cg",
                )
                weights = tl.load(
                    weight + direction * SIZE * 4 * SIZE + inner[:, None] * SIZE + unit[None, :],
                    mask=(inner < SIZE * 4)[:, None] & is_own[None, :],
                    other=0.0,
                )
                total = tl.dot(after, weights, total)
            to_out += total * kept / up
        enter, keep, new, leave = _four(tl.load(gates + at_gate, mask=own_gates, other=0.0), ROWS, UNITS)
        squashed = _tanh(tl.load(cells + at_unit, mask=own, other=0.0))
        step_back = tl.where(direction == 0, -2, 2) * SIZE
        later = tl.zeros((ROWS, 1), tl.int32) + t > 0
        cell_before = tl.load(cells + at_unit + step_back, mask=own & later, other=0.0)
        to_cell += to_out * leave * (1 - squashed * squashed)
        to_all = _one(
            to_cell * new * enter * (1 - enter),
            to_cell * cell_before * keep * (1 - keep),
            to_cell * enter * (1 - new * new),
            to_out * squashed * leave * (1 - leave),
            ROWS,
            UNITS,
        )
        to_cell *= keep
        tl.store(to_gates + at_gate, to_all, mask=own_gates)
        scaled = tl.minimum(tl.maximum(to_all * up, -LARGEST), LARGEST).to(tl.float16)
        tl.store(
            shared + back % 2 * slot + at_row * (SIZE * 4) + column[None, :],
            scaled,
            mask=in_batch & is_own_column[None, :],
        )
        if back + 1 < last:
            grid_barrier(meetings + group * 2 + direction, back + 1 - first, PARTS)
    if first == 0:
        _clear(to_gates, rows, length, batch, steps, direction, column, is_own_column, 4 * SIZE)
    if CARRIED:
        tl.store(carried + at_row * SIZE + unit[None, :], to_cell, mask=real)


def _launch(
    kernel: Any, cut: Plan, work: tuple[Tensor, ...], mask: Tensor, gates: Tensor, *, inner_size: int, **constants: Any
) -> None:
    batch, steps, _, size = *gates.shape[:3], gates.shape[4]
    parts, groups = cut.parts(size), -(-batch // cut.rows)
    meetings = torch.zeros(2 * groups, dtype=torch.int32, device=gates.device) if parts > 1 else gates
    ranges = [(0, steps)]
    if INTERPRETED and parts > 1:
        ranges = [(step, step + 1) for step in range(steps)]
    at_once = cut.groups or groups
    for (first, last), start in product(ranges, range(0, groups, at_once)):
        kernel[(parts, 2, min(at_once, groups - start))](
            *work,
            meetings,
            start,
            first,
            last,
            batch,
            steps,
            *mask.stride()[:2],
            SIZE=size,
            INNER=inner_size,
            PARTS=parts,
            UNITS=cut.units,
            ROWS=cut.rows,
            num_warps=cut.warps,
            launch_cooperative_grid=parts > 1,
            **constants,
        )


def forward(gates: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states, cells, and what entered each step; `gates` become those that were used."""
    batch, steps, _, _, size = gates.shape
    hidden = gates.new_empty(batch, steps, 2, size)
    cells = torch.empty_like(hidden)
    masked = torch.empty_like(hidden, dtype=torch.float16)
    cut = _plan(gates, back=False)
    work = (gates, weight.half(), mask, lengths, hidden, cells, masked)
    _launch(recurrence_fwd_kernel, cut, work, mask, gates, inner_size=inner(size))
    return hidden, cells, masked


def backward(grad: Tensor, gates: Tensor, cells: Tensor, weight: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
    """The gradient of the gates before they were squashed."""
    batch, _, _, _, size = gates.shape
    grad = grad.contiguous()
    largest = torch.linalg.vector_norm(grad, torch.inf)
    to_gates = torch.empty_like(gates)
    shared = torch.empty(2, batch, 2, 4 * size, dtype=torch.float16, device=gates.device)
    carried = torch.zeros_like(shared[0, ..., :size], dtype=gates.dtype) if INTERPRETED else cells
    cut = _plan(gates, back=True)
    work = (grad, largest, gates, weight.half(), mask, lengths, cells, to_gates, shared, carried)
    _launch(recurrence_bwd_kernel, cut, work, mask, gates, inner_size=INNER_BACK, CARRIED=INTERPRETED)
    return to_gates
