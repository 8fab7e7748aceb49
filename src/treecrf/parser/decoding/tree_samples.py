"""Exact samples of labeled trees with tags.

A sample is a derivation: a bracketing by its probability, a label for each span by its probability given the span, and
a tag for each word by its probability. So each tree occurs with its exact probability, the sum over its derivations.
"""

from collections.abc import Iterator

import numpy as np

from treecrf.arrays import Ints
from treecrf.chart.cpu_sampling import sample_rows, sample_trees
from treecrf.network.data.scores import Scores
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.decode import Decoded
from treecrf.parser.decoding.log_space import log_softmax


def sample_batch(
    scores: Scores, distribution: BracketDistribution, count: int, generators: list[np.random.Generator]
) -> Iterator[tuple[Decoded, Ints]]:
    """Draws `count` trees of each sentence, with its own generator.

    Yields the distinct derivations of a sentence, and the number of the derivation that each sample is.
    """
    for sentence, generator in enumerate(generators):
        yield _distinct(*_sample_sentence(scores, distribution, sentence, count, generator))


def _sample_sentence(
    scores: Scores, distribution: BracketDistribution, sentence: int, count: int, generator: np.random.Generator
) -> tuple[Ints, Ints, Ints, Ints | None]:
    """Starts, ends and labels (count, 2n - 1), and tags (count, n) if the model predicts tags."""
    length, size = int(scores.lengths[sentence]), scores.spans.shape[1]
    cells = sample_trees(distribution.scores[sentence], length, count, generator)
    distinct_cells, rows = np.unique(cells, return_inverse=True)
    weights = np.exp(log_softmax(scores.labels_at(sentence * size**2 + distinct_cells)))
    labels = sample_rows(weights, rows.ravel(), generator).reshape(cells.shape)
    tags = None
    if scores.tags is not None:
        tag_weights = np.exp(log_softmax(scores.tags[sentence, :length]))
        words = np.tile(np.arange(length), count)
        tags = sample_rows(tag_weights, words, generator).reshape(count, length)
    return cells // size, cells % size, labels, tags


def _distinct(starts: Ints, ends: Ints, labels: Ints, tags: Ints | None) -> tuple[Decoded, Ints]:
    columns = [starts, ends, labels] if tags is None else [starts, ends, labels, tags]
    numbers: dict[bytes, int] = {}
    draws = [numbers.setdefault(row.tobytes(), len(numbers)) for row in np.hstack(columns)]
    _, firsts = np.unique(draws, return_index=True)
    flat_tags = None if tags is None else tags[firsts].ravel()
    derivations = Decoded(
        starts=starts[firsts].ravel(), ends=ends[firsts].ravel(), labels=labels[firsts].ravel(), tags=flat_tags
    )
    return derivations, np.array(draws)
