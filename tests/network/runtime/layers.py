"""Random layers and inputs for the tests of the runtime."""

import numpy as np

from network.berts import small_bert
from treecrf.network.data.batch import Sizes
from treecrf.network.data.model_config import ModelConfig, weight_shapes
from treecrf.network.runtime.weights import Matrix, Weights

BERT = small_bert(150, 64, layers=3, heads=2, inner=128, positions=80)
MPNET = small_bert(150, 128, layers=3, heads=2, inner=192, positions=180, relative_attention_num_buckets=32)
ENCODERS = {"bert": (BERT, 37), "mpnet": (MPNET, 170)}  # with the pieces of the longest segment


def random_array(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def random_bert_weights(config=BERT, seed=0):
    """Weights of a BERT, by the names below `transformer.encoder`."""
    model = ModelConfig(encoder="transformer", transformer="random", transformer_layers=1)
    shapes = weight_shapes(model, Sizes(words=1, chars=1, labels=1, tags=1), config)
    prefix = "transformer.encoder."
    generator = np.random.default_rng(seed)
    arrays = {}
    for name, shape in shapes.items():
        if name.startswith(prefix):
            values = generator.standard_normal(shape) / shape[-1] ** 0.5 + ("LayerNorm.weight" in name)
            arrays[name.removeprefix(prefix)] = values.astype(np.float32)
    return Weights(arrays)


def random_lstm_weights(inputs, size, seed=0, scale=2.0):
    """Input weights, recurrent weights and biases of a bidirectional LSTM layer."""
    shapes = (2, 4 * size, inputs), (2, 4 * size, size), (2, 4 * size)
    inputs, hidden, bias = (
        random_array(*shape, seed=seed + number, scale=0.5 * scale * size**-0.5) for number, shape in enumerate(shapes)
    )
    return Matrix(inputs), Matrix(hidden), bias


def ragged_pieces(rows=9, width=37, vocab_size=150):
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, width + 1, rows)
    lengths[0] = width
    return generator.integers(0, vocab_size, (rows, width)), lengths


def shuffled_lengths(rows, width):
    """The lengths 1, 2, ..., width, 1, ... in random order."""
    return np.random.default_rng(2).permutation(np.arange(rows) % width + 1)


def without_padding(states, lengths):
    return states[np.arange(states.shape[1]) < lengths[:, None]]


def relative_error(values, expected):
    return float(np.linalg.norm(values - expected) / np.linalg.norm(expected))
