"""Writes IcePaHC's trees with the words of running text.

    python recipes/models/running_words.py data/icepahc/train.mrg.gz data/icepahc/train_running.mrg.gz

IcePaHC writes some words as two tokens, such as "dag$ $inn", and a word that a speaker left out as "*". In the new
trees, the parts are one word with the tag of the first part. Left-out words and trees without words are dropped.
"""

import sys
from collections.abc import Iterable, Iterator

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees

OMITTED_WORD = "*"


def with_running_words(tree: Tree) -> Tree | None:
    """The tree with whole words; None if it has no words."""
    words = running_words(tree.words)
    return _replace_words(tree, iter(words)) if any(words) else None


def running_words(words: Iterable[str]) -> list[str | None]:
    """The whole word at the place of its first part; None for the places of other parts and of left-out words."""
    places: list[str | None] = []
    first = -1  # the place of a word whose next part follows
    for word in words:
        is_first_part = word.endswith("$") and len(word) > 1
        text = word.removesuffix("$") if is_first_part else word
        if text.startswith("$") and len(text) > 1:
            text = text[1:]
            if first >= 0:
                places[first] = f"{places[first]}{text}"
                places.append(None)
                first = first if is_first_part else -1
                continue
        places.append(None if word == OMITTED_WORD else text.replace("<dash/>", "-").replace("<dash>", "-"))
        first = len(places) - 1 if is_first_part else -1
    return places


def _replace_words(tree: Tree, words: Iterator[str | None]) -> Tree | None:
    """The tree with new words for its leaves; constituents without words are dropped."""
    if tree.is_leaf:
        word = next(words)
        return None if word is None else Tree(tree.label, (word,))
    children = [child for subtree in tree.child_trees if (child := _replace_words(subtree, words))]
    return Tree(tree.label, tuple(children)) if children else None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_trees(sys.argv[2], (new for tree in read_trees(sys.argv[1]) if (new := with_running_words(tree))))
