"""The functions of `cpu_backend` for tensors on the CPU, which share their memory with its arrays."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from treecrf.chart import cpu_backend


def _for_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def on_tensors(*arguments: Any) -> Any:
        results = function(*map(_to_array, arguments))
        return tuple(map(torch.from_numpy, results)) if isinstance(results, tuple) else torch.from_numpy(results)

    return on_tensors


def _to_array(argument: Any) -> Any:
    if not isinstance(argument, Tensor):
        return argument
    if argument.is_floating_point():  # NumPy has no bfloat16
        argument = argument.to(torch.promote_types(argument.dtype, torch.float32))
    return argument.detach().numpy()


inside = _for_tensors(cpu_backend.inside)
outside = _for_tensors(cpu_backend.outside)
cky = _for_tensors(cpu_backend.cky)
label_chart = _for_tensors(cpu_backend.label_chart)
label_weights = _for_tensors(cpu_backend.label_weights)
