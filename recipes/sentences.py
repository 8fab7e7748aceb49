"""The sentences of treebanks as lines of words, for parsers to explain: each once, multiwords cut, markup left out.

python recipes/sentences.py data/redwoods/{train,dev,test}.mrg.gz > redwoods.txt
"""

import re
import sys
from collections.abc import Iterable, Iterator

from treecrf.tree import Tree
from treecrf.treebank import read_trees

MARKUP = re.compile(r"[⌊⌋|>=/\\]")


def lines(trees: Iterable[Tree]) -> Iterator[str]:
    """The words of trees, of two words and more, in the order in which they first come."""
    seen = set()
    for tree in trees:
        words = " ".join(tree.words).replace("_", " ").split()
        line = " ".join(words)
        if len(words) > 1 and not MARKUP.search(line) and line not in seen:
            seen.add(line)
            yield line


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for line in lines(tree for path in sys.argv[1:] for tree in read_trees(path)):
        print(line)
