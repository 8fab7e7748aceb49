"""Binarization: trees to labeled spans and back."""

import random
from typing import Literal

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import deep_tree, plain_text, trees, wide_tree
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import (
    LabelSet,
    from_spans,
    is_intermediate,
    to_spans,
    unary_chain,
)

Side = Literal["left", "right"]
sides = pytest.mark.parametrize("side", ["left", "right"])

label_pool = st.sampled_from(
    ["(NP)", "(S)", "()", "", "NP", "S VP", "S S", r"\u{}", r"NP \u{28}", "NP*", "S+VP", "S::VP", "A|<>"]
)


def sentence(length: int) -> list[Tree]:
    return [Tree("NN", (f"w{number}",)) for number in range(length)]


@st.composite
def predictions(draw: st.DrawFn) -> tuple[list[Span], int]:
    """The spans of a random binary tree with random labels, as a parser may predict them."""
    length = draw(st.integers(1, 10))
    spans, stack = [], [(0, length)]
    while stack:
        start, end = stack.pop()
        spans.append(Span(start, end, draw(label_pool)))
        if end - start > 1:
            split = draw(st.integers(start + 1, end - 1))
            stack += [(start, split), (split, end)]
    return draw(st.permutations(spans)), length


def binary_by_nltk(tree: Tree, side: Side) -> list[tuple[int, int, str]]:
    """The paper's spans, by NLTK: intermediate labels end in `|<>`, chains are joined by `+`, the root is left out."""

    def wrap(node: Tree) -> nltk.Tree:
        if node.is_leaf:
            return nltk.Tree(node.label, [node.children[0]])
        children = [wrap(child) for child in node.child_trees]
        if len(children) > 1:
            children = [nltk.Tree(f"{node.label}|<>", [c]) if isinstance(c[0], str) else c for c in children]
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
def test_round_trip_keeps_every_tree(tree: Tree, side: Side) -> None:
    assert from_spans(to_spans(tree, side=side), tree.preterminals(), tree.label) == tree


@sides
@given(tree=trees())
def test_spans_form_one_binary_tree(tree: Tree, side: Side) -> None:
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
def test_spans_equal_those_of_the_paper(tree: Tree, side: Side) -> None:
    if not tree.is_leaf:
        assert sorted(map(in_nltk_style, to_spans(tree, side=side))) == binary_by_nltk(tree, side)


def test_left_and_right_binarization_differ() -> None:
    tree = Tree.parse("(TOP (S (NP (A a)) (B b) (C c)))")
    assert [span for span in to_spans(tree) if span.end - span.start == 2] == [(0, 2, "(S)")]
    assert [span for span in to_spans(tree, side="right") if span.end - span.start == 2] == [(1, 3, "(S)")]


def test_a_unary_chain_is_one_label_outermost_first() -> None:
    tree = Tree.parse("(TOP (S (VP (NP (NN go)))))")
    assert to_spans(tree) == [(0, 1, "S VP NP")]


def test_the_top_span_of_a_branching_root_has_an_intermediate_label() -> None:
    tree = Tree.parse("(TOP (S (A a)) (B b) (C c))")
    assert to_spans(tree)[-1] == (0, 3, "(TOP)")
    assert from_spans(to_spans(tree), tree.preterminals()) == tree


@pytest.mark.parametrize(
    "label", ["+", "*", "|", "::", "NP*", "S+VP", "S::VP", "X|<>", "(NP)", "S VP", "", " ", "\\u{28}"]
)
def test_labels_that_look_like_chains_or_intermediate_labels_are_kept(label: str) -> None:
    tree = Tree("TOP", (Tree(label, (Tree(label, (Tree("A", ("a",)), Tree("B", ("b",)), Tree("C", ("c",)))),)),))
    spans = to_spans(tree)
    assert [is_intermediate(span.label) for span in spans] == [True, True, True, True, False]
    assert from_spans(spans, tree.preterminals()) == tree


@given(predictions())
def test_any_prediction_gives_a_tree_of_its_constituents(prediction: tuple[list[Span], int]) -> None:
    spans, length = prediction
    words = sentence(length)
    tree = from_spans(spans, words)
    assert tree.preterminals() == words
    expected = [Span(start, end, name) for start, end, label in spans for name in unary_chain(label)]
    constituents = [] if tree.is_leaf else tree.spans()[1:]
    assert sorted(constituents) == sorted(expected)


@given(trees(), st.randoms(use_true_random=False), label_pool.filter(is_intermediate))
def test_any_intermediate_label_dissolves_into_its_parent(tree: Tree, chance: random.Random, other: str) -> None:
    spans = [span._replace(label=other) if is_intermediate(span.label) else span for span in to_spans(tree)]
    chance.shuffle(spans)
    assert from_spans(spans, tree.preterminals(), tree.label) == tree


@given(trees())
def test_spans_of_single_words_may_be_missing(tree: Tree) -> None:
    spans = [span for span in to_spans(tree) if span.end - span.start > 1 or not is_intermediate(span.label)]
    if len(tree.words) > 1:
        assert from_spans(spans, tree.preterminals(), tree.label) == tree


def test_no_spans_give_a_flat_tree() -> None:
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
def test_spans_that_form_no_tree_are_an_error(spans: list[Span], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_spans(spans, sentence(3))


def test_a_sentence_without_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="no leaves"):
        from_spans([], [])


def test_an_unknown_side_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 'left' or 'right'"):
        to_spans(Tree("A", ("a",)), side="up")  # type: ignore[arg-type]


@sides
@pytest.mark.parametrize("tree", [deep_tree(5_000), wide_tree(10_000)], ids=["deep", "wide"])
def test_round_trip_keeps_huge_trees(tree: Tree, side: Side) -> None:
    spans = to_spans(tree, side=side)
    assert len(spans) == 2 * len(tree.words) - 1
    assert from_spans(spans, tree.preterminals()) == tree


def test_unary_chains_restore_escaped_names() -> None:
    assert unary_chain(r"NP \u{28} \u{}") == ("NP", "(", "")
    assert unary_chain("") == unary_chain("(NP)") == ()


def test_all_labels_without_constituents_give_the_same_tree() -> None:
    labels = LabelSet(["", "(NP)", "NP", "S VP", "(S)"])
    assert labels.names == ["NP", "S", "VP"]
    assert labels.counts.tolist() == [0, 0, 1, 2, 0]
    assert (labels.free_labels(2), labels.tree_labels(2)) == ([1, 4, 0], [2, 3])
    assert (labels.free_labels(1), labels.tree_labels(1)) == ([1, 4], [2, 3, 0])


def test_a_name_that_a_chain_repeats_is_two_constituents() -> None:
    labels = LabelSet(["NP", "NP NP", "S NP", "NP PP NP", ""])
    columns = [labels.columns(label) for label in labels.strings]
    assert columns == [[0], [0, 1], [3, 0], [0, 2, 1], []]
    assert labels.contains[:, 1].tolist() == [False, True, False, True, False]
    assert labels.counts.tolist() == [1, 2, 2, 3, 0] == labels.contains[:, :-1].sum(axis=1).tolist()
    assert labels.containing(0, 1, "NP", length=2, root="TOP").tolist() == [True, True, True, True, False]


def test_a_label_set_masks_the_labels_that_contain_a_constituent() -> None:
    labels = LabelSet(["", "(NP)", "NP", "S VP"])
    assert labels.containing(0, 2, "VP", length=3, root="TOP").tolist() == [False, False, False, True]
    assert labels.containing(0, 2, None, length=3, root="TOP").tolist() == [False, False, True, True]
    assert labels.containing(0, 2, "PP", length=3, root="TOP").tolist() == [False] * 4
    assert labels.containing(0, 3, "TOP", length=3, root="TOP").tolist() == [True] * 4
    assert labels.containing(0, 1, "TOP", length=1, root="TOP").tolist() == [False, True, True, True]


def test_labels_with_a_constituent_over_one_of_the_same_name_are_repeating():
    labels = LabelSet(["NP", "NP NP", "S NP NP", "NP S NP", "", "(NP)"])
    assert labels.repeating == {1, 2}
