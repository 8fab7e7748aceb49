"""Checks of edited trees: lines and kinds of what differs."""

import io

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.corpus.annotation.check import Inventory, check_trees
from treecrf.trees.tree import Tree

ORIGINAL = """(TOP (S (NP (DT The) (NN cat))
  (VP (VBZ sleeps))
  (. .)))
(TOP (S (NP (PRP She)) (VP (VBZ sees) (NP (DT a) (NN wall)))))
(TOP (S (NP (PRP I)) (VP (VBP go))))
"""


def check(edited, original=ORIGINAL):
    return [tuple(finding) for finding in check_trees(io.StringIO(edited), io.StringIO(original))]


def test_equal_files_have_no_findings():
    assert check(ORIGINAL) == []
    assert check(ORIGINAL.replace("\n  ", " ")) == []  # another layout


@pytest.mark.parametrize(
    ("old", "new", "line", "kind", "text"),
    [
        ("(NN cat)", "(NN cats)", 1, "words", "'cats' instead of 'cat', word 2 of line 1 of the original"),
        ("  (. .)", "", 2, "words", "'.' is missing, word 4 of line 1 of the original"),
        ("(VBZ sleeps)", "(VBZ sleeps) (NN x)", 2, "words", "'x' is not in the original, before word 4 of line 1"),
        ("(VP (VBZ sleeps))", "(VPP (VBZ sleeps))", 2, "label", "the label VPP over 'sleeps' is not known"),
        ("(. .)", "(PUNCT .)", 3, "tag", "the tag PUNCT of '.' is not known"),
        ("(DT a) (NN wall)", "(DT a) (NP (NN wall))", 4, "production", "NP -> DT NP is unseen, over 'a wall'"),
        ("(VBP go))))", "(VBP go)))", 5, "brackets", "1 ')' missing"),
    ],
)
def test_every_change_has_its_line(old, new, line, kind, text):
    findings = check(ORIGINAL.replace(old, new))
    assert (line, kind) in [finding[:2] for finding in findings]
    assert any(finding[2].startswith(text) for finding in findings)
    if kind in ("words", "brackets"):
        assert {finding[1] for finding in findings} <= {kind, "production"}


def test_missing_and_added_trees_are_named():
    lines = ORIGINAL.splitlines(keepends=True)
    (missing,) = check("".join(lines[:3] + lines[4:]))
    assert missing == (4, "words", "near here, the tree in line 4 (She sees a wall) of the original is missing")
    (added,) = check(ORIGINAL + "(TOP (S (NP (DT a)) (VP (VBP go))))\n".replace("(DT a)", "(PRP She)"))
    assert added == (6, "words", "the tree (She go) is not in the original")
    assert [finding[1] for finding in check("")] == ["words"] * 3


def test_only_unseen_productions_are_no_errors():
    findings = check_trees(io.StringIO(ORIGINAL.replace("(NN cat)", "(NN cat) (NN x)")), io.StringIO(ORIGINAL))
    assert [(finding.kind, finding.is_error) for finding in findings] == [("words", True), ("production", False)]


def test_the_labels_of_a_parser_are_known():
    trees = toy_trees(30, seed=3)
    parser = random_parser(trees, tag_head=True)
    text = "".join(f"{tree}\n" for tree in trees)
    kinds = {finding.kind for finding in check_trees(io.StringIO(text), parser=parser)}
    assert kinds <= {"production"}
    other = io.StringIO("(TOP (QQ (ZZ cat)))\n")
    assert [finding.kind for finding in check_trees(other, parser=parser)] == ["production", "label", "tag"]
    assert {parser.root} <= Inventory.of_parser(parser).labels


def test_inventories_are_united():
    first, second = (Inventory.of_trees([Tree.parse(text)]) for text in ("(S (A a))", "(NP (B b))"))
    united = first | second
    assert (united.labels, united.tags) == ({"S", "NP"}, {"A", "B"})
    assert united.productions == {("S", "A"), ("NP", "B")}


def test_without_anything_to_compare_with_is_an_error():
    with pytest.raises(ValueError, match="nothing to compare with"):
        check_trees(io.StringIO(ORIGINAL))
    with pytest.raises(ValueError, match="expected original trees that can be read"):
        check(ORIGINAL, "(TOP (S")


def test_many_equal_trees_and_deep_trees_are_checked_in_linear_time():
    many, depth = "(TOP (S (NP I)))\n" * 5000, 3000
    assert check(many + "(TOP (S (NP we)))", many) == [
        (5001, "words", "the tree (we) is not in the original"),
    ]
    findings = check("(TOP " + "(S (NP I) " * depth + "(NP we)" + ")" * depth + ")", "(TOP (S (NP we)))")
    assert {kind for _, kind, _ in findings} == {"words", "production"} and len(findings) == depth + 1
