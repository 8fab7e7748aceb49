"""The layers of the network on the compiled kernels: linear layers, LSTMs, the BERT encoder and biaffine scorers.

Weights have 8 bits and one scale per output. Each input row is rounded to integers from 0 to `levels` on its own, so
the result of a sentence does not depend on the rest of its batch. All instruction sets give the same numbers. Rows with
8 bits need one product of bytes per weight. Rows with 14 bits need two, and trees almost always equal float32's trees.
`reference.py` has the same layers in float32.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import itemgetter
from types import SimpleNamespace

import numpy as np

from treecrf.arrays import AnyArray, Floats, Ints
from treecrf.network.data.distances import FARTHEST, distance_scores
from treecrf.network.data.model_config import BertConfig
from treecrf.network.runtime.weights import (
    LANES,
    TILE_COLUMNS,
    WIDE_LEVELS,
    Matrix,
    Weights,
    address_of,
    pack,
    rounded_to_bytes,
    split_classes,
    tile_gates,
)
from treecrf.threads import num_threads, run_on_threads

try:
    from treecrf.network.runtime import _kernels
except ImportError:  # installed on a machine without a C compiler
    is_compiled = False
else:
    is_compiled = True

_JOB_COUNTERS = 3  # JOB_COUNTERS in kernels.h
_TILE_ROWS = 12  # a multiple of TILE_ROWS in simd_*.h
_LSTM_BLOCK = 36  # maximal number of sequences that an LSTM advances at once: their states stay in the cache
_VARIABLE = "TREECRF_ISA"
_THREAD_ROWS = 16  # rows per thread: they take a few times as long as waking the thread
_ENCODER_ROWS = 4  # rows of a linear layer that take about as long as one row of the encoder


@cache
def instruction_set() -> str:
    """The instruction set of the kernels: the best one of this processor, or the one that TREECRF_ISA names."""
    if name := os.environ.get(_VARIABLE):
        available = _kernels.instruction_sets()
        if name not in available:
            raise ValueError(f"{_VARIABLE} is {name!r}; expected one that this processor has: {', '.join(available)}")
        _kernels.select(name)
    return _kernels.selected()


def is_fast() -> bool:
    """Whether the kernels use vector instructions for small integers, or TREECRF_ISA selects them."""
    return not instruction_set().startswith("scalar") or bool(os.environ.get(_VARIABLE))


def why_unsupported(encoder: BertConfig | None = None) -> str | None:
    """The reason why the kernels cannot run here, or cannot run this encoder; None if they can."""
    if not is_compiled:
        return "treecrf was installed without its compiled parts, as there was no C compiler"
    if encoder is None:
        return None
    head_size = encoder.hidden_size // encoder.num_attention_heads
    if encoder.hidden_size % TILE_COLUMNS or encoder.intermediate_size % TILE_COLUMNS or head_size % LANES:
        return (
            f"the encoder has hidden size {encoder.hidden_size}, intermediate size {encoder.intermediate_size} and "
            f"head size {head_size}; expected multiples of {TILE_COLUMNS}, {TILE_COLUMNS} and {LANES}"
        )
    return None


class Linear:
    """A linear layer, followed by a leaky ReLU with the given slope."""

    def __init__(
        self, weight: Matrix, bias: Floats | None = None, *, slope: float = 1.0, levels: int = WIDE_LEVELS
    ) -> None:
        outputs, inputs = weight.rows.shape
        self._sizes = inputs, outputs
        self._slope = slope
        self._parameters = _ParameterTable(pack(weight, bias, levels=levels))

    def __call__(self, x: Floats) -> Floats:
        """Outputs (..., outputs) for inputs (..., inputs)."""
        rows = _rows(x)
        out = np.empty((*x.shape[:-1], self._sizes[1]), np.float32)
        run_kernel(
            _kernels.linear, len(rows), out, rows=len(rows), inputs=self._sizes[0], outputs=self._sizes[1],
            stride=_stride(rows), slope=self._slope, table=self._parameters.addresses, x=rows,
        )  # fmt: skip
        return out


class SpanScorer:
    """[left; 1]' W [right; 1] of all spans.

    W has the blocks `weight` (size, size), `left` (size,), `right` (size,) and `bias` ().
    """

    def __init__(self, weight: Floats, left: Floats, right: Floats, bias: Floats, *, levels: int = WIDE_LEVELS) -> None:
        # a second row holds the rounding errors of `right` as bytes
        rows = np.concatenate([weight, right[None], (right - rounded_to_bytes(right))[None]])
        biases = np.concatenate([left, bias[None], np.zeros(1, np.float32)])
        self._right_product = Linear(Matrix(rows), biases, levels=levels)

    def __call__(self, left: Floats, right: Floats) -> Floats:
        """Scores (b, n, n) for boundary vectors (b, n, size)."""
        rows, half = _rows(left), self._right_product(right)
        half = np.concatenate([half[..., :-2], half[..., -2:].sum(-1, keepdims=True)], -1)
        sentences, boundaries, size = left.shape
        out = np.empty((sentences, boundaries, boundaries), np.float32)
        run_kernel(
            _kernels.score_chart, sentences * boundaries // 8, out, sentences=sentences, boundaries=boundaries,
            size=size, stride=_stride(rows), left=rows, half=half,
        )  # fmt: skip
        return out


class LabelScorer:
    """[left; 1]' W [right; 1] of selected spans, for each class.

    W has the blocks `weight` (classes, size, size), `left` (classes, size), `right` (classes, size), `bias` (classes,).
    """

    def __init__(self, weight: Floats, left: Floats, right: Floats, bias: Floats, *, levels: int = WIDE_LEVELS) -> None:
        classes, size, _ = weight.shape
        self._sizes = size, classes
        # The kernel computes 16 classes at a time, and adds up the bias first. The right boundary is multiplied first,
        # because bytes are stored with one scale for each left dimension.
        weights = np.concatenate([right[None], weight.swapaxes(0, 1)])  # (size + 1, classes, size)
        biases = np.concatenate([bias[None], left.T])
        rows = split_classes(weights).reshape(-1, size)
        flat_biases = split_classes(biases[..., None]).ravel()
        self._parameters = _ParameterTable(pack(Matrix(rows), flat_biases, levels=levels))

    def __call__(self, left: Floats, right: Floats, lefts: Ints, rights: Ints) -> Floats:
        """Scores (m, classes) of spans between boundaries `lefts` and `rights` (m,), among vectors (b, n, size)."""
        left_rows, right_rows = _rows(left), _rows(right)
        if _stride(left_rows) != _stride(right_rows):
            left_rows, right_rows = np.ascontiguousarray(left_rows), np.ascontiguousarray(right_rows)
        order = np.argsort(rights, kind="stable")
        out = np.empty((len(lefts), self._sizes[1]), np.float32)
        run_kernel(
            _kernels.score_labels, len(out), out, spans=len(out), size=self._sizes[0], classes=self._sizes[1],
            boundaries=len(left_rows), stride=_stride(left_rows), table=self._parameters.addresses,
            left=left_rows, right=right_rows, lefts=lefts[order], rights=rights[order],
        )  # fmt: skip
        scores = np.empty_like(out)
        scores[order] = out
        return scores


class Lstm:
    """A bidirectional LSTM layer, from weights and biases (2, 4 * size, ...) with the gates in PyTorch's order."""

    def __init__(self, inputs: Matrix, hidden: Matrix, bias: Floats, *, levels: int = WIDE_LEVELS) -> None:
        self._sizes = inputs.rows.shape[2], hidden.rows.shape[2]
        packed: list[AnyArray] = []
        for direction in range(2):
            select = itemgetter(direction)
            biases = tile_gates(bias[direction][:, None])[:, 0]
            packed += pack(inputs.map(select).map(tile_gates), biases, levels=levels)
            packed += pack(hidden.map(select).map(tile_gates), levels=levels)
        self._parameters = _ParameterTable(packed)

    def __call__(self, x: Floats, lengths: Ints) -> Floats:
        """Hidden states (b, s, 2, size) for inputs (b, s, d); zero in padding."""
        rows, order = _rows(x), np.argsort(-lengths, kind="stable")
        out = np.zeros((*x.shape[:2], 2, self._sizes[1]), np.float32)
        block = _lstm_block(len(x))
        blocks = 2 * -(-len(x) // block)  # each runs on one thread
        work = min(2 * int(lengths.sum()), blocks * _THREAD_ROWS)
        run_kernel(
            _kernels.lstm, work, out, sequences=len(x), width=x.shape[1], inputs=self._sizes[0], size=self._sizes[1],
            stride=_stride(rows), block=block, table=self._parameters.addresses, x=rows,
            lengths=np.ascontiguousarray(lengths), order=order,
        )  # fmt: skip
        return out


class Bert:
    """The BERT encoder; returns a weighted sum of its hidden states."""

    def __init__(self, config: BertConfig, weights: Weights, *, levels: int = WIDE_LEVELS) -> None:
        self._config = config
        embeddings = weights.below("embeddings")
        positions = embeddings["position_embeddings.weight"] + embeddings["token_type_embeddings.weight"][0]
        self._words = embeddings.matrix("word_embeddings.weight")
        table = weights.get("encoder.relative_attention_bias.weight")
        self._distance_scores = None if table is None else distance_scores(table)
        # entry 0 is the table of the vectors of a batch's pieces
        parameters = [np.empty(0), positions, *_norm(embeddings.below("LayerNorm"))]
        for number in range(config.num_hidden_layers):
            layer = weights.below(f"encoder.layer.{number}")
            attention = layer.below("attention")
            qkv = [attention.below(f"self.{name}") for name in ("query", "key", "value")]
            weight = Matrix.concatenate([linear.matrix("weight") for linear in qkv])
            parameters += pack(weight, np.concatenate([linear["bias"] for linear in qkv]), levels=levels)
            for block, *names in ((attention, "output.dense"), (layer, "intermediate.dense", "output.dense")):
                for linear in map(block.below, names):
                    parameters += pack(linear.matrix("weight"), linear["bias"], levels=levels)
                parameters += _norm(block.below("output.LayerNorm"))
        self._parameters = _ParameterTable(parameters)

    def __call__(
        self,
        pieces: Ints,
        lengths: Ints,
        layer_weights: Floats,
        piece_inputs: Floats | None = None,
        conditions: Floats | None = None,
    ) -> Floats:
        """The weighted sum of the last hidden states, (w, p, d), for pieces (w, p); undefined in padding.

        `layer_weights` belong to the last layers. `piece_inputs` (w, p, d) are added to the embeddings of pieces.
        `conditions` (layers + 1, w, p, d) are added to the hidden states of the embeddings and of each layer.
        """
        config = self._config
        layer_weights = np.pad(layer_weights, (config.num_hidden_layers + 1 - len(layer_weights), 0))
        inputs = None if piece_inputs is None else np.ascontiguousarray(piece_inputs)
        distinct, rows = np.unique(pieces, return_inverse=True)
        vectors = np.ascontiguousarray(self._words.vectors(distinct))
        parameters = self._parameters.addresses.copy()
        parameters[0] = address_of(vectors)
        out = np.empty((*pieces.shape, config.hidden_size), np.float32)
        run_kernel(
            _kernels.encode, int(lengths.sum()) * _ENCODER_ROWS, out, segments=len(pieces), width=pieces.shape[1],
            layers=config.num_hidden_layers, size=config.hidden_size, heads=config.num_attention_heads,
            inner=config.intermediate_size, words=len(vectors), positions=config.max_position_embeddings,
            farthest=0 if self._distance_scores is None else FARTHEST, epsilon=config.layer_norm_eps, table=parameters,
            pieces=rows.reshape(pieces.shape), lengths=np.ascontiguousarray(lengths), mix=layer_weights,
            distance_scores=self._distance_scores, added=inputs,
            conditions=None if conditions is None else np.ascontiguousarray(conditions),
        )  # fmt: skip
        return out


def layers(levels: int) -> SimpleNamespace:
    """The layers of this module with rows of `levels`, by the names of the classes in `reference.py`."""
    classes = (Linear, SpanScorer, LabelScorer, Lstm, Bert)
    return SimpleNamespace(
        mean_of_pieces=mean_of_pieces, **{layer.__name__: partial(layer, levels=levels) for layer in classes}
    )


def mean_of_pieces(hidden: Floats, rows: Ints, positions: Ints, counts: Ints, size: int) -> Floats:
    """The mean of each position's pieces, (size, d), for hidden states (w, p, d).

    `rows`, `positions` and `counts` are the piece fields of a batch: see network/data/batch.py.
    """
    out = np.empty((size, hidden.shape[-1]), np.float32)
    sizes = len(rows), hidden.shape[-1], size, hidden.shape[0] * hidden.shape[1]
    arrays = [np.ascontiguousarray(array) for array in (hidden, rows, positions, counts)]
    _kernels.mean_pool(*sizes, *map(address_of, (*arrays, out)))
    return out


def run_kernel(kernel: Callable[..., None], work: int, out: Floats, **arguments: AnyArray | float | None) -> None:
    """Runs a kernel on as many threads as `work` rows keep busy.

    `arguments` have the names and the order of _kernels.pyi, where arrays are addresses; None is a null address.
    """
    threads = max(1, min(num_threads(), work // _THREAD_ROWS))
    counter = np.zeros(_JOB_COUNTERS, np.int64)  # items that threads have claimed
    values = (address_of(value) if isinstance(value, np.ndarray) else value or 0 for value in arguments.values())
    run_on_threads(kernel, threads, *values, address_of(counter), address_of(out))


class _ParameterTable:
    """Arrays of parameters, which it keeps in memory, and their addresses as an array."""

    def __init__(self, parameters: Sequence[AnyArray]) -> None:
        self._parameters = [np.ascontiguousarray(parameter) for parameter in parameters]
        self.addresses = np.array(list(map(address_of, self._parameters)), np.int64)


def _rows(x: Floats) -> Floats:
    """All rows (m, d), each contiguous; copies them only if their stride is not constant."""
    rows = x.reshape(-1, x.shape[-1])
    return rows if rows.strides[1] == rows.itemsize else np.ascontiguousarray(rows)


def _stride(rows: Floats) -> int:
    """The distance of rows (m, d), in numbers."""
    return int(rows.strides[0] // rows.itemsize) if len(rows) > 1 else int(rows.shape[1])


def _lstm_block(sequences: int) -> int:
    """The number of sequences that an LSTM advances at once: few if threads share them, else blocks of equal size."""
    blocks = max(1, -(-sequences // _LSTM_BLOCK))
    return _TILE_ROWS if num_threads() > 1 else max(_TILE_ROWS, -(-sequences // blocks))


def _norm(weights: Weights) -> list[Floats]:
    return [weights["weight"], weights["bias"]]
