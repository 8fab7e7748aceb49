"""Adds punctuation to the Sinica Treebank sample, which has none.

    python recipes/models/clauses.py data/sinica/train.mrg.gz data/sinica/train_marked.mrg.gz

Half of the clauses stay unchanged. The others are joined in their order, up to three in a sentence, with commas between
them and a final punctuation mark, all directly below the root. Every clause is used once.
"""

import random
import sys
from collections.abc import Iterator

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees

COMMA = Tree("COMMACATEGORY", ("，",))
ENDS = [Tree("PERIODCATEGORY", ("。",)), Tree("QUESTIONCATEGORY", ("？",)), Tree("EXCLAMATIONCATEGORY", ("！",))]
PROBABILITIES = [0.8, 0.1, 0.1]


def add_punctuation(clauses: list[Tree], *, seed: int = 1) -> Iterator[Tree]:
    """Yields the clauses, some of them joined with punctuation, chosen by the seed."""
    generator = random.Random(seed)
    start = 0
    while start < len(clauses):
        end = start + generator.randint(1, 3)
        group, start = clauses[start:end], end
        if generator.random() < 0.5:
            yield from group
            continue
        children: list[Tree] = []
        for clause in group:
            children += [COMMA] * bool(children) + list(clause.child_trees)
        yield Tree(group[0].label, (*children, *generator.choices(ENDS, PROBABILITIES)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_trees(sys.argv[2], add_punctuation(list(read_trees(sys.argv[1]))))
