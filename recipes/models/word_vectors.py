"""Writes word vectors in the format of GloVe: of the first 50,000 words and of the words of texts, with two decimals.

    python recipes/models/word_vectors.py glove.6B.100d.txt data/glove.txt.gz data/masc/train.mrg.gz sentences.txt ...

A text is a file of trees, or a .txt file of sentences with a space between words.
"""

import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from treecrf.trees.treebank import read_trees

FIRST_WORDS = 50_000
UNKNOWN = "unk"  # the word whose vector unknown words have


def words_of(path: str) -> Iterator[str]:
    """Yields the words of a text in lower case."""
    if path.endswith(".txt"):
        yield from Path(path).read_text(encoding="utf-8").lower().split()
    else:
        yield from (word.lower() for tree in read_trees(path) for word in tree.words)


def select_lines(lines: Iterable[str], words: set[str]) -> Iterator[str]:
    """Yields the first lines and the lines of the words, with rounded numbers."""
    for number, line in enumerate(lines):
        word, *values = line.rstrip("\n").split(" ")
        if number < FIRST_WORDS or word in words:
            yield " ".join([word, *(f"{float(value):.2f}" for value in values)])


def main(source: str, output: str, texts: Sequence[str]) -> None:
    words = {UNKNOWN, *(word for path in texts for word in words_of(path))}
    with Path(source).open(encoding="utf-8") as lines, gzip.open(output, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in select_lines(lines, words))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
