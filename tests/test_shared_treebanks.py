"""Round trips of the trees in the treebanks beside the repository; with TREECRF_SOAK=1, of all trees."""

import gzip
import os
import re
from itertools import chain, islice
from pathlib import Path
from typing import Any

import nltk
import pytest

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean, read_trees, write_trees
from treecrf.trees.treebank.binarize import from_spans, to_spans

TREEBANKS = Path(__file__).parents[2] / "shared" / "treebanks"
FULL = sorted(TREEBANKS.glob("*/*.full.mrg.gz"))  # with functions and empty elements
FILES = sorted({*TREEBANKS.glob("*/*.mrg.gz")} - {*FULL}, key=lambda path: -path.stat().st_size)  # longest first
NAMES = sorted({path.parent.name for path in FILES})
MISTAGGED = {"NP-SBJ", "NP-PRD", "ADVP-LOC"}  # labels that icepahc and masc use as tags
HYPHENATED = {"floresta", "redwoods", "zhong"}  # labels contain hyphens

LARGE = {"craft", "icepahc", "redwoods"}  # treebanks that take long to read whole

IS_SOAK = bool(os.environ.get("TREECRF_SOAK"))
MAX_TREES = None if IS_SOAK else 1500  # trees per file
pytestmark = pytest.mark.skipif(not FILES, reason="the treebanks are not in ../shared/treebanks")


def nltk_view(tree: nltk.Tree) -> tuple[Any, ...]:
    return tree.leaves(), [tag for _, tag in tree.pos()], [node.label() for node in tree.subtrees()]


def our_view(tree: Tree) -> tuple[Any, ...]:
    return tree.words, tree.tags, [node.label for node in tree.walk()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name.removesuffix('.mrg.gz')}")
def test_round_trips_keep_trees(path: Path, tmp_path: Path) -> None:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = file.read().splitlines()
    lines = lines[:MAX_TREES]
    count = write_trees(tmp_path / "copy.mrg", islice(read_trees(path), MAX_TREES))
    copies = list(read_trees(tmp_path / "copy.mrg"))
    assert count == len(copies) == len(lines)
    for line, tree, first in zip(lines, copies, islice(read_trees(path), MAX_TREES), strict=True):
        assert str(tree) == str(first) == line
        leaves = tree.preterminals()
        for side in ("left", "right"):
            spans = to_spans(tree, side=side)  # type: ignore[arg-type]
            assert len(spans) == 2 * len(leaves) - 1
            assert str(from_spans(spans, leaves, tree.label)) == line
        assert our_view(tree) == nltk_view(nltk.Tree.fromstring(line))


@pytest.mark.parametrize("name", [name for name in NAMES if IS_SOAK or name not in LARGE])
def test_sizes_equal_those_in_the_readme(name: str) -> None:
    """Counts sentences, tokens, labels and binarized labels; the README's are by another program."""
    readme = (TREEBANKS / name / "README.md").read_text(encoding="utf-8")
    sentences = tokens = 0
    labels: set[str] = set()
    binarized: set[str] = set()
    parts = [path for path in sorted((TREEBANKS / name).glob("*.mrg.gz")) if ".full." not in path.name]
    for tree in chain.from_iterable(map(read_trees, parts)):
        sentences += 1
        tokens += len(tree.words)
        labels.update(span.label for span in tree.spans()[1:])
        if not tree.child_trees[0].is_leaf or len(tree.child_trees) > 1:  # not in the README's count
            binarized.update(span.label for span in to_spans(tree))
    assert re.search(r"\| all \| (\d+) \| (\d+) ", readme).groups() == (str(sentences), str(tokens))  # type: ignore[union-attr]
    stated = re.search(r"Labels: (\d+) .* left binarization (\d+)\.", readme)
    assert stated is not None
    assert stated.groups() == (str(len(labels)), str(len(binarized)))


@pytest.mark.parametrize("name", NAMES)
def test_cleaning_keeps_clean_trees(name: str) -> None:
    for tree in islice(read_trees(TREEBANKS / name / "dev.mrg.gz"), MAX_TREES):
        cleaned = clean(tree, keep_labels=name in HYPHENATED)
        assert cleaned is not None
        changed = [
            leaf.label
            for leaf, clean_leaf in zip(tree.preterminals(), cleaned.preterminals(), strict=True)
            if leaf != clean_leaf
        ]
        assert set(changed) <= MISTAGGED
        assert changed or cleaned == tree


def test_gb18030_is_detected(tmp_path: Path) -> None:
    trees = list(read_trees(TREEBANKS / "zhong" / "train.mrg.gz"))
    (tmp_path / "old.mrg").write_bytes("".join(f"{tree}\n" for tree in trees).encode("gb18030"))
    assert list(read_trees(tmp_path / "old.mrg")) == trees


@pytest.mark.parametrize("path", FULL, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def test_full_trees_are_written_as_they_are_read_and_have_the_plain_trees(path: Path) -> None:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        full_lines = list(islice(file, MAX_TREES))
    with gzip.open(path.with_name(path.name.replace(".full", "")), "rt", encoding="utf-8", newline="\n") as file:
        plain_lines = list(islice(file, MAX_TREES))
    for full_line, plain_line in zip(full_lines, plain_lines, strict=True):
        tree, plain = Tree.parse(full_line), Tree.parse(plain_line)
        assert f"{tree}\n" == full_line and f"{tree.plain()}\n" == plain_line
        assert tree.words == plain.words and tree.tags == plain.tags
        assert [span[:2] for span in tree.spans()] == [span[:2] for span in plain.spans()]
