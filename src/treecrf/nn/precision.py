"""In which numbers a network runs."""

from typing import Literal

import torch

from treecrf.nn.embed import CharLSTM
from treecrf.nn.int8 import Linear, missing, obstacle
from treecrf.nn.lstm import BiLSTM
from treecrf.nn.model import SpanModel
from treecrf.nn.scorer import Biaffine
from treecrf.nn.transformer import Transformer

Precision = Literal["float32", "int8"]


def quantize(model: SpanModel, precision: Precision | None, device: torch.device) -> None:
    """Let a model run on 8-bit integers, where that is asked for, or unasked where it can be."""
    if precision not in ("float32", "int8", None):
        raise ValueError(f"precision is {precision!r}; expected 'float32', 'int8' or None")
    if precision == "float32":
        return
    why = f"it runs on {device.type}" if device.type != "cpu" else missing()
    if why is None and model.transformer is not None:
        why = obstacle(model.transformer.encoder)
    if why is None:
        chars = None if model.inputs is None else model.inputs.chars
        for part in (chars, model.transformer, model.lstm, model.span_scorer, model.label_scorer, model.tagger):
            if isinstance(part, CharLSTM | Transformer | BiLSTM | Biaffine | Linear):
                part.quantize()
    elif precision == "int8":
        raise ValueError(f"the model cannot run on 8-bit integers: {why}; load it with precision='float32'")
