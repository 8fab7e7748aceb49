"""Imports between packages: exactly those that are listed here, and each to a package that stands above.

A new edge is a decision: add it here, and a reviewer sees it.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "treecrf"
# each package with the packages it imports, which stand above it
EDGES: dict[str, set[str]] = {
    "config": set(),
    "atomic_io": set(),
    "models": {"atomic_io"},
    "samples": set(),
    "tree": set(),
    "treebank": {"atomic_io", "tree"},
    "text": {"treebank"},
    "evalb": {"tree"},
    "search": {"tree", "treebank"},
    "dependencies": {"search", "tree", "treebank"},
    "viz": {"tree", "treebank"},
    "chart": set(),
    "data": {"atomic_io", "text", "tree", "treebank"},
    "nn": {"chart", "data"},
    "runtime": {"chart", "data"},
    "decoding": {"chart", "data", "nn", "runtime", "tree", "treebank", "viz"},
    "parser": {
        *("atomic_io", "chart", "config", "data", "decoding", "evalb", "models"),
        *("nn", "runtime", "search", "text", "tree", "treebank"),
    },
    "tables": {"decoding", "parser", "search", "tree"},
    "training": {"atomic_io", "config", "data", "evalb", "nn", "parser", "text", "tree", "treebank"},
    "calibration": {
        *("atomic_io", "chart", "data", "decoding", "evalb", "nn", "parser", "training"),
        *("tree", "treebank"),
    },
    "bulk": {
        "atomic_io",
        "chart",
        "decoding",
        "dependencies",
        "models",
        "parser",
        "search",
        "tables",
        "text",
        "treebank",
    },
    "export": {
        *("atomic_io", "bulk", "calibration", "config", "evalb", "models", "parser", "training"),
        *("tree", "treebank"),
    },
    "measures": {"bulk", "chart", "parser", "search", "text", "tree", "treebank"},
    "reproduce": {
        *("atomic_io", "bulk", "calibration", "config", "data", "decoding", "evalb", "export", "nn"),
        *("parser", "training", "tree", "treebank"),
    },
    "integrations": {"chart", "parser", "text", "tree", "treebank"},
    "server": {"decoding", "export", "models", "parser", "search", "text", "tree", "treebank"},
    "cli": {
        *("atomic_io", "bulk", "calibration", "config", "evalb", "export", "measures", "models", "parser"),
        *("reproduce", "samples", "search", "server", "text", "training", "tree", "treebank", "viz"),
    },
}
# modules that need PyTorch, in packages that otherwise need NumPy only
WITH_TORCH = {
    "chart": {
        "cpu_tensors",
        "crf",
        "dispatch",
        "grid_sync",
        "margin",
        "naive",
        "sampling",
        "torch_backend",
        "triton_backend",
    },
    "data": set(),
    "decoding": {"device_decode"},
    "runtime": set(),
}
TORCH = {"torch", "triton"}
# methods that import a package below when they are called, and names that only the type checker imports: `Tree.search`
LAZY_EDGES = {"tree": {"dependencies", "search"}}
WITHOUT_TORCH = (
    *("config", "atomic_io", "models", "samples"),
    *("tree", "treebank", "text", "evalb", "search", "dependencies", "viz"),
)
HEAVY = {"torch", "triton", "transformers", "safetensors"}
MODULES = sorted(
    path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem[0] != "_"
)


def package_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported_names(path: Path) -> set[str]:
    """Everything that a file imports, also inside its functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{name.name}" for name in node.names}
    return names


def imported_packages(package: str) -> set[str]:
    paths = [path for path in MODULES if package_of(path) == package]
    names = {name for path in paths for name in imported_names(path) if name.startswith("treecrf.")}
    return ({name.split(".")[1] for name in names} & {package_of(path) for path in MODULES}) - {package}


def test_every_package_is_listed():
    assert {package_of(path) for path in MODULES} == set(EDGES)


@pytest.mark.parametrize("package", EDGES)
def test_a_package_imports_exactly_what_is_listed(package):
    assert imported_packages(package) == EDGES[package] | LAZY_EDGES.get(package, set())


@pytest.mark.parametrize("package", EDGES)
def test_imports_point_upward_in_the_list(package):
    order = list(EDGES)
    assert EDGES[package] <= set(order[: order.index(package)])


@pytest.mark.parametrize("path", [path for path in MODULES if package_of(path) in WITHOUT_TORCH], ids=str)
def test_trees_texts_and_scores_never_import_torch(path):
    assert not {name.split(".")[0] for name in imported_names(path)} & HEAVY
    assert EDGES[package_of(path)] <= set(WITHOUT_TORCH)


@pytest.mark.parametrize("path", [path for path in MODULES if package_of(path) in WITH_TORCH], ids=str)
def test_charts_and_decoding_on_a_cpu_never_import_torch(path):
    package = package_of(path)
    names = {name.split(".")[0] for name in imported_names(path)}
    local = {name.split(".")[2] for name in imported_names(path) if name.startswith(f"treecrf.{package}.")}
    imports_torch = bool(names & TORCH or local & WITH_TORCH[package])
    assert imports_torch == (path.stem in WITH_TORCH[package])


@pytest.mark.parametrize("module", ["parser", "bulk.parse_files", "server.app", "integrations.nltk", "cli.parse"])
def test_parsing_starts_without_torch(module):
    program = f"import sys, treecrf.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_trees_do_not_import_numpy():
    code = "import sys, treecrf.tree; sys.exit('numpy' in sys.modules or 'treecrf.search' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_charts_never_see_a_tree_or_a_label():
    assert EDGES["chart"] == set()


def test_the_network_knows_nothing_of_8_bit_integers():
    assert EDGES["nn"] == {"chart", "data"}
