import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given

from strategies import deep_tree, trees
from treecrf.trees.drawing import document, latex
from treecrf.trees.drawing.colors import THEMES
from treecrf.trees.drawing.latex import Package, escape_latex
from treecrf.trees.tree import Tree

PACKAGES: list[Package] = ["forest", "tikz-qtree"]
SPECIAL = Tree.parse(r"""(TOP (S (A|B<c> ~^\#_$%&{}") (`` ``) (, [a,b]=c;) (-LRB- \u{28}) (X \u{9}--) (Y Ünïcödé)))""")


def balanced(text: str) -> bool:
    depth = 0
    for mark in re.findall(r"\\[{}]|[{}]", text):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            return False
    return depth == 0


@pytest.mark.parametrize("package", PACKAGES)
@given(tree=trees())
def test_every_tree_has_balanced_braces_and_its_words(tree, package):
    text = latex(tree, package=package)
    assert balanced(text)
    assert all(f"{{{escape_latex(word)}}}" in text for word in tree.words)


def test_special_characters_are_escaped():
    assert escape_latex(r"\~^") == r"\textbackslash{}\textasciitilde{}\textasciicircum{}"
    assert escape_latex("$5_000 & 10% #1 {x}") == r"\$5\_000 \& 10\% \#1 \{x\}"
    assert escape_latex("---") == "-{}-{}-" and escape_latex("-LRB-") == "-LRB-"


def test_forest_accepts_brackets():
    text = latex(Tree.parse("(NP (DT the) (NN cat))"))
    assert "[{NP}\n  [{DT} [{the}]]\n  [{NN} [{cat}]]\n]\n\\end{forest}" in text


@pytest.mark.parametrize("package", PACKAGES)
def test_probabilities_fill_nodes_with_defined_colors(package):
    text = latex(Tree.parse("(NP (NP (NN a)) (NP (NN b)))"), [1.0, 0.5, 0.25], package=package)
    used, defined = re.findall(r"fill=(\w+)", text), re.findall(r"definecolor\{(\w+)\}", text)
    assert used == ["certain100", "certain50", "certain25"] and sorted(used) == sorted(defined)
    red, green, blue = THEMES["light"].fill(0.25)
    assert f"\\definecolor{{certain25}}{{RGB}}{{{red},{green},{blue}}}" in text
    assert r"50 \%" in text and r"25 \%" in text


def test_chinese_adds_its_package():
    assert "ctex" in document([latex(Tree.parse("(NP (NN 树))"))])
    assert "ctex" not in document([latex(SPECIAL)])


@pytest.mark.parametrize("package", PACKAGES)
def test_deep_trees_are_written(package):
    assert latex(deep_tree(5000), package=package).count("\n") > 7500


def test_an_unknown_package_is_an_error():
    with pytest.raises(ValueError, match="package is 'qtree'; expected 'forest' or 'tikz-qtree'"):
        latex(SPECIAL, package="qtree")  # type: ignore[arg-type]


@pytest.mark.parametrize("package", PACKAGES)
def test_documents_compile(package: Package, tmp_path: Path) -> None:
    if not shutil.which("pdflatex"):
        pytest.skip("no TeX here")
    colored = latex(SPECIAL, [1.0, 0.3], package=package)
    (tmp_path / "trees.tex").write_text(document([latex(SPECIAL, package=package), colored], package=package))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "trees.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    if f"File `{package}.sty' not found" in done.stdout or "standalone.cls' not found" in done.stdout:
        pytest.skip(f"this TeX has no {package}")
    assert done.returncode == 0 and "(2 pages" in done.stdout, done.stdout[-2000:]


def test_text_on_dark_colors_is_white():
    tree = Tree.parse("(S (NP (NN a) (NN b)) (NN c))")
    text = latex(tree, [1.0, 0.0])
    assert "fill=certain100, text=black" in text and "fill=certain0, text=white" in text


def test_an_arc_connects_a_trace_with_its_antecedent():
    tree = Tree.parse("(S (NP-SBJ-1 (NNS trees)) (VP (VBP fall) (NP (-NONE- *-1))))")
    forest, qtree = latex(tree), latex(tree, [0.5, 0.5, 0.5], package="tikz-qtree")
    assert "[{NP-SBJ-1}, name=n1\n" in forest and "[{-NONE-} [{*-1}, name=n9]]" in forest
    assert "[.\\node(n1)[fill=certain50, text=black]{NP-SBJ-1" in qtree and "\\node(n9){*-1}; ]" in qtree
    for text in (forest, qtree):
        assert text.count("\\draw") == 1 and "(n9) to[out=south, in=south west] (n1);" in text
