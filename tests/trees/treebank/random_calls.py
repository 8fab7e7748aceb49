"""Random calls of the compiled bracket writer, most of them with hostile arguments.

    PYTHONPATH=SOURCE:tests python tests/trees/treebank/random_calls.py CALLS SEED

The lines of a valid call must be the lines that Python writes.
"""

from typing import Any

import numpy as np

from compiled_calls import WRONG_SIZES, Random, Runner, integers, main
from treecrf.trees.treebank import _bracket_writer
from treecrf.trees.treebank.bracket_writer import BracketWriter, FlatTrees

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


def run_case(runner: Runner) -> None:
    random, kind = runner.random, runner.random.integers(3)
    if kind == 0:
        check_lines(random)
        runner.calls += 1
    elif kind == 1:
        runner.attempt(lambda: write_changed_columns(random))
    else:
        runner.attempt(lambda: write_changed_arguments(random), LookupError)


if __name__ == "__main__":
    main("the bracket writer", run_case)
