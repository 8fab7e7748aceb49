import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import treecrf
from treecrf.trees.drawing import svg

SOURCE = Path(treecrf.__file__).parent


@pytest.mark.parametrize("name", treecrf.__all__)
def test_every_public_name_exists(name):
    assert getattr(treecrf, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Perser'"):
        treecrf.Perser  # noqa: B018  # the lookup is the test


@pytest.mark.parametrize("code", ["import treecrf", "from treecrf import Tree, evaluate, read_trees, to_spans"])
def test_trees_and_scores_need_neither_torch_nor_numpy(code):
    check = f"{code}\nimport sys\nassert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_notebooks_show_a_tree_as_a_picture():
    tree = treecrf.Tree.parse("(S (NP (PRP We)) (VP (VBP parse)))")
    assert svg(tree) in tree._repr_html_()
    code = "from treecrf.trees.tree import Tree; print(Tree.parse('(A a)')._repr_html_()[:4])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"<div"


def test_every_error_of_treecrf_has_one_base() -> None:
    names = [path.relative_to(SOURCE.parent).with_suffix("") for path in SOURCE.rglob("[!_]*.py")]
    defined = {
        (".".join(name.parts), node.name)
        for name in names
        for node in ast.parse((SOURCE.parent / name).with_suffix(".py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Exception"))
    }
    ours = {(module, name) for module, name in defined if not module.startswith("treecrf.server")}
    assert len(ours) > 8
    documented = set(
        re.findall(r"^::: .*\.(\w+)$", (Path(__file__).parents[1] / "docs" / "api.md").read_text(), re.MULTILINE)
    )
    assert {name for _, name in ours} - documented == set()
    for module, name in ours:
        assert issubclass(getattr(import_module(module), name), treecrf.TreecrfError), f"{module}.{name}"
