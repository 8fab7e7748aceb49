"""Random trees of a toy grammar, with every kind of structure that the code must handle."""

import random
from pathlib import Path

from treecrf.trees.tree import Tree
from treecrf.trees.treebank.samples import FOLDER

_WORDS = {
    "DT": ["the", "a", "every", "that"],
    "JJ": ["red", "quiet", "old", "small"],
    "NN": ["cat", "garden", "river", "teacher", "book", "wall"],
    "NNP": ["Ada", "Boris", "Chen"],
    "PRP": ["we", "she", "they"],
    "IN": ["in", "behind", "with"],
    "VBZ": ["likes", "sees", "paints", "climbs"],
    "VBD": ["slept", "waited", "sang"],
    "RB": ["slowly", "often", "never"],
    "CC": ["and", "or"],
    "C": ["that", "because"],
    ",": [","],
    ".": [".", "!"],
    "CD": ["two", "7", "1,024"],
}
_RULES = {
    "TOP": ["S", "S", "S", "S", "NP", "FRAG"],
    "S": ["NP VP .", "NP VP .", "NP ADVP VP .", "S , CC S .", "VP ."],
    "SBAR": ["C S"],
    "NP": ["DT NN", "DT JJ NN", "DT JJ JJ NN", "NNP", "PRP", "QP NN", "NP PP", "NP , NP , CC NP"],
    "QP": ["CD", "CD CC CD"],
    "PP": ["IN NP"],
    "VP": ["VBZ NP", "VBD", "VBD ADVP", "VBZ NP PP", "VBD SBAR", "VP CC VP"],
    "ADVP": ["RB", "RB RB"],
    "FRAG": ["NP", "ADVP .", "PP ."],
}
_MAX_DEPTH = 7


def toy_trees(count: int, *, seed: int = 0, max_words: int = 16) -> list[Tree]:
    """Returns trees of different sentences with at most `max_words` words."""
    generator = random.Random(seed)
    trees: dict[tuple[str, ...], Tree] = {}
    while len(trees) < count:
        tree = _expand("TOP", generator, 0)
        if len(tree.words) <= max_words:
            trees.setdefault(tuple(tree.words), tree)
    return list(trees.values())


def _expand(label: str, generator: random.Random, depth: int) -> Tree:
    if label in _WORDS:
        return Tree({"C": "IN"}.get(label, label), (generator.choice(_WORDS[label]),))
    rules = _RULES[label] if depth < _MAX_DEPTH else _RULES[label][:1]
    return Tree(label, tuple(_expand(child, generator, depth + 1) for child in generator.choice(rules).split()))


def write_trees(path: Path, trees: list[Tree]) -> Path:
    """Writes one tree per line."""
    path.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    return path


if __name__ == "__main__":
    write_trees(FOLDER / "fifty.mrg", toy_trees(50))
