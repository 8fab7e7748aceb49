from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled_calls import run_calls
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.word_table import WORD, LineLimits, SplitLines, WordTable

pytestmark = pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
LIMITS = LineLimits(lines=100, bytes=10_000, line_bytes=1000, words=100)

texts = st.text(st.sampled_from("ab é😀\u3000\t\v\f\r\n\n  "), max_size=60)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def lines_of(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []


@given(texts)
def test_lines_are_split_like_python_splits_them(text: str) -> None:
    table, lines = WordTable(), lines_of(text.encode())
    sentences, has_words, size = table.split(text.encode(), LIMITS)
    words = [WORD.findall(line.decode()) for line in lines]
    assert sentences is not None and size == len(text.encode())
    assert list(sentences) == list(filter(None, words))
    assert has_words.tolist() == list(map(bool, words))
    assert sentences.lengths.tolist() == list(map(len, sentences))
    vocabulary = table.words()
    assert [vocabulary[row] for row in sentences.rows] == [word for line in words for word in line]
    assert len(set(vocabulary)) == len(vocabulary) == len(table)


@given(st.lists(st.sampled_from(["a", "b" * 8, "b" * 9, "c" * 30, "é", "ab"]), max_size=20), st.integers(0, 20))
def test_words_keep_their_rows(words: list[str], first: int) -> None:
    table = WordTable()
    for half in (words[:first], words[first:]):
        sentences = table.split(" ".join(half).encode(), LIMITS).sentences
        assert sentences is not None
        assert [table.words()[row] for row in sentences.rows] == half
    assert table.words() == list(dict.fromkeys(words))
    assert table.words(len(table)) == []
    with pytest.raises(ValueError, match="expected one of"):
        table.words(len(table) + 1)


def test_a_table_grows() -> None:
    table, words = WordTable(), [f"w{number}" for number in range(20_000)]
    sentences = table.split(" ".join(words * 2).encode(), LineLimits(1, 10**6, 10**6, 10**6)).sentences
    assert sentences is not None and sentences.rows.tolist() == [*range(20_000)] * 2
    assert table.words(19_998) == ["w19998", "w19999"] and table.nbytes > 500_000


@given(st.binary(max_size=12) | st.lists(st.sampled_from([0xED, 0xA0, 0x80, 0xF4, 0x90, 0xE0, 0xC1, 0x41])).map(bytes))
def test_lines_that_are_no_utf8_or_have_zero_bytes_are_odd(data: bytes) -> None:
    sentences, _, size = WordTable().split(data, LIMITS)
    assert (sentences is not None) == (is_utf8(data) and 0 not in data)
    assert size == len(data)


@pytest.mark.parametrize(
    ("limits", "is_odd", "size"),
    [
        (LineLimits(3, 100, 5, 2), False, 11),
        (LineLimits(2, 100, 5, 2), False, 8),
        (LineLimits(3, 4, 5, 2), False, 4),
        (LineLimits(3, 3, 5, 2), False, 4),
        (LineLimits(3, 5, 5, 2), False, 8),
        (LineLimits(0, 100, 5, 2), False, 0),
        (LineLimits(3, 100, 2, 2), True, 11),
        (LineLimits(3, 100, 5, 1), True, 11),
    ],
)
def test_blocks_and_lines_have_limits(limits: LineLimits, is_odd: bool, size: int) -> None:
    split = WordTable().split(b"a b\nc\r\r\nd e", limits)
    assert (split.sentences is None, split.bytes) == (is_odd, size)


def test_the_carriage_return_before_a_line_feed_is_no_byte_of_the_line() -> None:
    assert WordTable().split(b"ab\r\n", LineLimits(1, 9, 2, 9)).sentences is not None
    assert WordTable().split(b"ab\r\r\n", LineLimits(1, 9, 2, 9)).sentences is None


def split_example() -> SplitLines:
    return WordTable().split(b"a b c\n\nd\ne f\n", LIMITS)


@pytest.mark.parametrize("indices", [[], [2, 0], [1, 1], [0, 1, 2]])
def test_sentences_can_be_selected(indices: list[int]) -> None:
    sentences = split_example().sentences
    assert sentences is not None
    words = sentences.table.words()
    chosen = sentences.select(indices)
    assert list(chosen) == [list(sentences)[index] for index in indices]
    assert [words[row] for row in chosen.rows] == [word for sentence in chosen for word in sentence]
    assert list(chosen.select(np.arange(len(chosen))[::-1])) == list(chosen)[::-1]
    assert list(sentences[1:]) == list(sentences)[1:]


def test_random_calls_are_computed_or_refused() -> None:
    random_calls = import_module("trees.treebank.random_calls")  # imports the compiled code
    assert 50 < run_calls(random_calls.run_case, 400, seed=6).refused < 300
