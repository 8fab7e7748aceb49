"""Products of 8-bit integers on the CPU: the fast twins of linear layers, LSTMs, BERT and biaffine labels.

They are for inference alone. Weights have 8 bits and a scale for each output; so has each row that meets them, which
keeps a sentence's result free of its company. A twin is what its original was when the twin was made.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.chart.threads import on_threads
from treecrf.data.batch import Spans
from treecrf.nn.bert import Bert, Layer

try:
    from treecrf.runtime import _int8
except ImportError:  # installed on a machine without a C compiler
    _compiled = False
else:
    _compiled = True

_TILE = 64  # columns; see int8.c
_LANES = 16
_BLOCK = 12  # sequences that an LSTM reads side by side: whole tiles of rows
_THREAD_ROWS = 16  # that keep a thread busy for a few times as long as it takes to wake it up


def why_unsupported() -> str | None:
    """Why there are no such products here, if there are none."""
    if not _compiled:
        return "treecrf was installed without its compiled parts, as there was no C compiler"
    return None if _int8.available() else "this processor has no dot products of 8-bit integers (AVX-512 VNNI)"


def why_encoder_unsupported(encoder: nn.Module) -> str | None:
    """Why an encoder cannot run on 8-bit integers here, if it cannot."""
    if not isinstance(encoder, Bert):
        return f"the encoder is a {type(encoder).__name__}; expected a plain BERT"
    if why := why_unsupported():
        return why
    config = encoder.config
    head = config.hidden_size // config.num_attention_heads
    if config.hidden_size % _TILE or config.intermediate_size % _TILE or head % _LANES:
        return (
            f"the encoder's sizes are {config.hidden_size} and {config.intermediate_size}, its heads' {head}; expected "
            f"multiples of {_TILE} and {_LANES}"
        )
    return None


class Int8Linear:
    """A linear layer, and after it a leaky ReLU of some slope."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, *, slope: float = 1.0) -> None:
        self._sizes = weight.shape[1], len(weight)
        self._slope = slope
        self._parts = _pack(weight, bias)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (..., outputs) of inputs (..., inputs)."""
        rows = _rows(x)
        out = torch.empty(*x.shape[:-1], self._sizes[1])
        settings = (len(rows), *self._sizes, rows.stride(0), self._slope)
        _run(_int8.product, len(rows), *settings, table=self._parts, tensors=(rows,), out=out)
        return out


class Int8Chart:
    """[left; 1]' W [right; 1] of all spans, for the weights (size, size) of one class and those that meet a one."""

    @torch.no_grad()
    def __init__(self, weight: Tensor, left: Tensor, right: Tensor, bias: Tensor) -> None:
        self._ends = Int8Linear(torch.cat([weight, right[None]]), torch.cat([left, bias[None]]))

    def __call__(self, left: Tensor, right: Tensor) -> Tensor:
        """The scores (b, n, n) of boundaries (b, n, size)."""
        rows, half = _rows(left), self._ends(right)
        sentences, boundaries, size = left.shape
        out = torch.empty(sentences, boundaries, boundaries)
        settings = (sentences, boundaries, size, rows.stride(0))
        _run(_int8.chart, sentences * boundaries // 8, *settings, tensors=(rows, half), out=out)
        return out


class Int8Labels:
    """[left; 1]' W [right; 1] of chosen spans, for weights (classes, size, size) and those that meet a one."""

    @torch.no_grad()
    def __init__(self, weight: Tensor, left: Tensor, right: Tensor, bias: Tensor) -> None:
        classes, size, _ = weight.shape
        self._sizes = size, classes
        # Classes lie side by side, in whole vectors, so that a span's are summed without a sum across lanes.
        room = (0, -classes % _LANES)
        weights = torch.cat([weight.permute(2, 0, 1), left[None]])  # (size + 1, classes, size)
        biases = torch.cat([right.T, bias[None]])
        self._parts = _pack(F.pad(weights, (0, 0, *room)).flatten(0, 1), F.pad(biases, room).flatten())

    def __call__(self, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        """The scores of m spans, (m, classes), of boundaries (b, n, size)."""
        left, right = _rows(left), _rows(right)
        if left.stride(0) != right.stride(0):
            left, right = left.contiguous(), right.contiguous()
        out = torch.empty(len(spans.lefts), self._sizes[1])
        settings = (len(out), *self._sizes, left.stride(0))
        ends = left, right, spans.lefts.contiguous(), spans.rights.contiguous()
        _run(_int8.labels, len(out), *settings, table=self._parts, tensors=ends, out=out)
        return out


class Int8Lstm:
    """A forward and a backward LSTM, of weights and biases (2, 4 * size, ...) with the gates in torch's order."""

    @torch.no_grad()
    def __init__(self, inputs: Tensor, hidden: Tensor, bias: Tensor) -> None:
        self._sizes = inputs.shape[2], hidden.shape[2]
        self._parts = []
        for of_inputs, of_hidden, added in zip(inputs, hidden, bias, strict=True):
            self._parts += _pack(_units(of_inputs), _units(added[:, None])[:, 0]) + _pack(_units(of_hidden))

    def __call__(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The hidden states (b, s, 2, size) of inputs (b, s, d), zero in padding."""
        rows, order = _rows(x), lengths.argsort(descending=True)
        out = torch.zeros(*x.shape[:2], 2, self._sizes[1])
        settings = (*x.shape[:2], *self._sizes, rows.stride(0), _BLOCK)
        directions = 2 * -(-len(x) // _BLOCK)  # of one block each, which is one thread's
        work = min(2 * int(lengths.sum()), directions * _THREAD_ROWS)
        tensors = rows, lengths.contiguous(), order
        _run(_int8.lstm, work, *settings, table=self._parts, tensors=tensors, out=out)
        return out


class Int8Bert:
    """The encoder of BERT, giving a weighted sum of its hidden states."""

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
        places = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        parts = [embeddings.word_embeddings.weight.detach(), places, *_norm(embeddings.LayerNorm)]
        for layer in cast("Iterable[Layer]", bert.encoder.layer):
            heads, attended = layer.attention.self, layer.attention.output
            three = [heads.query, heads.key, heads.value]
            parts += _pack(torch.cat([part.weight for part in three]), torch.cat([part.bias for part in three]))
            parts += _linear(attended.dense) + _norm(attended.LayerNorm)
            parts += _linear(layer.intermediate.dense) + _linear(layer.output.dense) + _norm(layer.output.LayerNorm)
        self._parts = parts

    def __call__(self, pieces: Tensor, lengths: Tensor, shares: Tensor, added: Tensor | None = None) -> Tensor:
        """The sum of `shares` of the last hidden states of pieces (w, p), (w, p, d); in padding it means nothing.

        What is `added` (w, p, d) is added to the pieces' own vectors.
        """
        shares = F.pad(shares.detach(), (self._sizes[0] + 1 - len(shares), 0))
        nothing = shares.new_empty(0)  # whose address is null
        tensors = pieces.contiguous(), lengths.contiguous(), shares, nothing if added is None else added.contiguous()
        out = torch.empty(*pieces.shape, self._sizes[1])
        settings = (*pieces.shape, *self._sizes, self._epsilon)
        work = min(int(lengths.sum()), len(pieces) * _THREAD_ROWS)  # a window is one thread's
        _run(_int8.encode, work, *settings, table=self._parts, tensors=tensors, out=out)
        return out


class CompiledUtility:
    """The compiled version of `ExpectedF1.best_labels`: see decoding/expected_f1.py."""

    def __init__(self, constituents: Tensor, counts: Tensor, threshold: float, empty_label: int) -> None:
        self._settings = (*constituents.shape, empty_label, threshold)
        first_columns = F.pad(constituents.sum(1).long().cumsum(0), (1, 0))  # rows of a sparse matrix
        self._tensors = first_columns, constituents.nonzero()[:, 1].contiguous(), counts

    def __call__(self, label_scores: Tensor, marginals: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the utility and the label of each span, for label scores (spans, labels) and marginals (spans,)."""
        spans = len(label_scores)
        utility, labels = torch.empty(spans), torch.empty(spans, dtype=torch.int64)
        tensors = label_scores.contiguous(), marginals.contiguous(), *self._tensors, utility
        _run(_int8.label_utility, spans // 8, spans, *self._settings, tensors=tensors, out=labels)
        return utility, labels


def mean_of_pieces(hidden: Tensor, rows: Tensor, places: Tensor, shares: Tensor, positions: int) -> Tensor:
    """The mean over each position's pieces, (positions, d), of hidden states (w, p, d): see a batch's piece fields."""
    out = torch.empty(positions, hidden.shape[-1])
    tensors = (hidden.contiguous(), rows.contiguous(), places.contiguous(), shares.contiguous(), out)
    _int8.pool(len(rows), hidden.shape[-1], positions, *(tensor.data_ptr() for tensor in tensors))
    return out


def _rows(x: Tensor) -> Tensor:
    """All rows (m, d), each in one piece, without a copy where they lie evenly."""
    rows = x.reshape(-1, x.shape[-1])
    return rows if rows.stride(1) == 1 else rows.contiguous()


def _run(
    kernel: Callable[..., None],
    work: int,
    *settings: Any,
    table: list[Tensor] | None = None,
    tensors: tuple[Tensor, ...],
    out: Tensor,
) -> None:
    """Call a kernel on as many threads as `work` rows keep busy."""
    threads = max(1, min(torch.get_num_threads(), work // _THREAD_ROWS))
    if table is not None:
        tensors = (torch.tensor([part.data_ptr() for part in table]), *tensors)
    taken = torch.zeros(1, dtype=torch.int64)
    pointers = [tensor.data_ptr() for tensor in (*tensors, taken, out)]
    on_threads(kernel, threads, *settings, *pointers)


@torch.no_grad()
def _pack(weight: Tensor, bias: Tensor | None = None) -> list[Tensor]:
    """Weights (outputs, inputs) in tiles of integers, their scales, sums of integers, and the biases."""
    weight = weight.detach().float().contiguous()
    outputs, inputs = len(weight) + -len(weight) % _TILE, weight.shape[1] + -weight.shape[1] % _LANES
    tiles = torch.zeros(outputs // _TILE, inputs // 4, _TILE, 4, dtype=torch.int8)
    scales, sums, biases = torch.zeros(3, outputs).unbind()
    _int8.pack(*weight.shape, *(tensor.data_ptr() for tensor in (weight, tiles, scales, sums)))
    if bias is not None:
        biases[: len(bias)] = bias
    return [tiles, scales, sums, biases]


def _units(weight: Tensor) -> Tensor:
    """Weights (4 * size, inputs) in the order of lstm.c: of each 16 units, filled up with zeros, the four gates."""
    gates = weight.detach().view(4, -1, weight.shape[1])
    gates = F.pad(gates, (0, 0, 0, -gates.shape[1] % _LANES)).view(4, -1, _LANES, weight.shape[1])
    return gates.transpose(0, 1).flatten(0, 2)


def _linear(linear: nn.Linear) -> list[Tensor]:
    return _pack(linear.weight, linear.bias)


def _norm(norm: nn.LayerNorm) -> list[Tensor]:
    return [norm.weight.detach(), norm.bias.detach()]
