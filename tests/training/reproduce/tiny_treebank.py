"""A treebank folder made of the fifty sample trees, and settings of a network that trains in seconds."""

from pathlib import Path

from small import FIFTY
from treecrf.trees.treebank import read_trees, write_trees

TINY = (
    "model.word_size=16",
    "model.char_embedding_size=8",
    "model.char_size=16",
    "model.lstm_size=24",
    "model.lstm_layers=1",
    "model.span_size=24",
    "model.label_size=24",
    "train.batch_words=100",
    "train.learning_rate=0.01",
)


def make_treebank(folder: Path) -> Path:
    """Writes forty training trees, fifteen dev trees, and ten test trees in two genres."""
    folder.mkdir()
    trees = list(read_trees(FIFTY))
    write_trees(folder / "train.mrg.gz", trees[:40])
    write_trees(folder / "dev.mrg", trees[30:45])
    write_trees(folder / "test.chat.mrg", trees[40:46])
    write_trees(folder / "test.news.mrg.gz", trees[46:])
    return folder


def make_vectors(path: Path) -> Path:
    """Writes word vectors of size 16."""
    words = ("the", "a", "cat", "river", "red", "unk")
    rows = [f"{word} {' '.join(str((place + n) % 5 - 2) for n in range(16))}" for place, word in enumerate(words)]
    path.write_text("\n".join(rows) + "\n")
    return path
