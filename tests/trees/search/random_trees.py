"""Random trees with few labels, so that patterns match."""

from random import Random

from treecrf.trees.tree import Tree

LABELS = ["S", "NP", "VP", "NP-SBJ", "NN", "CC", ",", "VBD", "the"]


def random_tree(random: Random, depth: int = 4) -> Tree:
    label = random.choice(LABELS)
    if depth == 0 or random.random() < 0.25:
        return Tree(label, (random.choice(LABELS),))
    return Tree(label, tuple(random_tree(random, depth - 1) for _ in range(random.randint(1, 3))))


def random_trees(random: Random) -> list[Tree]:
    return [random_tree(random) for _ in range(random.randint(1, 3))]
