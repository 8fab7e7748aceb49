"""Tests of outputs on a terminal."""

import io

from treecrf.corpus.outputs import ColorSink
from treecrf.trees.tree import Tree


def test_labels_on_a_terminal_are_blue() -> None:
    stream = io.BytesIO()
    ColorSink(stream).write(Tree.parse("(S (NP (NN cat)))").pretty().split("\n"))
    blue = ["\x1b[34mS\x1b[0m", "└── \x1b[34mNP\x1b[0m", "    └── \x1b[34mNN\x1b[0m cat", ""]
    assert stream.getvalue().decode() == "\n".join(blue)
