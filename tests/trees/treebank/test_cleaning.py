"""Cleaning of treebank trees."""

from pathlib import Path

import pytest
from hypothesis import given

from strategies import deep_tree, trees
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean, read_trees
from treecrf.trees.treebank.cleaning import strip_label
from treecrf.trees.treebank.samples import FOLDER

DATA = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize("name", ["english.mrg", "chinese.fid"])
def test_the_sample_treebanks_are_cleaned(name: str) -> None:
    cleaned = [tree for raw in read_trees(FOLDER / name) if (tree := clean(raw))]
    assert cleaned == list(read_trees((DATA / name).with_suffix(".clean.mrg")))


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("( (S (A a)))", "(TOP (S (A a)))"),
        ("(S (A a))", "(TOP (S (A a)))"),
        ("(TOP (S (A a)))", "(TOP (S (A a)))"),
        ("(ROOT (S1 (S (A a))))", "(TOP (S (A a)))"),
        ("(VROOT (S (A a)) (B b))", "(TOP (S (A a)) (B b))"),
        ("( (S (A a)) (. .))", "(TOP (S (A a)) (. .))"),
        ("(NN cat)", "(TOP (NN cat))"),
        ("( (S (NP-SBJ (-NONE- *)) (VP (VB go))))", "(TOP (S (VP (VB go))))"),
        ("( (NP (NP (-NONE- *)) (NP (NN x))))", "(TOP (NP (NP (NN x))))"),
        ("( (NP-SBJ-1 (NN x)))", "(TOP (NP (NN x)))"),
        ("( (NP=2 (NN x)))", "(TOP (NP (NN x)))"),
        ("( (NP-SBJ=2 (NN x)))", "(TOP (NP (NN x)))"),
        ("( (ADVP|PRT (RP x)))", "(TOP (ADVP (RP x)))"),
        ("( (PRN (-LRB- -LRB-) (PRP$ x) (-RRB- -RRB-)))", "(TOP (PRN (-LRB- -LRB-) (PRP$ x) (-RRB- -RRB-)))"),
        ("( (IP (NN-SHORT x) (NR-PN y) (NT-SHORT z)))", "(TOP (IP (NN x) (NR y) (NT z)))"),
        ("( (NP (N-N x) (NPR-G y) (v-fin z)))", "(TOP (NP (N-N x) (NPR-G y) (v-fin z)))"),
        ("( (S (NP (X a))) (S (X (-NONE- b))))", "(TOP (S (NP (X a))))"),
    ],
)
def test_traces_function_tags_and_extra_roots_are_removed(raw: str, cleaned: str) -> None:
    assert str(clean(Tree.parse(raw))) == cleaned


@pytest.mark.parametrize("raw", ["( (NP (-NONE- *)))", "(-NONE- *)", "( (S (NP (-NONE- *)) (VP (-NONE- *))))"])
def test_a_tree_without_words_is_none(raw: str) -> None:
    assert clean(Tree.parse(raw)) is None


def test_keep_labels_keeps_hyphens() -> None:
    tree = Tree.parse("(ROOT (hd-cmp_u_c (NN-SHORT a) (-NONE- b)))")
    assert str(clean(tree, keep_labels=True)) == "(TOP (hd-cmp_u_c (NN-SHORT a)))"


def test_dissolve_replaces_constituents_by_their_children() -> None:
    tree = Tree.parse("( (TITLE (NP (A a) (CAPTION-1 (B b) (C c)))))")
    assert str(clean(tree, dissolve=frozenset({"TITLE", "CAPTION"}))) == "(TOP (NP (A a) (B b) (C c)))"


@given(trees())
def test_cleaning_is_idempotent(tree: Tree) -> None:
    once = clean(tree)
    assert once is None or clean(once) == once


@given(trees())
def test_words_keep_their_order_and_traces_are_removed(tree: Tree) -> None:
    cleaned = clean(tree)
    words = [leaf.children[0] for leaf in tree.preterminals() if leaf.label != "-NONE-"]
    assert (cleaned.words if cleaned else []) == words
    if cleaned:
        assert cleaned.label == "TOP"
        assert all(node.label == strip_label(node.label) for node in cleaned.walk() if not node.is_leaf)


def test_deep_trees_are_cleaned() -> None:
    assert clean(deep_tree(5_000)) == deep_tree(5_000)
