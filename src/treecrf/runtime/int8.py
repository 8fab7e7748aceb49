"""Int8 kernels on the CPU: linear layers, LSTMs, the BERT encoder and biaffine scorers.

They are for inference only. Weights have 8 bits and one scale per output. Each input row is quantized on its own, so
the result of a sentence does not depend on the rest of its batch. The instruction set decides how many bits a row has:
8 with the dot products of VNNI, up to 14 otherwise. A kernel object keeps the weights that it was made from.
"""

import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.chart.threads import run_on_threads
from treecrf.data.batch import Spans
from treecrf.nn.bert import Bert, BertLayer

try:
    from treecrf.runtime import _kernels
except ImportError:  # installed on a machine without a C compiler
    _compiled = False
else:
    _compiled = True

_LANES = 16  # LANES, TILE in kernels.h
_TILE_COLUMNS = 64
_LSTM_BLOCK = 12  # sequences that an LSTM advances at once: complete tiles of rows
_VARIABLE = "TREECRF_ISA"
_FAST = ("avx512vnni", "avxvnni", "avx2", "neon-i8mm", "neon")
_THREAD_ROWS = 16  # rows per thread: they take a few times as long as waking the thread


def why_unsupported() -> str | None:
    """The reason why int8 kernels cannot run here, or None if they can."""
    if not _compiled:
        return "treecrf was installed without its compiled parts, as there was no C compiler"
    if instruction_set() == "scalar" and not os.environ.get(_VARIABLE):
        return f"this processor has none of the instruction sets {', '.join(_FAST)}"
    return None


@cache
def instruction_set() -> str:
    """The instruction set of the kernels: the best one of this processor, or the one that TREECRF_ISA names."""
    if name := os.environ.get(_VARIABLE):
        available = _kernels.instruction_sets()
        if name not in available:
            raise ValueError(f"{_VARIABLE} is {name!r}; expected one that this processor has: {', '.join(available)}")
        _kernels.select(name)
    return _kernels.selected()


def why_encoder_unsupported(encoder: nn.Module) -> str | None:
    """The reason why an encoder cannot run on 8-bit integers here, or None if it can."""
    if not isinstance(encoder, Bert):
        return f"the encoder is a {type(encoder).__name__}; expected a plain BERT"
    if reason := why_unsupported():
        return reason
    config = encoder.config
    head_size = config.hidden_size // config.num_attention_heads
    if config.hidden_size % _TILE_COLUMNS or config.intermediate_size % _TILE_COLUMNS or head_size % _LANES:
        return (
            f"the encoder has hidden size {config.hidden_size}, intermediate size {config.intermediate_size} and head "
            f"size {head_size}; expected multiples of {_TILE_COLUMNS}, {_TILE_COLUMNS} and {_LANES}"
        )
    return None


class Int8Linear:
    """A linear layer, followed by a leaky ReLU with the given slope."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, *, slope: float = 1.0) -> None:
        self._sizes = weight.shape[1], len(weight)
        self._slope = slope
        self._parameters = _pack(weight, bias)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (..., outputs) for inputs (..., inputs)."""
        rows = _rows(x)
        out = torch.empty(*x.shape[:-1], self._sizes[1])
        settings = (len(rows), *self._sizes, rows.stride(0), self._slope)
        _run(_kernels.linear, len(rows), *settings, parameters=self._parameters, tensors=(rows,), out=out)
        return out


class Int8Chart:
    """[left; 1]' W [right; 1] of all spans.

    W has the blocks `weight` (size, size), `left` (size,), `right` (size,) and `bias` ().
    """

    @torch.no_grad()
    def __init__(self, weight: Tensor, left: Tensor, right: Tensor, bias: Tensor) -> None:
        self._right_product = Int8Linear(torch.cat([weight, right[None]]), torch.cat([left, bias[None]]))

    def __call__(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores (b, n, n) for boundary vectors (b, n, size)."""
        rows, half = _rows(left), self._right_product(right)
        sentences, boundaries, size = left.shape
        out = torch.empty(sentences, boundaries, boundaries)
        settings = (sentences, boundaries, size, rows.stride(0))
        _run(_kernels.score_chart, sentences * boundaries // 8, *settings, tensors=(rows, half), out=out)
        return out


class Int8Labels:
    """[left; 1]' W [right; 1] of selected spans, for each class.

    W has the blocks `weight` (classes, size, size), `left` (classes, size), `right` (classes, size), `bias` (classes,).
    """

    @torch.no_grad()
    def __init__(self, weight: Tensor, left: Tensor, right: Tensor, bias: Tensor) -> None:
        classes, size, _ = weight.shape
        self._sizes = size, classes
        # classes are contiguous and padded to vectors, so that the kernel never sums across lanes
        padding = (0, -classes % _LANES)
        weights = torch.cat([weight.permute(2, 0, 1), left[None]])  # (size + 1, classes, size)
        biases = torch.cat([right.T, bias[None]])
        self._parameters = _pack(F.pad(weights, (0, 0, *padding)).flatten(0, 1), F.pad(biases, padding).flatten())

    def __call__(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """Scores of m spans, (m, classes), for boundary vectors (b, n, size)."""
        left, right = _rows(left), _rows(right)
        if left.stride(0) != right.stride(0):
            left, right = left.contiguous(), right.contiguous()
        out = torch.empty(len(spans.lefts), self._sizes[1])
        settings = (len(out), *self._sizes, len(left), left.stride(0))
        tensors = left, right, spans.lefts.contiguous(), spans.rights.contiguous()
        _run(_kernels.score_spans, len(out), *settings, parameters=self._parameters, tensors=tensors, out=out)
        return out


class Int8Lstm:
    """A bidirectional LSTM layer, from weights and biases (2, 4 * size, ...) with the gates in PyTorch's order."""

    @torch.no_grad()
    def __init__(self, inputs: Tensor, hidden: Tensor, bias: Tensor) -> None:
        self._sizes = inputs.shape[2], hidden.shape[2]
        self._parameters = []
        for input_weight, hidden_weight, biases in zip(inputs, hidden, bias, strict=True):
            self._parameters += _pack(_tile_gates(input_weight), _tile_gates(biases[:, None])[:, 0])
            self._parameters += _pack(_tile_gates(hidden_weight))

    def __call__(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Hidden states (b, s, 2, size) for inputs (b, s, d); zero in padding."""
        rows, order = _rows(x), lengths.argsort(descending=True)
        out = torch.zeros(*x.shape[:2], 2, self._sizes[1])
        settings = (*x.shape[:2], *self._sizes, rows.stride(0), _LSTM_BLOCK)
        blocks = 2 * -(-len(x) // _LSTM_BLOCK)  # each runs on one thread
        work = min(2 * int(lengths.sum()), blocks * _THREAD_ROWS)
        tensors = rows, lengths.contiguous(), order
        _run(_kernels.lstm, work, *settings, parameters=self._parameters, tensors=tensors, out=out)
        return out


class Int8Bert:
    """The BERT encoder; returns a weighted sum of its hidden states."""

    @torch.no_grad()
    def __init__(self, bert: Bert) -> None:
        config, embeddings = bert.config, bert.embeddings
        self._sizes = (
            config.num_hidden_layers,
            config.hidden_size,
            config.num_attention_heads,
            config.intermediate_size,
            config.vocab_size,
            config.max_position_embeddings,
        )
        self._epsilon = config.layer_norm_eps
        positions = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        parameters = [embeddings.word_embeddings.weight.detach(), positions, *_norm(embeddings.LayerNorm)]
        for layer in cast("Iterable[BertLayer]", bert.encoder.layer):
            attention, attention_output = layer.attention.self, layer.attention.output
            qkv = [attention.query, attention.key, attention.value]
            weight, bias = torch.cat([linear.weight for linear in qkv]), torch.cat([linear.bias for linear in qkv])
            parameters += _pack(weight, bias)
            parameters += _linear(attention_output.dense) + _norm(attention_output.LayerNorm)
            parameters += _linear(layer.intermediate.dense)
            parameters += _linear(layer.output.dense) + _norm(layer.output.LayerNorm)
        self._parameters = parameters

    def __call__(
        self, pieces: Tensor, lengths: Tensor, layer_weights: Tensor, piece_inputs: Tensor | None = None
    ) -> Tensor:
        """The weighted sum of the last hidden states, (w, p, d), for pieces (w, p); undefined in padding.

        `layer_weights` are those of the last layers. `piece_inputs` (w, p, d) are added to the embeddings of pieces.
        """
        layer_weights = F.pad(layer_weights.detach(), (self._sizes[0] + 1 - len(layer_weights), 0))
        if piece_inputs is None:
            piece_inputs = layer_weights.new_empty(0)  # its address is null
        tensors = pieces.contiguous(), lengths.contiguous(), layer_weights, piece_inputs.contiguous()
        out = torch.empty(*pieces.shape, self._sizes[1])
        settings = (*pieces.shape, *self._sizes, self._epsilon)
        work = min(int(lengths.sum()), len(pieces) * _THREAD_ROWS)  # a segment runs on one thread
        _run(_kernels.encode, work, *settings, parameters=self._parameters, tensors=tensors, out=out)
        return out


class CompiledUtility:
    """The compiled version of `ExpectedF1.best_labels`: see decoding/expected_f1.py."""

    def __init__(self, constituents: Tensor, counts: Tensor, threshold: float, empty_label: int) -> None:
        self._settings = (*constituents.shape, int(constituents.sum()), empty_label, threshold)
        first_columns = F.pad(constituents.sum(1).long().cumsum(0), (1, 0))  # rows of a sparse matrix
        self._tensors = first_columns, constituents.nonzero()[:, 1].contiguous(), counts

    def __call__(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the utility and the label of each span, for label scores (spans, labels) and marginals (spans,)."""
        spans = len(label_scores)
        utility, labels = torch.empty(spans), torch.empty(spans, dtype=torch.int64)
        tensors = label_scores.contiguous(), marginals.contiguous(), *self._tensors, utility
        _run(_kernels.label_utility, spans // 8, spans, *self._settings, tensors=tensors, out=labels)
        return utility, labels


def mean_of_pieces(hidden: Tensor, rows: Tensor, positions: Tensor, counts: Tensor, size: int) -> Tensor:
    """The mean of each position's pieces, (size, d), for hidden states (w, p, d).

    `rows`, `positions` and `counts` are the piece fields of a batch: see data/batch.py.
    """
    out = torch.empty(size, hidden.shape[-1])
    tensors = (hidden.contiguous(), rows.contiguous(), positions.contiguous(), counts.contiguous(), out)
    sizes = len(rows), hidden.shape[-1], size, hidden.shape[:-1].numel()
    _kernels.mean_pool(*sizes, *(tensor.data_ptr() for tensor in tensors))
    return out


def _rows(x: Tensor) -> Tensor:
    """All rows (m, d), each contiguous; copies them only if their stride is not constant."""
    rows = x.reshape(-1, x.shape[-1])
    return rows if rows.stride(1) == 1 else rows.contiguous()


def _run(
    kernel: Callable[..., None],
    work: int,
    *settings: Any,
    parameters: list[Tensor] | None = None,
    tensors: tuple[Tensor, ...],
    out: Tensor,
) -> None:
    """Runs a kernel on as many threads as `work` rows keep busy."""
    threads = max(1, min(torch.get_num_threads(), work // _THREAD_ROWS))
    if parameters is not None:
        table = torch.tensor([parameter.data_ptr() for parameter in parameters])
        tensors = (table, *tensors)
    counter = torch.zeros(1, dtype=torch.int64)  # of the items that threads have claimed
    addresses = [tensor.data_ptr() for tensor in (*tensors, counter, out)]
    run_on_threads(kernel, threads, *settings, *addresses)


@torch.no_grad()
def _pack(weight: Tensor, bias: Tensor | None = None) -> list[Tensor]:
    """Packs weights (outputs, inputs) for a kernel: tiles of integers, scales, sums of integers, and biases."""
    weight = weight.detach().float().contiguous()
    outputs, inputs = len(weight) + -len(weight) % _TILE_COLUMNS, weight.shape[1] + -weight.shape[1] % _LANES
    tiles = torch.zeros(outputs // _TILE_COLUMNS, inputs // 4, _TILE_COLUMNS, 4, dtype=torch.int8)
    scales, sums, biases = torch.zeros(3, outputs).unbind()
    _kernels.pack(*weight.shape, *(tensor.data_ptr() for tensor in (weight, tiles, scales, sums)))
    if bias is not None:
        biases[: len(bias)] = bias
    return [tiles, scales, sums, biases]


def _tile_gates(weight: Tensor) -> Tensor:
    """Reorders weights (4 * size, inputs) for lstm.h: the four gates of each 16 units, padded with zeros."""
    gates = weight.detach().view(4, -1, weight.shape[1])
    gates = F.pad(gates, (0, 0, 0, -gates.shape[1] % _LANES)).view(4, -1, _LANES, weight.shape[1])
    return gates.transpose(0, 1).flatten(0, 2)


def _linear(linear: nn.Linear) -> list[Tensor]:
    return _pack(linear.weight, linear.bias)


def _norm(norm: nn.LayerNorm) -> list[Tensor]:
    return [norm.weight.detach(), norm.bias.detach()]
