"""Launches of the kernels of an LSTM: how many programs divide the units and sequences of a batch.

Programs wait for each other after every step, so a launch keeps all of them on the device at once.
"""

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from triton.runtime import driver

from treecrf.chart.grid_sync import INTERPRETED

BACKWARD_TERMS = 128  # terms of a dot product per block in the backward kernel


class LaunchConfig(NamedTuple):
    """Division of the work of a batch among the programs of a launch."""

    units: int  # hidden units per program
    rows: int  # sequences per program
    warps: int
    groups: int | None = None  # groups of `rows` sequences per launch; None for all, if no barrier is needed

    def programs(self, size: int) -> int:
        """The number of programs that divide `size` hidden units."""
        return -(-size // self.units)


class DeviceLimits(NamedTuple):
    """The resources of a device."""

    processors: int
    memory: int  # bytes of shared memory per program


@cache
def supports(size: int, device: torch.device) -> bool:
    """Whether a device can hold the weights of `size` hidden units."""
    limits = device_limits(device)
    return INTERPRETED or all(
        launch_config(1, size, limits, is_backward=is_backward) is not None for is_backward in (False, True)
    )


def launch_config(
    batch: int, size: int, device: DeviceLimits, *, is_backward: bool = False, is_half: bool = False
) -> LaunchConfig | None:
    """A configuration that keeps all programs on the device at once, or None; tuned on an H200."""
    if size <= 64:
        return LaunchConfig(units=max(16, triton.next_power_of_2(size)), rows=32, warps=8)
    units = 32 if is_backward or is_half else 16
    while 2 * -(-size // units) > device.processors:
        units *= 2
    groups = device.processors // (2 * -(-size // units))
    rows = min(64, max(16, triton.next_power_of_2(-(-batch // groups))))
    while _memory(rows, units, size, is_backward=is_backward) > device.memory:
        rows //= 2
        if rows < 16:
            return None
    return LaunchConfig(units, rows, 8, groups)


def _memory(rows: int, units: int, size: int, *, is_backward: bool) -> int:
    """Bytes of the operands of a program's products; the backward kernel loads short blocks in three stages."""
    if is_backward:
        return 2 * 3 * (rows + units) * BACKWARD_TERMS
    return 2 * (rows + 4 * units) * padded_size(size)


def padded_size(size: int) -> int:
    """Hidden units, padded to a power of two that `tl.dot` accepts."""
    return max(16, int(triton.next_power_of_2(size)))


@cache
def device_limits(device: torch.device) -> DeviceLimits:
    if INTERPRETED:
        return DeviceLimits(processors=132, memory=2**17)
    properties: dict[str, int] = driver.active.utils.get_device_properties(device.index)
    return DeviceLimits(properties["multiprocessor_count"], properties["max_shared_mem"])


def choose_config(gates: Tensor, *, is_backward: bool = False) -> LaunchConfig:
    """The configuration for gates (b, s, 2, 4, h); of inference if they have half precision."""
    if INTERPRETED:
        return LaunchConfig(units=16, rows=16, warps=4, groups=1)
    batch, size, limits = len(gates), gates.shape[-1], device_limits(gates.device)
    config = None
    if gates.dtype == torch.float16:
        config = launch_config(batch, size, limits, is_half=True)
    config = config or launch_config(batch, size, limits, is_backward=is_backward)
    assert config is not None, "the caller checks supports()"
    return config


def launch(
    kernel: Any,
    config: LaunchConfig,
    tensors: tuple[Tensor, ...],
    gates: Tensor,
    strides: tuple[int, ...] = (),
    **constants: Any,
) -> None:
    batch, steps, _, _, size = gates.shape
    programs, groups = config.programs(size), -(-batch // config.rows)
    barriers = torch.zeros(2 * groups, dtype=torch.int32, device=gates.device) if programs > 1 else gates
    ranges = [(0, steps)]
    if INTERPRETED and programs > 1:
        ranges = [(step, step + 1) for step in range(steps)]
    groups_per_launch = config.groups or groups
    for (first_step, end_step), first_group in product(ranges, range(0, groups, groups_per_launch)):
        kernel[(programs, 2, min(groups_per_launch, groups - first_group))](
            *tensors, barriers, first_group, first_step, end_step, batch, steps, *strides,
            SIZE=size, PROGRAMS=programs, UNITS=config.units, ROWS=config.rows,
            num_warps=config.warps, launch_cooperative_grid=programs > 1, **constants,
        )  # fmt: skip
