"""Prints the sentences of treebanks, one per line: without duplicates and markup, and with multiword tokens split.

python recipes/models/sentences.py data/redwoods/{train,dev,test}.mrg.gz > redwoods.txt
"""

import re
import sys
from collections.abc import Iterable, Iterator

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

MARKUP = re.compile(r"[⌊⌋|>=/\\]")


def sentence_lines(trees: Iterable[Tree]) -> Iterator[str]:
    """Yields the words of each tree with at least two words, in the order of their first occurrence."""
    previous_lines = set()
    for tree in trees:
        words = " ".join(tree.words).replace("_", " ").split()
        line = " ".join(words)
        if len(words) > 1 and not MARKUP.search(line) and line not in previous_lines:
            previous_lines.add(line)
            yield line


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for line in sentence_lines(tree for path in sys.argv[1:] for tree in read_trees(path)):
        print(line)
