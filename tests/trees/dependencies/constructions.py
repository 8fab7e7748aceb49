"""Sentences by construction, one file for each module in tests/data/dependencies: a name, a tree, and its arcs."""

from pathlib import Path
from typing import Any

import pytest

from treecrf.trees.dependencies.units import Unit, build_units
from treecrf.trees.tree import Tree

FOLDER = Path(__file__).parents[2] / "data" / "dependencies"


def _read(path: Path) -> list[list[str]]:
    """The name, the tree and the arcs of each construction."""
    return [block.strip().split("\n") for block in path.read_text(encoding="utf-8").split("# ")[1:]]


def constructions(*modules: str) -> Any:
    """Parametrizes a test by the tree and the arcs of each construction of some modules."""
    rows = [row for module in modules for row in _read(FOLDER / f"{module}.txt")]
    return pytest.mark.parametrize(("tree", "arcs"), [row[1:] for row in rows], ids=[row[0] for row in rows])


def wrong_constructions() -> list[str]:
    """The names of all constructions, of any module, that are not converted to their arcs."""
    return [
        name for path in sorted(FOLDER.glob("*.txt")) for name, tree, arcs in _read(path) if arcs_text(tree) != arcs
    ]


def arcs_text(tree: str) -> str:
    """Each word of a tree with the number of its head and its relation."""
    dependencies = Tree.parse(tree).to_dependencies()
    rows = zip(dependencies.words, dependencies.heads, dependencies.relations, strict=True)
    return " | ".join(f"{word} {head}:{relation}" for word, head, relation in rows)


def unit(tree: str) -> Unit:
    """The units of a tree."""
    return build_units(Tree.parse(tree))
