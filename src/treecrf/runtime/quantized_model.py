"""Int8 inference on the CPU: a copy of a model whose large products run on 8-bit integers.

The copy shares the float parameters of the original and replaces its linear layers, LSTMs, BERT encoder and biaffine
scorers with modules that hold packed weights. It is for inference only. After further training of the original, make
a new copy: packed weights stay as they were, while embeddings and other float parameters are shared.
"""

import copy
from collections.abc import Iterable
from typing import Literal, TypeVar, cast

import torch
from torch import Tensor, nn

from treecrf.data.batch import Batch, SequenceLengths, Spans
from treecrf.nn import SpanModel
from treecrf.nn.bert import Bert
from treecrf.nn.embeddings import CharLSTM, WordInputs
from treecrf.nn.lstm import BiLSTM, BiLSTMLayer
from treecrf.nn.scorers import LEAKY_SLOPE, MLP, Biaffine
from treecrf.nn.transformer import Transformer, spread_over_pieces
from treecrf.runtime.int8 import (
    Int8Bert,
    Int8Chart,
    Int8Labels,
    Int8Linear,
    Int8Lstm,
    mean_of_pieces,
    why_encoder_unsupported,
    why_unsupported,
)

Precision = Literal["float32", "int8"]
Module = TypeVar("Module", bound=nn.Module)


def quantize(model: SpanModel, precision: Precision | None, device: torch.device) -> SpanModel | None:
    """The int8 copy of a model, or None if it runs in float32.

    Without a `precision`, a model runs on 8-bit integers wherever they are supported.
    """
    if precision not in ("float32", "int8", None):
        raise ValueError(f"precision is {precision!r}; expected 'float32', 'int8' or None")
    if precision == "float32":
        return None
    reason = f"it runs on {device.type}" if device.type != "cpu" else why_unsupported()
    if reason is None and model.transformer is not None:
        reason = why_encoder_unsupported(model.transformer.encoder)
    if reason is None:
        return _quantized(model)
    if precision == "int8":
        raise ValueError(f"the model cannot run on 8-bit integers: {reason}; load it with precision='float32'")
    return None


def _quantized(model: SpanModel) -> SpanModel:
    replacements: dict[str, nn.Module] = {}
    if model.inputs is not None:
        replacements["inputs"] = _quantized_inputs(model.inputs)
    if model.transformer is not None:
        replacements["transformer"] = Int8Transformer(model.transformer)
    if model.lstm is not None:
        replacements["lstm"] = _quantized_lstm(model.lstm)
    for name in ("span_scorer", "label_scorer"):
        scorer = getattr(model, name)
        if isinstance(scorer, Biaffine):
            replacements[name] = Int8Biaffine(scorer)
    if model.tagger is not None:
        replacements["tagger"] = _Int8LinearLayer(model.tagger)
    return _with_modules(model, replacements)


def _quantized_inputs(inputs: WordInputs) -> WordInputs:
    if inputs.chars is None:
        return inputs
    chars: CharLSTM = _with_modules(inputs.chars, {"lstm": Int8LSTMLayer(inputs.chars.lstm)})
    return _with_modules(inputs, {"chars": chars})


def _quantized_lstm(lstm: BiLSTM) -> BiLSTM:
    layers = nn.ModuleList(Int8LSTMLayer(layer) for layer in cast("Iterable[BiLSTMLayer]", lstm.layers))
    return _with_modules(lstm, {"layers": layers})


def _with_modules(module: Module, replacements: dict[str, nn.Module]) -> Module:
    """A shallow copy of a module in which some submodules are replaced."""
    copied = copy.copy(module)
    copied._modules = {**module._modules, **replacements}
    return copied


class _Int8LinearLayer(nn.Module):
    """`nn.Linear` on 8-bit integers."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._linear = Int8Linear(linear.weight, linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self._linear(x)


class Int8LSTMLayer(nn.Module):
    """`nn.lstm.BiLSTMLayer` on 8-bit integers."""

    def __init__(self, layer: BiLSTMLayer) -> None:
        super().__init__()
        self._lstm = Int8Lstm(layer.weight_input, layer.weight_hidden, layer.bias_input + layer.bias_hidden)

    def forward(self, x: Tensor, lengths: SequenceLengths, *, mask: None = None) -> Tensor:
        """Both directions over padded sequences, (b, s, d) to (b, s, 2, h)."""
        return self._lstm(x, lengths.on_device)


class _Int8MLP(nn.Module):
    """`nn.scorers.MLP` on 8-bit integers."""

    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self.size = mlp.size
        self._linear = Int8Linear(mlp.linear.weight, mlp.linear.bias, slope=LEAKY_SLOPE)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.split(self._linear(x), self.size, -1)


class Int8Biaffine(nn.Module):
    """`nn.scorers.Biaffine` on 8-bit integers; the chart of a scorer with several classes is computed in float32."""

    def __init__(self, biaffine: Biaffine) -> None:
        super().__init__()
        self._float = biaffine
        self._boundaries = _Int8MLP(biaffine.boundaries)
        classes, size = biaffine.weight_right.shape
        left = torch.zeros(classes, size) if biaffine.weight_left is None else biaffine.weight_left
        bias = torch.zeros(classes) if biaffine.bias is None else biaffine.bias
        weights = biaffine.weight, left, biaffine.weight_right, bias
        self._chart = Int8Chart(*(weight[0] for weight in weights)) if classes == 1 else None
        self._labels = Int8Labels(*weights)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Left and right boundary vectors of context vectors (b, n, d)."""
        left, right = self._boundaries(x)
        return left, right

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores of all spans, (b, n, n, classes), for boundary vectors (b, n, d)."""
        if self._chart is None:
            return self._float(left, right)  # type: ignore[no-any-return]
        return self._chart(left, right)[..., None]

    def at(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """Scores of m spans, (m, classes), for boundary vectors (b, n, d)."""
        return self._labels(left, right, spans)


class Int8Transformer(nn.Module):
    """`nn.transformer.Transformer` on 8-bit integers, for our own BERT."""

    def __init__(self, transformer: Transformer) -> None:
        super().__init__()
        assert isinstance(transformer.encoder, Bert), "quantize() checks the encoder"
        self.size = transformer.size
        self._bert = Int8Bert(transformer.encoder)
        self._layer_weights = (transformer.mix.scale * transformer.mix.normalized_weights).detach()
        self._entry = _optional_linear(transformer.entry)
        self._linear = _optional_linear(transformer.linear)

    def forward(self, batch: Batch, word_inputs: Tensor | None = None) -> Tensor:
        """One vector per word, (b, n + 2, size); `word_inputs` (b, n + 2, d) are added to the embeddings of pieces."""
        assert batch.pieces is not None and batch.segment_lengths is not None
        piece_inputs = None
        if self._entry is not None and word_inputs is not None:
            piece_inputs = spread_over_pieces(self._entry(word_inputs), batch)
        hidden = self._bert(batch.pieces, batch.segment_lengths, self._layer_weights, piece_inputs)
        assert batch.piece_index is not None and batch.piece_words is not None and batch.piece_counts is not None
        positions = batch.words.numel() + 1  # the last one is for pieces that belong to no word
        means = mean_of_pieces(hidden, batch.piece_index, batch.piece_words, batch.piece_counts, positions)
        vectors = means[:-1].view(*batch.words.shape, -1)
        return vectors if self._linear is None else self._linear(vectors)


def _optional_linear(linear: nn.Linear | None) -> Int8Linear | None:
    return None if linear is None else Int8Linear(linear.weight, linear.bias)
