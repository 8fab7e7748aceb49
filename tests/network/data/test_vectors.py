import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.network.data.vectors import VectorError, read_vectors


def write(tmp_path, text, name="vectors.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("header", ["", "3 2\n"], ids=["GloVe", "word2vec"])
def test_both_formats_are_read(tmp_path, header):
    vectors = read_vectors(write(tmp_path, header + "the 1 -2.5\ncat 3e-1 4\n, 5 6 \n"))
    assert read_vectors(write(tmp_path, "0 2\n")).words == []
    assert vectors.words == ["the", "cat", ","] and vectors.size == 2 and vectors.duplicates == 0
    np.testing.assert_array_equal(vectors.matrix, np.array([[1, -2.5], [0.3, 4], [5, 6]], np.float32))


def test_gzipped_files_are_read(tmp_path):
    path = write(tmp_path, gzip.compress(b"the 1 2\n"), "vectors.txt.gz")
    assert read_vectors(path).matrix.tolist() == [[1, 2]]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=8), st.integers(1, 30))
def test_numbers_are_read_exactly_across_blocks(tmp_path_factory, numbers, count):
    line = " ".join(map(repr, numbers))
    path = write(tmp_path_factory.mktemp("v"), "".join(f"w{row} {line}\n" for row in range(count)))
    np.testing.assert_array_equal(read_vectors(path).matrix, np.array([numbers] * count, np.float32))


def test_blocks_are_joined_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("treecrf.network.data.vectors._LINES_PER_BLOCK", 2)
    path = write(tmp_path, "".join(f"w{row} {row} 0\n" for row in range(5)))
    assert read_vectors(path).matrix[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_the_first_vector_of_a_repeated_word_counts_and_duplicates_are_counted(tmp_path):
    vectors = read_vectors(write(tmp_path, "a 1\nb 2\na 3\na 4\n"))
    assert vectors.words == ["a", "b"] and vectors.matrix[:, 0].tolist() == [1, 2] and vectors.duplicates == 2


def test_a_word_may_contain_spaces_and_odd_characters(tmp_path):
    vectors = read_vectors(write(tmp_path, "a 1 2\n. . . 3 4\nat me@home 5 6\n\u00a0x 7 8\n"))
    assert vectors.words == ["a", ". . .", "at me@home", "\u00a0x"]
    assert vectors.matrix[:, 1].tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected a word and its vector"),
        ("\na 1 2\n", "line 2: 2 numbers for 'a'; expected 1"),
        ("word\n", "line 1: 0 numbers for 'word'; expected 1"),
        ("a 1 2\nb 1\n", "line 2: 1 numbers for 'b'; expected 2"),
        ("a 1 2\nb 1 2 3\n", "line 2: 3 numbers for 'b'; expected 2"),
        ("2 3\na 1 2 3\nb 1 2\n", "line 3: 2 numbers for 'b'; expected 3"),
        ("a 1 2\nb 1 x\n", "line 2: 'x' in the vector of 'b' is not a number"),
        ("a 1 2\nb nan 2\n", "line 2: 'nan' in the vector of 'b' is not a number"),
        ("a 1 2\nb 1e99 2\n", "line 2: '1e99' in the vector of 'b' is not a number"),
        ("5 2\na 1 2\nb 1 2\n", "has 2 words, but its first line says 5; is the file truncated"),
        (b"a 1 2\n\xff\xfe 1 2\n", "line 2: not UTF-8 text"),
    ],
)
def test_an_invalid_file_is_an_error_with_its_line(tmp_path, text, message):
    with pytest.raises(VectorError, match=message):
        read_vectors(write(tmp_path, text))


def test_a_broken_gzip_file_is_an_error(tmp_path):
    whole = gzip.compress("".join(f"w{row} {row} 0\n" for row in range(5000)).encode())
    with pytest.raises(VectorError, match="the gzip stream is broken"):
        read_vectors(write(tmp_path, whole[: len(whole) // 2], "vectors.gz"))
    with pytest.raises(VectorError, match="the gzip stream is broken"):
        read_vectors(write(tmp_path, b"a 1 2\n", "plain.gz"))


def test_a_missing_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_vectors(tmp_path / "none.txt")
