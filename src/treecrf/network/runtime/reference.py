"""The layers of the network in NumPy and float32: the definition of the compiled kernels' results.

The tests compare the kernels with them. They also run where the kernels cannot.
"""

import numpy as np

from treecrf.arrays import Floats, Ints, Mask
from treecrf.network.data.distances import FARTHEST, distance_scores
from treecrf.network.data.model_config import BertConfig
from treecrf.network.runtime.weights import Matrix, Weights, softmax


class Linear:
    """A linear layer, followed by a leaky ReLU with the given slope."""

    def __init__(self, weight: Matrix, bias: Floats | None = None, *, slope: float = 1.0) -> None:
        self._weight, self._slope = np.ascontiguousarray(weight.to_float32().T), np.float32(slope)
        self._bias = np.float32(0) if bias is None else bias

    def __call__(self, x: Floats) -> Floats:
        """Outputs (..., outputs) for inputs (..., inputs)."""
        out = x @ self._weight + self._bias
        return out if self._slope == 1 else np.maximum(out, self._slope * out)


class SpanScorer:
    """[left; 1]' W [right; 1] of all spans.

    W has the blocks `weight` (size, size), `left` (size,), `right` (size,) and `bias` ().
    """

    def __init__(self, weight: Floats, left: Floats, right: Floats, bias: Floats) -> None:
        rows, biases = np.concatenate([weight, right[None]]), np.concatenate([left, bias[None]])
        self._right_product = Linear(Matrix(rows), biases)

    def __call__(self, left: Floats, right: Floats) -> Floats:
        """Scores (b, n, n) for boundary vectors (b, n, size)."""
        half = self._right_product(right)
        return left @ half[..., :-1].swapaxes(1, 2) + half[..., -1][:, None]


class LabelScorer:
    """[left; 1]' W [right; 1] of selected spans, for each class.

    W has the blocks `weight` (classes, size, size), `left` (classes, size), `right` (classes, size), `bias` (classes,).
    """

    def __init__(self, weight: Floats, left: Floats, right: Floats, bias: Floats) -> None:
        self._weight = weight.reshape(len(weight), -1).T
        self._linear = Linear(Matrix(np.concatenate([left, right], 1)), bias)

    def __call__(self, left: Floats, right: Floats, lefts: Ints, rights: Ints) -> Floats:
        """Scores (m, classes) of spans between boundaries `lefts` and `rights` (m,), among vectors (b, n, size)."""
        left, right = left.reshape(-1, left.shape[-1])[lefts], right.reshape(-1, right.shape[-1])[rights]
        products = (left[:, :, None] * right[:, None]).reshape(len(left), -1)
        return products @ self._weight + self._linear(np.concatenate([left, right], 1))


class Lstm:
    """A bidirectional LSTM layer, from weights and biases (2, 4 * size, ...) with the gates in PyTorch's order."""

    def __init__(self, inputs: Matrix, hidden: Matrix, bias: Floats) -> None:
        self._inputs = [Linear(Matrix(rows), biases) for rows, biases in zip(inputs.to_float32(), bias, strict=True)]
        self._hidden = [Linear(Matrix(rows)) for rows in hidden.to_float32()]
        self._size = hidden.rows.shape[2]

    def __call__(self, x: Floats, lengths: Ints) -> Floats:
        """Hidden states (b, s, 2, size) for inputs (b, s, d); zero in padding."""
        out = np.zeros((*x.shape[:2], 2, self._size), np.float32)
        for direction, (read_input, read_hidden) in enumerate(zip(self._inputs, self._hidden, strict=True)):
            gates = read_input(x)
            hidden, cell = np.zeros((2, len(x), self._size), np.float32)
            steps = range(x.shape[1]) if direction == 0 else reversed(range(x.shape[1]))
            for step in steps:
                i, f, g, o = np.split(gates[:, step] + read_hidden(hidden), 4, axis=1)
                is_word = (step < lengths)[:, None]  # the backward direction starts at the last word
                cell = np.where(is_word, _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g), 0)
                hidden = np.where(is_word, _sigmoid(o) * np.tanh(cell), 0)
                out[:, step, direction] = hidden
        return out


class Bert:
    """The BERT encoder; returns a weighted sum of its hidden states."""

    def __init__(self, config: BertConfig, weights: Weights) -> None:
        embeddings = weights.below("embeddings")
        self._words = embeddings["word_embeddings.weight"]
        self._positions = embeddings["position_embeddings.weight"] + embeddings["token_type_embeddings.weight"][0]
        self._norm = _LayerNorm(embeddings.below("LayerNorm"), config.layer_norm_eps)
        table = weights.get("encoder.relative_attention_bias.weight")
        self._distance_scores = None if table is None else distance_scores(table)
        self._layers = [
            _BertLayer(config, weights.below(f"encoder.layer.{number}")) for number in range(config.num_hidden_layers)
        ]

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
        vectors = self._words[pieces] + self._positions[: pieces.shape[1]]
        states = [self._norm(vectors if piece_inputs is None else vectors + piece_inputs)]
        is_piece = np.arange(pieces.shape[1]) < lengths[:, None]
        pair_scores = self._pair_scores(pieces.shape[1])
        for number, layer in enumerate((None, *self._layers)):
            state = states.pop() if layer is None else layer(states[-1], is_piece, pair_scores)
            states.append(state if conditions is None else state + conditions[number])
        last = states[-len(layer_weights) :]
        return np.sum([weight * state for weight, state in zip(layer_weights, last, strict=True)], axis=0)

    def _pair_scores(self, width: int) -> Floats:
        """The scores (heads, p, p) of the distances from each piece to each other piece; zeros if there are none."""
        if self._distance_scores is None:
            return np.zeros((1, 1, 1), np.float32)
        positions = np.arange(width)
        return self._distance_scores[:, np.clip(positions - positions[:, None], -FARTHEST, FARTHEST) + FARTHEST]


class _BertLayer:
    """Self-attention, then a feed-forward network on each piece."""

    def __init__(self, config: BertConfig, weights: Weights) -> None:
        attention = weights.below("attention")
        self._heads = config.num_attention_heads
        self._qkv = [_linear(attention.below(f"self.{name}")) for name in ("query", "key", "value")]
        self._attention_out = _linear(attention.below("output.dense"))
        self._attention_norm = _LayerNorm(attention.below("output.LayerNorm"), config.layer_norm_eps)
        self._inner = _linear(weights.below("intermediate.dense"))
        self._out = _linear(weights.below("output.dense"))
        self._norm = _LayerNorm(weights.below("output.LayerNorm"), config.layer_norm_eps)

    def __call__(self, hidden: Floats, is_piece: Mask, pair_scores: Floats) -> Floats:
        query, key, value = (self._split_heads(linear(hidden)) for linear in self._qkv)  # (w, heads, p, d / heads)
        logits = query @ key.swapaxes(2, 3) / np.float32(query.shape[-1] ** 0.5)
        context = softmax(np.where(is_piece[:, None, None], logits + pair_scores, -np.inf)) @ value
        attended = self._attention_norm(self._attention_out(_join_heads(context)) + hidden)
        return self._norm(self._out(_gelu(self._inner(attended))) + attended)

    def _split_heads(self, x: Floats) -> Floats:
        return x.reshape(*x.shape[:2], self._heads, -1).swapaxes(1, 2)


class _LayerNorm:
    def __init__(self, weights: Weights, epsilon: float) -> None:
        self._weight, self._bias, self._epsilon = weights["weight"], weights["bias"], np.float32(epsilon)

    def __call__(self, x: Floats) -> Floats:
        centered = x - x.mean(-1, keepdims=True)
        variance = (centered * centered).mean(-1, keepdims=True)
        return centered / np.sqrt(variance + self._epsilon) * self._weight + self._bias


def mean_of_pieces(hidden: Floats, rows: Ints, positions: Ints, counts: Ints, size: int) -> Floats:
    """The mean of each position's pieces, (size, d), for hidden states (w, p, d).

    `rows`, `positions` and `counts` are the piece fields of a batch: see network/data/batch.py.
    """
    out = np.zeros((size, hidden.shape[-1]), np.float32)
    vectors = hidden.reshape(-1, hidden.shape[-1])[rows]
    np.add.at(out, positions, vectors / counts[:, None].astype(np.float32))
    return out


def _linear(weights: Weights) -> Linear:
    return Linear(weights.matrix("weight"), weights["bias"])


def _join_heads(x: Floats) -> Floats:
    joined = x.swapaxes(1, 2)
    return joined.reshape(*joined.shape[:2], -1)


def _sigmoid(x: Floats) -> Floats:
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1))


def _gelu(x: Floats) -> Floats:
    """x times the normal distribution function, with the error function of Abramowitz and Stegun, 7.1.26."""
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    polynomial = np.float32(0)
    for coefficient in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        polynomial = (polynomial + np.float32(coefficient)) * t
    tail = np.float32(0.5) * polynomial * np.exp(-z * z)  # the probability above |x|
    return x * np.where(x > 0, 1 - tail, tail)
