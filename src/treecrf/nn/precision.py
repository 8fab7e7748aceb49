"""In which numbers a network runs."""

from typing import Literal

import torch

from treecrf.nn.int8 import Linear, obstacle
from treecrf.nn.model import SpanModel
from treecrf.nn.scorer import Biaffine
from treecrf.nn.transformer import Transformer

Precision = Literal["float32", "int8"]


def quantize(model: SpanModel, precision: Precision | None, device: torch.device) -> None:
    """Let a model with a transformer run on 8-bit integers, where that is asked for, or unasked where it can be."""
    if precision not in ("float32", "int8", None):
        raise ValueError(f"precision is {precision!r}; expected 'float32', 'int8' or None")
    if precision == "float32":
        return
    why = f"it runs on {device.type}" if device.type != "cpu" else None
    why = why or ("it has no transformer" if model.transformer is None else obstacle(model.transformer.encoder))
    if why is None:
        for part in (model.transformer, model.span_scorer, model.label_scorer, model.tagger):
            if isinstance(part, Transformer | Biaffine | Linear):
                part.quantize()
    elif precision == "int8":
        raise ValueError(f"the model cannot run on 8-bit integers: {why}; load it with precision='float32'")
