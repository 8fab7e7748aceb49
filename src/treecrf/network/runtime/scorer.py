"""The network without PyTorch: from batches of sentences to scores of spans, labels and tags.

`Scorer` computes what `nn.SpanModel` computes without dropout. Its layers come from `int8.py` or `reference.py`.
Vectors of words from their characters are cached, because words come again.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Literal

import numpy as np

from treecrf.arrays import Floats, Ints
from treecrf.network.data.batch import SPECIAL, Batch, Scores
from treecrf.network.data.model_config import LEAKY_SLOPE, BertConfig, ModelConfig
from treecrf.network.runtime import int8, reference
from treecrf.network.runtime.weights import NARROW_LEVELS, WIDE_LEVELS, Matrix, Weights, softmax

Precision = Literal["float32", "float16", "int8", "int14"]  # float16 is for GPUs
DEFAULT_PRECISION: Precision = "int8"
_LEVELS = {"int8": NARROW_LEVELS, "int14": WIDE_LEVELS}
_CACHE_BYTES = 8 << 20
_ENTRY_BYTES = 300  # a key and its dictionary entry, without the vector


class CharVectors:
    """Vectors of words by their characters.

    The vector of a word does not depend on other words, so it is computed once, as long as the cache holds it. A full
    cache is emptied, which is cheaper than tracking the least recently used words.
    """

    def __init__(self, embedding: Matrix, lstm: Callable[[Floats, Ints], Floats]) -> None:
        self._embedding, self._lstm = embedding, lstm
        self._vectors: dict[bytes, Floats] = {}
        self._lock = Lock()

    def __call__(self, chars: Ints, lengths: Ints) -> Floats:
        """Vectors (u, size) of distinct words with characters (u, c)."""
        keys = [row[:length].tobytes() for row, length in zip(chars, lengths.tolist(), strict=True)]
        with self._lock:
            vectors = [self._vectors.get(key) for key in keys]
        missing = [number for number, vector in enumerate(vectors) if vector is None]
        if missing:
            computed = self._compute(chars[missing, : lengths[missing].max()], lengths[missing])
            for number, vector in zip(missing, computed, strict=True):
                vectors[number] = vector
            self._store(dict(zip((keys[number] for number in missing), computed, strict=True)))
        return np.stack([vector for vector in vectors if vector is not None])

    def _compute(self, chars: Ints, lengths: Ints) -> Floats:
        states = self._lstm(self._embedding.vectors(chars), lengths)  # (u, c, 2, size / 2)
        words = np.arange(len(chars))
        return np.concatenate([states[words, lengths - 1, 0], states[:, 0, 1]], -1)

    def _store(self, vectors: dict[bytes, Floats]) -> None:
        entry_bytes = _ENTRY_BYTES + next(iter(vectors.values())).nbytes
        capacity = _CACHE_BYTES // entry_bytes
        with self._lock:
            if len(self._vectors) + len(vectors) > capacity:
                self._vectors.clear()
            if len(vectors) <= capacity:
                self._vectors.update(vectors)


class Scorer:
    """Scores batches of sentences on a CPU, from the weights of a saved model.

    `encoder` is the shape of its BERT, if it has one. The compiled kernels run with rows of 8 or 14 bits (int8, int14),
    NumPy in float32.
    """

    def __init__(
        self, config: ModelConfig, weights: Weights, encoder: BertConfig | None, *, precision: Precision
    ) -> None:
        layers: Any = reference if precision == "float32" else int8.layers(_LEVELS[precision])
        self.config = config
        self.device = "cpu"
        self.initialize_thread: Callable[[], None] | None = None
        self.precision = f"{precision} ({'NumPy' if precision == 'float32' else int8.instruction_set()})"
        self._has_lstm = config.encoder == "lstm"
        self._is_crf = config.is_crf
        self._inputs = _WordInputs(config, weights.below("inputs"), layers) if config.reads_words else None
        self._transformer = None if encoder is None else _Transformer(encoder, weights.below("transformer"), layers)
        names = [f"lstm.layers.{number}" for number in range(config.lstm_layers if self._has_lstm else 0)]
        self._lstm = [_lstm(weights.below(name), layers) for name in names]
        scorer: type[_Biaffine | _Minus] = _Biaffine if config.scorer == "biaffine" else _Minus
        self._span_scorer = None if config.one_stage else scorer(weights.below("span_scorer"), layers)
        self._label_scorer = scorer(weights.below("label_scorer"), layers)
        self._tagger = _linear(weights.below("tagger"), layers) if config.tag_head else None
        self._capitals = weights["capitals.weight"] if config.tag_capitals else None

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch."""
        words = self._context(batch)
        fenceposts = self._fenceposts(words)
        label_boundaries = self._label_scorer.project(fenceposts)

        def score_labels(cells: Ints) -> Floats:
            return self._label_scorer.at(*label_boundaries, cells)

        labels = None
        if self._span_scorer is not None:
            spans = self._span_scorer.chart(*self._span_scorer.project(fenceposts))
        else:
            labels = _label_chart(score_labels, batch)
            spans = _logsumexp(labels) if self._is_crf else labels.max(-1)
        return Scores(
            is_crf=self._is_crf,
            lengths=batch.lengths,
            spans=spans,
            score_labels=score_labels,
            labels=labels,
            tags=self._tags(words, batch),
            word_vectors=lambda: words[:, 1:-1][np.arange(batch.longest) < batch.lengths[:, None]],
        )

    def _tags(self, words: Floats, batch: Batch) -> Floats | None:
        if self._tagger is None:
            return None
        tags = self._tagger(words[:, 1:-1])
        if self._capitals is not None:
            tags = tags + self._capitals[batch.require("capitals")]
        return tags

    def _fenceposts(self, words: Floats) -> Floats:
        """Vectors of the boundaries between words (b, n + 2, d), as (b, n + 1, width); see `nn.SpanModel`."""
        size = words.shape[-1] // 2 if self._has_lstm else words.shape[-1]
        before, after = words[:, :-1], words[:, 1:]
        backward = before if self.config.boundary == "same-word" else after
        return np.concatenate([before[..., :size], backward[..., -size:]], -1)

    def _context(self, batch: Batch) -> Floats:
        """Context vectors of all positions, (b, n + 2, d)."""
        if self._transformer is not None and not self._has_lstm:
            return self._transformer(batch, None if self._inputs is None else self._inputs(batch))
        assert self._inputs is not None
        vectors = self._inputs(batch, None if self._transformer is None else self._transformer(batch))
        for layer in self._lstm:
            vectors = layer(vectors, batch.lengths + 2).reshape(*vectors.shape[:2], -1)
        return vectors


class _WordInputs:
    """The concatenated features of each word, (b, n + 2, size)."""

    def __init__(self, config: ModelConfig, weights: Weights, layers: Any) -> None:
        has_vectors = "words.pretrained.weight" in weights
        self._trained = weights.matrix("words.trained.weight")
        self._pretrained = weights.matrix("words.pretrained.weight") if has_vectors else None
        self._tags = weights.matrix("tags.weight") if config.tag_size else None
        self._char_vectors = None
        if config.char_size:
            lstm = _lstm(weights.below("chars.lstm"), layers)
            self._char_vectors = CharVectors(weights.matrix("chars.embedding.weight"), lstm)

    def __call__(self, batch: Batch, extra: Floats | None = None) -> Floats:
        """`extra` (b, n + 2, d) is one more feature."""
        vectors = self._trained.vectors(batch.words)
        if self._pretrained is not None:
            vectors += self._pretrained.vectors(*batch.require("vectors"))
        features = [vectors]
        if self._char_vectors is not None:
            chars, lengths, rows = batch.require("chars", "char_lengths", "char_rows")
            features.append(self._char_vectors(chars, lengths)[rows])
        if extra is not None:
            features.append(extra)
        if self._tags is not None:
            features.append(self._tags.vectors(*batch.require("tags")))
        return features[0] if len(features) == 1 else np.concatenate(features, -1)


class _Transformer:
    """One vector per word, (b, n + 2, size), from a BERT: the mean over its pieces of a weighted sum of layers."""

    def __init__(self, config: BertConfig, weights: Weights, layers: Any) -> None:
        self._bert = layers.Bert(config, weights.below("encoder"))
        self._layer_weights = weights["mix.scale"] * softmax(weights["mix.weights"])
        self._entry = _linear(weights.below("entry"), layers) if "entry.weight" in weights else None
        self._linear = _linear(weights.below("linear"), layers) if "linear.weight" in weights else None
        self._mean_of_pieces = layers.mean_of_pieces
        self._tags, self._schemes = weights.get("conditions.tags"), weights.get("conditions.schemes")

    def __call__(self, batch: Batch, word_inputs: Floats | None = None) -> Floats:
        """`word_inputs` (b, n + 2, d) are added to the embeddings of pieces."""
        pieces, lengths = batch.require("pieces", "segment_lengths")
        piece_inputs = None
        if self._entry is not None and word_inputs is not None:
            piece_inputs = _spread_over_pieces(self._entry(word_inputs), batch)
        hidden = self._bert(pieces, lengths, self._layer_weights, piece_inputs, self._conditions(batch))
        _, *piece_fields = batch.require("pieces", "piece_index", "piece_words", "piece_counts")
        # the last position is for pieces that belong to no word
        means = self._mean_of_pieces(hidden, *piece_fields, batch.words.size + 1)
        vectors: Floats = means[:-1].reshape(*batch.words.shape, -1)
        return vectors if self._linear is None else self._linear(vectors)

    def _conditions(self, batch: Batch) -> Floats | None:
        """The vectors of given tags and schemes at the pieces of each layer, (layers + 1, w, p, d)."""
        total: Floats | None = None
        if self._tags is not None and batch.tags is not None:
            total = np.pad(self._tags, ((0, 0), (len(SPECIAL), 0), (0, 0)))[:, batch.tags]  # special ids have none
        if self._schemes is not None and batch.schemes is not None:
            vectors = np.pad(self._schemes, ((0, 0), (1, 0), (0, 0)))[:, batch.schemes][:, :, None]
            total = vectors + (np.zeros((*batch.words.shape, 1), np.float32) if total is None else total)
        return None if total is None else np.stack([_spread_over_pieces(layer, batch) for layer in total])


def _spread_over_pieces(words: Floats, batch: Batch) -> Floats:
    """Copies word vectors (b, n + 2, d) to the pieces of each word, (w, p, d); zero at pieces without a word."""
    pieces, index, piece_words = batch.require("pieces", "piece_index", "piece_words")
    size = words.shape[-1]
    vectors = np.concatenate([words.reshape(-1, size), np.zeros((1, size), np.float32)])
    out = np.zeros((pieces.size, size), np.float32)
    out[index] = vectors[piece_words]
    return out.reshape(*pieces.shape, size)


class _Biaffine:
    """[left; 1]' W [right; 1] for each class.

    `project` returns left and right boundary vectors of context vectors (b, n, d). For them, `chart` returns the scores
    of all spans for one class, (b, n, n), and `at` the scores of spans at flat chart cells, (m, classes).
    """

    def __init__(self, weights: Weights, layers: Any) -> None:
        self._boundaries = _linear(weights.below("boundaries.linear"), layers, slope=LEAKY_SLOPE)
        right = weights["weight_right"]
        left = weights["weight_left"] if "weight_left" in weights else np.zeros_like(right)
        bias = weights["bias"] if "bias" in weights else np.zeros(len(right), np.float32)
        blocks = weights["weight"], left, right, bias
        self._chart = layers.SpanScorer(*(block[0] for block in blocks)) if len(right) == 1 else None
        self._labels = layers.LabelScorer(*blocks)

    def project(self, x: Floats) -> tuple[Floats, Floats]:
        left, right = np.split(self._boundaries(x), 2, axis=-1)
        return left, right

    def chart(self, left: Floats, right: Floats) -> Floats:
        assert self._chart is not None
        return self._chart(left, right)

    def at(self, left: Floats, right: Floats, cells: Ints) -> Floats:
        return self._labels(left, right, *_boundary_ids(cells, left.shape[1]))


class _Minus:
    """A feed-forward network over the difference of two context vectors, whose first layer runs on the boundaries.

    Only the paper's ablations use it. It has the methods of `_Biaffine`.
    """

    def __init__(self, weights: Weights, layers: Any) -> None:
        self._linear = _linear(weights.below("linear"), layers)
        self._bias = weights["bias"]
        self._out = _linear(weights.below("out"), layers)

    def project(self, x: Floats) -> tuple[Floats, Floats]:
        right = self._linear(x)
        return right + self._bias, right

    def chart(self, left: Floats, right: Floats) -> Floats:
        """Computes one sentence at a time, because the differences of all spans take much memory."""
        pairs = zip(left, right, strict=True)
        return np.stack([self._score(starts[:, None], ends)[..., 0] for starts, ends in pairs])

    def at(self, left: Floats, right: Floats, cells: Ints) -> Floats:
        lefts, rights = _boundary_ids(cells, left.shape[1])
        return self._score(left.reshape(-1, left.shape[-1])[lefts], right.reshape(-1, right.shape[-1])[rights])

    def _score(self, left: Floats, right: Floats) -> Floats:
        difference = left - right
        return self._out(np.maximum(difference, np.float32(LEAKY_SLOPE) * difference))


def _linear(weights: Weights, layers: Any, *, slope: float = 1.0) -> Callable[[Floats], Floats]:
    return layers.Linear(weights.matrix("weight"), weights.get("bias"), slope=slope)


def _lstm(weights: Weights, layers: Any) -> Callable[[Floats, Ints], Floats]:
    bias = weights["bias_input"] + weights["bias_hidden"]
    return layers.Lstm(weights.matrix("weight_input"), weights.matrix("weight_hidden"), bias)


def _boundary_ids(cells: Ints, size: int) -> tuple[Ints, Ints]:
    """The left and right boundaries of spans, among b * size."""
    lefts = cells // size
    return lefts, lefts - lefts % size + cells % size


def _label_chart(score_labels: Callable[[Ints], Floats], batch: Batch) -> Floats:
    """The label scores of all spans, (b, n + 1, n + 1, labels); zero where there is no span."""
    size = batch.longest + 1
    starts, ends = np.triu_indices(size, 1)
    cells = (np.arange(batch.size)[:, None] * size + starts) * size + ends
    scores = score_labels(cells.ravel())
    chart = np.zeros((batch.size * size * size, scores.shape[1]), np.float32)
    chart[cells.ravel()] = scores
    return chart.reshape(batch.size, size, size, -1)


def _logsumexp(x: Floats) -> Floats:
    maximum = x.max(-1)
    return maximum + np.log(np.exp(x - maximum[..., None]).sum(-1))
