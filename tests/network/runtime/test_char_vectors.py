"""Word vectors from characters and their cache."""

import numpy as np

from network.runtime.layers import random_array
from treecrf.network.runtime import reference
from treecrf.network.runtime.char_vectors import CharVectors
from treecrf.network.runtime.weights import Matrix

WORDS = np.array([[3, 1, 2, 0], [2, 0, 0, 0], [1, 1, 1, 1], [3, 1, 0, 0]])
LENGTHS = np.array([3, 1, 4, 2])


class CountingLstm:
    """An LSTM that counts the words it has read."""

    def __init__(self):
        self._lstm = reference.Lstm(
            Matrix(random_array(2, 12, 5)), Matrix(random_array(2, 12, 3, seed=1)), random_array(2, 12, seed=2)
        )
        self.words = 0

    def __call__(self, x, lengths):
        self.words += len(x)
        return self._lstm(x, lengths)


def char_vectors(**settings):
    lstm = CountingLstm()
    return CharVectors(Matrix(random_array(4, 5, seed=3)), lstm, **settings), lstm


def test_vectors_are_the_final_states_of_both_directions():
    vectors, lstm = char_vectors()
    embedded = random_array(4, 5, seed=3)[WORDS]
    states = lstm(embedded, LENGTHS)
    expected = [
        np.concatenate([states[word, length - 1, 0], states[word, 0, 1]]) for word, length in enumerate(LENGTHS)
    ]
    np.testing.assert_allclose(vectors(WORDS, LENGTHS), expected, rtol=1e-6)


def test_words_that_come_again_are_not_computed_again():
    vectors, lstm = char_vectors()
    first = vectors(WORDS[:3], LENGTHS[:3])
    both = vectors(WORDS[[3, 2, 1]], LENGTHS[[3, 2, 1]])
    assert lstm.words == 4
    assert np.array_equal(both[1], first[2]) and np.array_equal(both[2], first[1])
    assert not np.array_equal(both[0], first[0])  # a prefix of another word is another word


def test_a_full_cache_is_emptied():
    vectors, lstm = char_vectors(cache_bytes=2 * (300 + 6 * 4))
    expected = char_vectors()[0](WORDS, LENGTHS)
    for word in (0, 1, 2, 0):
        np.testing.assert_allclose(vectors(WORDS[[word]], LENGTHS[[word]])[0], expected[word], rtol=1e-5)
    assert lstm.words == 4  # the third word emptied the cache
    vectors(WORDS[[2]], LENGTHS[[2]])
    assert lstm.words == 4
    for _ in range(2):  # more words than the cache holds
        np.testing.assert_allclose(vectors(WORDS, LENGTHS), expected, rtol=1e-5)
