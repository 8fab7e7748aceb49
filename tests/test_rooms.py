"""The floor plan: imports point downward, the word wing stays free of torch, and charts of strings."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "treecrf"
FLOORS = {
    "tree": 0,
    "cnf": 1,
    "treebank": 1,
    "corpora": 1,
    "evalb": 1,
    "text": 1,
    "draw": 1,
    "brackets": 1,
    "forms": 1,
    "models": 1,
    "chart": 1,
    "nn": 2,
    "encode": 3,
    "checkpoint": 3,
    "config": 3,
    "folder": 3,
    "analysis": 3,
    "constraints": 3,
    "parser": 3,
    "window": 3,
    "flow": 3,
    "harvest": 3,
    "weights": 3,
    "exam": 3,
    "card": 3,
    "packing": 3,
    "train": 3,
    "calibration": 3,
    "certainty": 3,
    "experiments": 3,
    "render": 3,
    "cli": 4,
    "spacy_extensions": 4,
    "spacy_component": 4,
    "nltk_parser": 4,
    "server": 4,
    "ray_engine": 4,
}
WORD_WING = ("tree", "cnf", "treebank", "corpora", "evalb", "text", "draw", "brackets", "forms", "models")
# a tree shows itself in notebooks; the picture is imported when it is asked for
UPWARD = {("tree", "draw")}
HEAVY = ("torch", "triton", "transformers", "safetensors")
MODULES = sorted(
    path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem[0] != "_"
)


def room(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every module that a file imports, also inside its functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def rooms_of(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("treecrf.")} & set(FLOORS)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_module_has_a_floor_and_imports_point_downward(path):
    assert room(path) in FLOORS, f"{path} stands in no room: give it a floor"
    here = room(path)
    upward = {other for other in rooms_of(path) if FLOORS[other] > FLOORS[here] and (here, other) not in UPWARD}
    assert not upward, f"{path} imports upward: {upward}"


@pytest.mark.parametrize("path", [path for path in MODULES if room(path) in WORD_WING], ids=str)
def test_the_word_wing_never_imports_torch(path):
    assert not [name for name in imports(path) if name.split(".")[0] in HEAVY]
    assert rooms_of(path) <= set(WORD_WING)


@pytest.mark.parametrize("path", [path for path in MODULES if room(path) == "chart"], ids=str)
def test_the_chart_never_sees_a_tree_or_a_label(path):
    assert rooms_of(path) <= {"chart"}


@pytest.mark.parametrize("path", [path for path in MODULES if room(path) == "nn"], ids=str)
def test_the_network_knows_only_numbers(path):
    assert rooms_of(path) <= {"nn", "chart"}
