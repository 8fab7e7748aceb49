"""Imports between wings, and between the packages of a wing: exactly the listed edges, each to an entry above.

A new edge is a decision: add it here, and a reviewer sees it. Imports inside functions count like all others.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "treecrf"
# each wing or package with the wings and packages it imports, which stand above it
EDGES: dict[str, set[str]] = {
    "config": set(),
    "files": set(),
    "arrays": set(),
    "threads": set(),
    "trees/notation": set(),
    "trees/tree": {"trees/notation"},
    "trees/tree_differences": {"trees/tree"},
    "trees/other_libraries": set(),
    "trees/treebank": {"config", "files", "trees/notation", "trees/tree"},
    "trees/bootstrap": set(),
    "trees/placed_nodes": {"trees/tree"},
    "trees/predicates": {"trees/tree", "trees/placed_nodes"},
    "trees/evalb": {"files", "trees/tree", "trees/other_libraries", "trees/bootstrap", "trees/placed_nodes"},
    "trees/search": {"config", "files", "trees/notation", "trees/tree", "trees/other_libraries", "trees/treebank"},
    "trees/dependencies": {"config", "trees/notation", "trees/tree", "trees/search"},
    "trees/drawing": {"config", "files", "trees/notation", "trees/tree", "trees/treebank"},
    "trees/analysis": {"trees/tree", "trees/tree_differences", "trees/other_libraries", "trees/drawing"},
    "trees/tables": {"trees/tree", "trees/search", "trees/analysis", "trees/predicates"},
    "trees/__init__": {"trees/tree", "trees/other_libraries", "trees/search", "trees/dependencies", "trees/drawing"},
    "text": {"config", "trees/notation", "trees/treebank"},
    "chart": {"arrays", "threads"},
    "network/data": {"config", "files", "arrays", "trees/tree", "trees/treebank", "text"},
    "network/nn": {"arrays", "chart", "network/data"},
    "network/runtime": {"arrays", "threads", "network/data"},
    "network": set(),
    "parser/models": {"config", "files", "trees/treebank"},
    "parser/decoding": {
        *("arrays", "threads", "trees/tree", "trees/tree_differences", "trees/treebank", "trees/analysis", "chart"),
        *("network/data", "network/nn", "network/runtime", "trees/notation", "trees/placed_nodes", "trees/search"),
    },
    "parser": {
        *("config", "files", "arrays", "threads", "trees/tree", "trees/treebank", "trees/evalb", "trees/search"),
        *(
            "trees/notation",
            "trees/other_libraries",
            "trees/placed_nodes",
            "trees/analysis",
            "text",
            "chart",
            "network/data",
            "network/nn",
            "network/runtime",
            "parser/models",
            "parser/decoding",
        ),
    },
    "training": {
        *("config", "files", "arrays", "trees/tree", "trees/bootstrap", "trees/treebank", "trees/evalb", "text"),
        *("chart", "trees/notation"),
        *("network/data", "network/nn", "parser/decoding", "parser/models", "parser"),
    },
    "training/calibration": {
        *(
            "files",
            "arrays",
            "trees/tree",
            "trees/bootstrap",
            "trees/treebank",
            "trees/evalb",
            "chart",
            "network/data",
            "network/nn",
        ),
        *("parser/decoding", "parser", "training"),
    },
    "training/export": {
        *("config", "files", "arrays", "trees/tree", "trees/treebank", "trees/evalb", "parser/models", "parser"),
        *("network/runtime", "trees/notation", "training", "training/calibration"),
    },
    "training/adaptation": {
        *("files", "arrays", "trees/tree", "trees/bootstrap", "trees/treebank", "trees/evalb", "network/data"),
        "network/nn",
        *("network/runtime", "parser/models", "parser/decoding", "parser", "training", "training/calibration"),
        "training/export",
    },
    "training/reproduce": {
        *("config", "files", "trees/tree", "trees/treebank", "trees/evalb", "chart", "network/nn"),
        *("parser/decoding", "parser", "training", "training/calibration", "training/export"),
    },
    "corpus": {
        *("files", "threads", "trees/treebank", "trees/search", "trees/dependencies", "trees/analysis", "trees/tables"),
        *("text", "parser/models", "parser/decoding", "parser"),
    },
    "corpus/measures": {
        "files",
        "arrays",
        "trees/tree",
        "trees/bootstrap",
        "trees/tables",
        "trees/treebank",
        "trees/search",
        "text",
        "parser",
        "corpus",
    },
    "corpus/annotation": {
        *("files", "trees/tree", "trees/analysis", "trees/evalb", "parser/models", "parser/decoding", "parser"),
        *("trees/treebank", "trees/tables"),
    },
    "integrations": {"threads", "trees/notation", "trees/tree", "trees/treebank", "text", "parser"},
    "server": {
        *("files", "trees/tree", "trees/treebank", "trees/search", "trees/analysis", "text", "parser/models"),
        *("trees/notation", "trees/dependencies", "parser/decoding", "parser", "corpus/annotation"),
    },
    "cli": {
        *("config", "files", "trees/tree", "trees/treebank", "trees/evalb", "trees/search", "trees/drawing"),
        *("parser/models", "parser", "training", "training/calibration", "training/export"),
        "training/adaptation",
        *("training/reproduce", "corpus", "corpus/measures", "corpus/annotation", "server", "trees/tables"),
    },
}
# wings and packages that never import PyTorch, not even inside a function
WITHOUT_TORCH = ("config", "files", "arrays", "threads", "trees", "text")
# modules that need PyTorch, in packages that otherwise need NumPy only
WITH_TORCH = {
    "chart": {
        "cpu_tensors",
        "crf",
        "dispatch",
        "distribution",
        "grid_sync",
        "kbest",
        "labels",
        "naive",
        "torch_backend",
        "tree_crf",
        "triton_backend",
        "triton_labels",
        "triton_launch",
    },
    "network/data": set(),
    "network/runtime": set(),
    "parser/decoding": {"device_decode", "triton_candidates"},
}
TORCH = {"torch", "triton"}
HEAVY = {*TORCH, "transformers", "safetensors"}
MODULES = sorted(
    path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem[0] != "_"
)
PACKAGES = {path.parent.as_posix() for path in MODULES if path.name == "__init__.py" and len(path.parts) == 3}

TREE_MODULES = {path.with_suffix("").as_posix() for path in MODULES if path.parent == Path("trees")}


def entry_of(path: Path) -> str:
    """The wing or package in EDGES of a module: `trees/search/heads.py` belongs to `trees/search`."""
    package = "/".join(path.parts[:2]).removesuffix(".py")
    return package if package in PACKAGES or package in TREE_MODULES else path.parts[0].removesuffix(".py")


def imported_names(path: Path) -> set[str]:
    """Everything that a file imports, also inside its functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{name.name}" for name in node.names}
    return names


def type_names(path: Path) -> set[str]:
    """The names that a file imports for the type checker alone."""
    blocks = [node for node in ast.parse((SOURCE / path).read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {f"{node.module}.{name.name}" for node in imports for name in node.names}


def imported_entries(entry: str) -> set[str]:
    paths = [path for path in MODULES if entry_of(path) == entry]
    names = {name for path in paths for name in imported_names(path) if name.startswith("treecrf.")}
    if entry == "trees/tree":  # the signatures of the methods that trees/__init__.py binds
        names -= type_names(Path("trees/tree.py"))
    targets = {entry_of(Path(*name.split(".")[1:])) for name in names}
    return (targets & {entry_of(path) for path in MODULES}) - {entry}


def test_every_wing_and_package_is_listed():
    assert {entry_of(path) for path in MODULES} == set(EDGES)


@pytest.mark.parametrize("entry", EDGES)
def test_imports_are_exactly_those_listed(entry):
    assert imported_entries(entry) == EDGES[entry]


@pytest.mark.parametrize("entry", EDGES)
def test_imports_point_upward_in_the_list(entry):
    order = list(EDGES)
    assert EDGES[entry] <= set(order[: order.index(entry)])


def test_wings_stand_in_the_order_of_the_list():
    wings = list(dict.fromkeys(entry.split("/")[0] for entry in EDGES))
    used = {(entry.split("/")[0], edge.split("/")[0]) for entry, edges in EDGES.items() for edge in edges}
    assert all(wings.index(edge) <= wings.index(wing) for wing, edge in used)


def test_trees_need_only_settings_and_files():
    edges = {edge.split("/")[0] for entry, edges in EDGES.items() if entry.split("/")[0] == "trees" for edge in edges}
    assert edges <= {"trees", "config", "files"}


@pytest.mark.parametrize("path", [path for path in MODULES if entry_of(path).split("/")[0] in WITHOUT_TORCH], ids=str)
def test_trees_texts_and_scores_never_import_torch(path):
    assert not {name.split(".")[0] for name in imported_names(path)} & HEAVY
    assert {edge.split("/")[0] for edge in EDGES[entry_of(path)]} <= set(WITHOUT_TORCH)


@pytest.mark.parametrize("path", [path for path in MODULES if entry_of(path) in WITH_TORCH], ids=str)
def test_charts_and_decoding_on_a_cpu_never_import_torch(path):
    entry = entry_of(path)
    prefix = f"treecrf.{entry.replace('/', '.')}."
    names = {name.split(".")[0] for name in imported_names(path)}
    local = {name.removeprefix(prefix).split(".")[0] for name in imported_names(path) if name.startswith(prefix)}
    imports_torch = bool(names & TORCH or local & WITH_TORCH[entry])
    assert imports_torch == (path.stem in WITH_TORCH[entry])


@pytest.mark.parametrize("module", ["parser", "corpus.parse_files", "server.app", "integrations.nltk", "cli.parse"])
def test_parsing_starts_without_torch(module):
    program = f"import sys, treecrf.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_trees_do_not_import_numpy():
    code = "import sys, treecrf.trees.tree; sys.exit('numpy' in sys.modules or 'treecrf.trees.search' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_charts_never_see_a_tree_or_a_label():
    assert not any(edge.startswith("trees") for edge in EDGES["chart"])


def test_the_network_knows_nothing_of_8_bit_integers():
    assert "network/runtime" not in EDGES["network/nn"]
