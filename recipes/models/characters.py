"""Writes a treebank as trees of characters, from which a parser learns to find words in text without spaces.

    python recipes/models/characters.py data/keyaki/train.mrg.gz data/keyaki/train_characters.mrg.gz

Each word becomes a constituent of its characters. Sentences of more than 150 characters are left out.
"""

import sys
from collections.abc import Iterable, Iterator

from treecrf.parser.segmentation import character_tree
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees

MAX_CHARACTERS = 150


def short_character_trees(trees: Iterable[Tree]) -> Iterator[Tree]:
    """Yields the trees of characters of all sentences that are not too long."""
    character_trees = (character_tree(tree.words, tree.label) for tree in trees)
    return (tree for tree in character_trees if len(tree.words) <= MAX_CHARACTERS)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_trees(sys.argv[2], short_character_trees(read_trees(sys.argv[1])))
