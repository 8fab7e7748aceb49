"""Random calls of the compiled bracket writer and word table, most of them with hostile arguments.

    PYTHONPATH=SOURCE:tests python tests/trees/treebank/random_calls.py CALLS SEED

The lines of a valid call must be the lines that Python writes, and the words of lines the words that Python finds.
"""

from typing import Any

import numpy as np

from compiled_calls import WRONG_SIZES, Random, Runner, integers, main
from treecrf.trees.treebank import _bracket_writer, _word_table
from treecrf.trees.treebank.bracket_writer import BracketWriter, FlatTrees
from treecrf.trees.treebank.word_table import WORD, LineLimits, WordTable

LABELS, TAGS = ("S", "", "NP", "(NP)", "S VP"), ("DT", "(", "é", "")
WORDS = (
    "word",
    "",
    " ",
    "(",
    ")",
    "\\",
    "\\u{20}",
    "\n",
    "\0",
    "é",
    "\u3000",
    "\u2003x",
    "😀",
    "\x85",
    "\ud800",
    "a" * 300,
)
OBJECTS = (None, 5, -1, 1.5, b"bytes", "text", (), [], ("a", 5), [None], {"a": 1}, object(), str, len)
NUMBERS = (-(2**31), -1, 0, 1, 2, 5, 9, 2**31 - 1)
LARGE_NUMBERS = (*WRONG_SIZES, 2**63, -(2**70))
Sentences = list[list[str]]


def random_spans(random: Random, start: int, end: int) -> list[tuple[int, int]]:
    if end - start == 1:
        return [(start, end)]
    middle = int(random.integers(start + 1, end))
    return [(start, end), *random_spans(random, start, middle), *random_spans(random, middle, end)]


def random_sentences(random: Random) -> tuple[Sentences, list[np.ndarray], list[Any] | None]:
    """Words, the columns of their trees, and tags or None."""
    lengths = random.integers(1, 9, random.integers(0, 5)).tolist()
    sentences = [[WORDS[k] for k in random.integers(0, len(WORDS), length)] for length in lengths]
    spans = [span for length in lengths for span in sorted(random_spans(random, 0, length))]
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    labels, tags = integers(random, 0, 4, len(spans)), integers(random, 0, 3, sum(lengths))
    user_tags = [
        random.choice([None, "NN", "( "], length).tolist() if random.integers(2) else None for length in lengths
    ]
    columns = [np.ascontiguousarray(column, np.int32) for column in (starts, ends, labels, tags)]
    return sentences, columns, user_tags if random.integers(2) else None


def check_lines(random: Random) -> None:
    sentences, columns, tags = random_sentences(random)
    writer = BracketWriter(LABELS, TAGS, exact=bool(random.integers(2)))
    lines = writer.lines(sentences, FlatTrees(*columns), tags=tags)
    assert lines == list(writer._lines_in_python(sentences, columns, tags)), (sentences, columns, tags)


def write_changed_columns(random: Random) -> None:
    """Columns with other numbers, of other types, with steps between their numbers, or of other lengths."""
    sentences, columns, tags = random_sentences(random)
    position = random.integers(4)
    column = columns[position].copy()
    for _ in range(random.integers(0, 3) if column.size else 0):
        column[random.integers(column.size)] = random.choice(NUMBERS)
    if not random.integers(3):
        column = column.astype(random.choice([np.int8, np.int64, np.float32, np.bool_, object]))
    columns[position] = (column, column, column[::-1], column[:-1], np.repeat(column, 2)[::2])[random.integers(5)]
    BracketWriter(LABELS, TAGS).lines(sentences, FlatTrees(*columns), tags=tags)


def write_changed_arguments(random: Random) -> None:
    """Objects of other types, null for an address, or a wrong number of words."""
    sentences, columns, tags = random_sentences(random)
    addresses = [column.ctypes.data for column in columns]
    texts = ((" (S", "", " (NP", "", " (S (VP"), ("DT", "(", "é", ""), " (TOP", 1, str)
    arguments = [sentences, tags, sum(map(len, sentences)), *addresses, *texts]
    position = int(random.integers(len(arguments)))
    choices = OBJECTS
    if position == 2:
        choices = LARGE_NUMBERS
    elif 3 <= position < 7:
        choices = (0, None, "text", -(2**70))
    elif position == 0 and sentences:  # as many words, some of which are no words
        sentences[0][0] = OBJECTS[random.integers(len(OBJECTS))]
        choices = (sentences, tuple(sentences), *OBJECTS[:5])
    elif position == 1 and sentences:
        choices = ([OBJECTS[random.integers(len(OBJECTS))]] * len(sentences), *OBJECTS)
    elif position in (7, 8):
        choices = (arguments[position][:1], (), (*arguments[position][:-1], 5), ("\ud800",) * 5, *OBJECTS)
    arguments[position] = choices[random.integers(len(choices))]
    _bracket_writer.write_lines(*arguments)


def random_data(random: Random) -> bytes:
    """Lines of words, some of which are odd."""
    pieces = [word.encode("utf-8", "replace") for word in WORDS]
    pieces += [b"\n", b"\n", b"\r\n", b" ", b"\xc3", b"\xed\xa0\x80"]
    return b" ".join(pieces[k] for k in random.integers(0, len(pieces), random.integers(0, 30)))


def check_split(random: Random) -> None:
    """Splits lines twice, and writes their brackets if they are not odd."""
    table, data = WordTable(), random_data(random)
    limits = LineLimits(*(int(limit) for limit in random.choice([0, 1, 3, 40, 2000], 4)))
    for _ in range(2):
        sentences, has_words, size = table.split(data, limits)
        assert size <= len(data) and len(has_words) <= limits.lines
        if sentences is not None:
            lines = [line.decode() for line in data[:size].split(b"\n")]
            assert list(sentences) == list(filter(None, map(WORD.findall, lines)))
            assert [table.words()[row] for row in sentences.rows] == [word for line in sentences for word in line]
            spans = [span for length in sentences.lengths for span in sorted(random_spans(random, 0, int(length)))]
            starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
            trees = FlatTrees(starts, ends, integers(random, 0, 4, len(spans)))
            writer = BracketWriter(LABELS, TAGS, exact=bool(random.integers(2)))
            assert writer.lines(sentences, trees) == writer.lines(list(sentences), trees)


def split_changed_arguments(random: Random) -> None:
    """Objects of other types, null for an address, or wrong sizes."""
    data = random_data(random)
    arrays = [np.zeros(len(data) + 1, np.int64) for _ in range(4)]
    addresses = [array.ctypes.data for array in arrays]
    arguments: list[Any] = [_word_table.new_table(7), data, 9, 50, 50, 50, *addresses]
    position = int(random.integers(len(arguments)))
    choices = (0, None, "text", -(2**70)) if position >= 6 or position == 2 else (*OBJECTS, *LARGE_NUMBERS)
    arguments[position] = choices[random.integers(len(choices))]
    _word_table.split(*arguments[:2], tuple(arguments[2:6]), tuple(arguments[6:]))
    _word_table.words(arguments[0], int(random.choice([0, 0, 5, -1])))


def read_changed_table(random: Random) -> None:
    """Objects that are no table."""
    table = (_word_table.new_table(3), *OBJECTS)[random.integers(1 + len(OBJECTS))]
    _word_table.size(table)
    _word_table.words(table, 0)
    _word_table.new_table((7, None)[random.integers(2)])


def write_changed_lines(random: Random) -> None:
    """Lines whose starts, ends and numbers of words do not fit the data or the arrays."""
    sentences, columns, _ = random_sentences(random)
    data = b"\n".join(b" ".join(b"w" for _ in sentence) for sentence in sentences)
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    ends = np.cumsum(2 * lengths) - 1
    places = [ends - 2 * lengths + 1, ends, lengths]
    if lengths.size:
        places[random.integers(3)][random.integers(lengths.size)] += random.choice([-1, 0, 1, 2**40, -(2**62)])
    texts = ((" (S", "", " (NP", "", " (S (VP"), ("DT", "(", "é", ""), " (TOP", 1, True)
    arguments: list[Any] = [data, len(sentences), *(array.ctypes.data for array in places), sum(map(len, sentences))]
    arguments += [*(column.ctypes.data for column in columns), *texts]
    if not random.integers(3):
        position = int(random.choice([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]))
        choices = (-1, -(2**62), None) if position == 1 else (0, None, (), "text")
        arguments[position] = choices[random.integers(len(choices))]
    _bracket_writer.write_text(*arguments)


def run_case(runner: Runner) -> None:
    random, kind = runner.random, runner.random.integers(6)
    if kind == 0:
        check_lines(random)
        runner.calls += 1
    elif kind == 3:
        check_split(random)
        runner.calls += 1
    elif kind == 4:
        change = split_changed_arguments if random.integers(2) else read_changed_table
        runner.attempt(lambda: change(random))
    elif kind == 5:
        runner.attempt(lambda: write_changed_lines(random))
    elif kind == 1:
        runner.attempt(lambda: write_changed_columns(random))
    else:
        runner.attempt(lambda: write_changed_arguments(random), LookupError)


if __name__ == "__main__":
    main("the bracket writer and the word table", run_case)
