"""Give clauses their punctuation: the Sinica Treebank's sample leaves it out, and the text that a parser meets has it.

    python recipes/clauses.py data/sinica/train.mrg.gz data/sinica/train_marked.mrg.gz

Half of the clauses stay as they are. The others are joined as they follow each other, up to three in a sentence, with
commas between and a mark at the end, all below the root. Every clause is there once.
"""

import random
import sys
from collections.abc import Iterator

from treecrf.tree import Tree
from treecrf.treebank import read_trees, write_trees

COMMA = Tree("COMMACATEGORY", ("，",))
ENDS = [Tree("PERIODCATEGORY", ("。",)), Tree("QUESTIONCATEGORY", ("？",)), Tree("EXCLAMATIONCATEGORY", ("！",))]
SHARES = [0.8, 0.1, 0.1]


def marked(clauses: list[Tree], *, seed: int = 1) -> Iterator[Tree]:
    """The clauses, some with punctuation; which follows from the seed."""
    generator = random.Random(seed)
    place = 0
    while place < len(clauses):
        count = generator.randint(1, 3)
        group, place = clauses[place : place + count], place + count
        if generator.random() < 0.5:
            yield from group
            continue
        children: list[Tree] = []
        for clause in group:
            children += [COMMA] * bool(children) + list(clause.subtrees)
        yield Tree(group[0].label, (*children, *generator.choices(ENDS, SHARES)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_trees(sys.argv[2], marked(list(read_trees(sys.argv[1]))))
