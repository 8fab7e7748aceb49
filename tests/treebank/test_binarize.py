"""Trees as the spans of binary trees, and back."""

import random
from typing import Literal

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import deep_tree, plain_text, trees, wide_tree
from treecrf.tree import Span, Tree
from treecrf.treebank.binarize import from_spans, is_intermediate, to_spans

Side = Literal["left", "right"]
sides = pytest.mark.parametrize("side", ["left", "right"])

label_pool = st.sampled_from(
    ["(NP)", "(S)", "()", "", "NP", "S VP", "S S", r"\u{}", r"NP \u{28}", "NP*", "S+VP", "S::VP", "A|<>"]
)


def sentence(length: int) -> list[Tree]:
    return [Tree("NN", (f"w{number}",)) for number in range(length)]


@st.composite
def predictions(draw: st.DrawFn) -> tuple[list[Span], int]:
    """The spans of any binary tree with any labels, as a parser may predict them."""
    length = draw(st.integers(1, 10))
    spans, todo = [], [(0, length)]
    while todo:
        start, end = todo.pop()
        spans.append(Span(start, end, draw(label_pool)))
        if end - start > 1:
            split = draw(st.integers(start + 1, end - 1))
            todo += [(start, split), (split, end)]
    return draw(st.permutations(spans)), length


def binary_by_nltk(tree: Tree, side: Side) -> list[tuple[int, int, str]]:
    """The spans as the paper makes them, with NLTK: parts marked `|<>`, chains joined by `+`, without the root."""

    def wrap(node: Tree) -> nltk.Tree:
        if node.is_leaf:
            return nltk.Tree(node.label, [node.children[0]])
        children = [wrap(child) for child in node.subtrees]
        if len(children) > 1:
            parts = [nltk.Tree(f"{node.label}|<>", [c]) if isinstance(c[0], str) else c for c in children]
            return nltk.Tree(node.label, parts)
        return nltk.Tree(node.label, children)

    root = wrap(tree)
    root.chomsky_normal_form(side, 0, 0)
    root.collapse_unary(collapsePOS=False, collapseRoot=False, joinChar="+")
    top = root[0] if len(root) == 1 else nltk.Tree(f"{root.label()}|<>", list(root))
    if isinstance(top[0], str):
        top = nltk.Tree(f"{root.label()}|<>", [top])
    spans: list[tuple[int, int, str]] = []

    def visit(node: nltk.Tree, start: int) -> None:
        if isinstance(node[0], str):
            return
        spans.append((start, start + len(node.leaves()), node.label()))
        for child in node:
            visit(child, start)
            start += len(child.leaves())

    visit(top, 0)
    return sorted(spans)


def in_nltk_style(span: Span) -> tuple[int, int, str]:
    label = f"{span.label[1:-1]}|<>" if is_intermediate(span.label) else span.label.replace(" ", "+")
    return span.start, span.end, label


@sides
@given(tree=trees())
def test_every_tree_comes_back(tree: Tree, side: Side) -> None:
    assert from_spans(to_spans(tree, side=side), tree.leaves(), tree.label) == tree


@sides
@given(tree=trees())
def test_spans_are_those_of_one_binary_tree(tree: Tree, side: Side) -> None:
    spans = to_spans(tree, side=side)
    bounds = {span[:2] for span in spans}
    assert len(spans) == len(bounds) == 2 * len(tree.words) - 1
    for start, end in bounds:
        splits = [split for split in range(start + 1, end) if (start, split) in bounds and (split, end) in bounds]
        assert len(splits) == (end - start > 1)


@sides
@given(tree=trees())
def test_children_come_before_parents(tree: Tree, side: Side) -> None:
    spans = to_spans(tree, side=side)
    for number, span in enumerate(spans):
        assert not any(span.start <= later.start and later.end <= span.end for later in spans[number + 1 :])


@sides
@given(tree=trees(plain_text.filter(lambda text: not set("+|") & set(text))))
def test_spans_are_those_of_the_paper(tree: Tree, side: Side) -> None:
    if not tree.is_leaf:
        assert sorted(map(in_nltk_style, to_spans(tree, side=side))) == binary_by_nltk(tree, side)


def test_binarization_leans_to_its_side() -> None:
    tree = Tree.parse("(TOP (S (NP (A a)) (B b) (C c)))")
    assert [span for span in to_spans(tree) if span.end - span.start == 2] == [(0, 2, "(S)")]
    assert [span for span in to_spans(tree, side="right") if span.end - span.start == 2] == [(1, 3, "(S)")]


def test_chains_are_one_label_from_the_outside_in() -> None:
    tree = Tree.parse("(TOP (S (VP (NP (NN go)))))")
    assert to_spans(tree) == [(0, 1, "S VP NP")]


def test_a_root_with_several_children_has_a_part_for_its_top_span() -> None:
    tree = Tree.parse("(TOP (S (A a)) (B b) (C c))")
    assert to_spans(tree)[-1] == (0, 3, "(TOP)")
    assert from_spans(to_spans(tree), tree.leaves()) == tree


@pytest.mark.parametrize(
    "label", ["+", "*", "|", "::", "NP*", "S+VP", "S::VP", "X|<>", "(NP)", "S VP", "", " ", "\\u{28}"]
)
def test_labels_that_look_like_marks_are_safe(label: str) -> None:
    tree = Tree("TOP", (Tree(label, (Tree(label, (Tree("A", ("a",)), Tree("B", ("b",)), Tree("C", ("c",)))),)),))
    spans = to_spans(tree)
    assert [is_intermediate(span.label) for span in spans] == [True, True, True, True, False]
    assert from_spans(spans, tree.leaves()) == tree


@given(predictions())
def test_any_prediction_gives_a_tree_of_its_constituents(prediction: tuple[list[Span], int]) -> None:
    spans, length = prediction
    words = sentence(length)
    tree = from_spans(spans, words)
    assert tree.leaves() == words
    named = [
        (start, end, part)
        for start, end, label in spans
        if label and not is_intermediate(label)
        for part in label.split(" ")
    ]
    found = [] if tree.is_leaf else tree.spans()[1:]
    assert len(found) == len(named)
    assert {span[:2] for span in found} == {span[:2] for span in named}


@given(trees(), st.randoms(use_true_random=False), label_pool.filter(is_intermediate))
def test_what_a_part_is_part_of_does_not_matter(tree: Tree, chance: random.Random, other: str) -> None:
    spans = [span._replace(label=other) if is_intermediate(span.label) else span for span in to_spans(tree)]
    chance.shuffle(spans)
    assert from_spans(spans, tree.leaves(), tree.label) == tree


@given(trees())
def test_spans_of_single_words_may_be_missing(tree: Tree) -> None:
    spans = [span for span in to_spans(tree) if span.end - span.start > 1 or not is_intermediate(span.label)]
    if len(tree.words) > 1:
        assert from_spans(spans, tree.leaves(), tree.label) == tree


def test_no_spans_at_all_make_a_flat_tree() -> None:
    assert str(from_spans([], sentence(2), "S")) == "(S (NN w0) (NN w1))"


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 2, "A"), Span(1, 3, "B")], "1-3 crosses another from 0"),
        ([Span(0, 4, "A")], "outside the sentence of 3 words"),
        ([Span(-1, 2, "A")], "outside the sentence of 3 words"),
        ([Span(1, 1, "A")], "outside the sentence of 3 words"),
    ],
)
def test_spans_that_make_no_tree_are_refused(spans: list[Span], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_spans(spans, sentence(3))


def test_a_sentence_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="no leaves"):
        from_spans([], [])


def test_an_unknown_side_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 'left' or 'right'"):
        to_spans(Tree("A", ("a",)), side="up")  # type: ignore[arg-type]


@sides
@pytest.mark.parametrize("tree", [deep_tree(5_000), wide_tree(10_000)], ids=["deep", "wide"])
def test_huge_trees_come_back(tree: Tree, side: Side) -> None:
    spans = to_spans(tree, side=side)
    assert len(spans) == 2 * len(tree.words) - 1
    assert from_spans(spans, tree.leaves()) == tree
