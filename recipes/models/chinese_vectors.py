"""Writes the Chinese word vectors of the package Synonyms in the text format of GloVe.

    pip download --no-deps synonyms==3.10.2
    python recipes/models/chinese_vectors.py synonyms-3.10.2.tar.gz data/sinica/train.mrg.gz zh-vectors.txt.gz

The package (MIT license) has vectors of 100 dimensions for words of the Chinese Wikipedia, most frequent words first,
but none for function words. The output has words of at most four Chinese characters, in simplified form: the first
50,000, and the words of the training trees.
"""

import gzip
import io
import re
import sys
import tarfile
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from treecrf.text.normalization import normalizer
from treecrf.trees.treebank import read_trees

MEMBER = "synonyms-3.10.2/synonyms/data/words.vector"
MAX_WORDS = 50_000
CHINESE_WORD = re.compile("[\u4e00-\u9fff]{1,4}")


def read_word2vec(file: io.BytesIO) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """Yields the words and vectors of a file in the binary format of word2vec."""
    count, size = map(int, file.readline().split())
    for _ in range(count):
        word = b""
        while (byte := file.read(1)) != b" ":
            word += byte
        yield word.decode("utf-8", "replace").strip(), np.frombuffer(file.read(4 * size), np.float32)


def select_words(
    vectors: Iterator[tuple[str, npt.NDArray[np.float32]]], training_words: set[str]
) -> dict[str, npt.NDArray[np.float32]]:
    """The vectors of the first words and of the training words, by the simplified form of the word."""
    simplify = normalizer("simplified")
    selected: dict[str, npt.NDArray[np.float32]] = {}
    for word, vector in vectors:
        if CHINESE_WORD.fullmatch(word):
            simplified = simplify(word)
            if simplified not in selected and (len(selected) < MAX_WORDS or simplified in training_words):
                selected[simplified] = vector
    return selected


def main(archive: str, treebank: str, output: str) -> None:
    """Writes the vectors, scaled to a standard deviation of 1, with two decimals."""
    simplify = normalizer("simplified")
    training_words = {simplify(word) for tree in read_trees(treebank) for word in tree.words}
    with tarfile.open(archive) as package:
        member = package.extractfile(MEMBER)
        assert member is not None
        selected = select_words(read_word2vec(io.BytesIO(member.read())), training_words)
    scale = np.stack(list(selected.values())).std()
    with gzip.open(output, "wt", encoding="utf-8") as file:
        for word, vector in selected.items():
            print(word, *(f"{number:.2f}" for number in vector / scale), file=file)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
