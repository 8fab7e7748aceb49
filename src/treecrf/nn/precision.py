"""In which numbers a network runs."""

from typing import Literal

import torch

from treecrf.nn.int8 import obstacle
from treecrf.nn.model import SpanModel

Precision = Literal["float32", "int8"]


def quantize(model: SpanModel, precision: Precision | None, device: torch.device) -> None:
    """Let the model's transformer run on 8-bit integers: where that is asked for, or unasked where it can be done."""
    if precision not in ("float32", "int8", None):
        raise ValueError(f"precision is {precision!r}; expected 'float32', 'int8' or None")
    if precision == "float32":
        return
    why = f"it runs on {device.type}" if device.type != "cpu" else None
    why = why or ("it has no transformer" if model.transformer is None else obstacle(model.transformer.encoder))
    if model.transformer is not None and why is None:
        model.transformer.quantize()
    elif precision == "int8":
        raise ValueError(f"the model cannot run on 8-bit integers: {why}; load it with precision='float32'")
