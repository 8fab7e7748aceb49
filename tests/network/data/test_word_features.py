import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treecrf.network.data.batch import BOS, EOS, PAD
from treecrf.network.data.word_features import WordFeatures, distinct_rows


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_distinct_rows_are_in_the_order_of_their_first_occurrence(numbers: list[int]) -> None:
    distinct, rows = distinct_rows(np.array(numbers))
    assert distinct.tolist() == list(dict.fromkeys(numbers))
    assert distinct[rows].tolist() == numbers


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_rows_stay_while_others_are_added(sizes: list[int]) -> None:
    features, words = WordFeatures(), np.arange(sum(sizes)) + 10
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        features.append({"words": words[end - size : end], "pieces": np.stack([words[end - size : end]] * 2, 1)})
    selected = features.select(np.arange(features.count))
    assert features.count == len(words) and features.nbytes >= 24 * len(words)
    assert selected["words"].tolist() == [*words.tolist(), BOS, EOS, PAD]
    assert selected["pieces"].tolist() == [*([number] * 2 for number in words.tolist()), [0, 0], [0, 0], [0, 0]]


def test_start_and_end_are_one_character() -> None:
    features = WordFeatures()
    features.append({"words": np.array([7]), "chars": np.array([[5, 6]]), "char_lengths": np.array([2])})
    selected = features.select(np.array([0, 0]))
    assert selected["chars"].tolist() == [[5, 6], [5, 6], [BOS, 0], [EOS, 0], [0, 0]]
    assert selected["char_lengths"].tolist() == [2, 2, 1, 1, 0]
