"""Launches of compiled Triton kernels with little work on the host."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from treecrf.chart.grid_sync import INTERPRETED


class LaunchConfig(NamedTuple):
    """Division of the work of a batch among the programs of a launch."""

    programs: int  # per sentence
    spans: int  # spans that a program computes at once
    splits: int  # splits of each span that it reads at once
    warps: int


_COMPILED: dict[tuple[Any, ...], Any] = {}  # compiled kernels by everything that their compilation depends on


def launch(
    kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], config: LaunchConfig, constants: tuple[Any, ...]
) -> None:
    """Launches a kernel; a compiled kernel directly, as Triton's launcher takes three times as long on the host.

    Compiled kernels assume aligned tensors. The first argument has the type of the scores; no other type varies.
    """
    scores = arguments[0]
    options = {"num_warps": config.warps, "launch_cooperative_grid": config.programs > 1}
    key = (kernel, scores.device, scores.dtype, config, constants)
    with torch.cuda.device_of(scores):
        if INTERPRETED or scores.numel() >= 2**31 or not _are_aligned(arguments):
            kernel[grid](*arguments, *constants, **options)
        elif key in _COMPILED:
            _COMPILED[key][grid](*arguments, *constants)
        else:
            _COMPILED[key] = kernel[grid](*arguments, *constants, **options)


def _are_aligned(arguments: tuple[Any, ...]) -> bool:
    return not any(argument.data_ptr() % 16 for argument in arguments if isinstance(argument, Tensor))
