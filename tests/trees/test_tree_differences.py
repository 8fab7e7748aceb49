import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.tree import Tree
from treecrf.trees.tree_differences import describe_difference
from treecrf.trees.treebank.binarize import LabelSet, from_spans, repeating_labels

MAN = "(NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT the) (NN telescope))))"
SAW = f"(TOP (S (NP (PRP I)) (VP (VBD saw) {MAN}) (. .)))"


def differences(first: str, other: str) -> list[str]:
    return describe_difference(Tree.parse(first), Tree.parse(other))


def test_a_phrase_that_is_attached_higher_is_named_once() -> None:
    higher = SAW.replace(MAN, MAN.removeprefix("(NP ").removesuffix(")"))
    assert differences(SAW, higher) == ['"with the telescope" attaches to VP instead of NP']
    assert differences(higher, SAW) == ['"with the telescope" attaches to NP instead of VP']


def test_equal_labels_are_told_apart_by_their_words() -> None:
    low = "(X (NP (NP (N a)) (PP (P in) (NP (NP (N b)) (PP (P of) (NP (N c)))))))"
    high = "(X (NP (NP (NP (N a)) (PP (P in) (NP (N b)))) (PP (P of) (NP (N c)))))"
    assert differences(low, high) == ['"of c" attaches to NP "a in b" instead of NP "b"']


def test_a_phrase_that_loses_its_end_keeps_its_other_phrases() -> None:
    inside = "(TOP (S (NP (N a)) (VP (V b) (NP (N c)) (PP (P d) (NP (N e))))))"
    outside = "(TOP (S (NP (N a)) (VP (V b) (NP (N c))) (PP (P d) (NP (N e)))))"
    assert differences(inside, outside) == ['"d e" attaches to S instead of VP']
    assert differences(outside, inside) == ['"d e" attaches to VP instead of S']


def test_a_new_phrase_around_a_word_is_a_constituent() -> None:
    flat = "(TOP (VP (V b) (NP (N c)) (PP (P d) (NP (N e)))))"
    deep = "(TOP (VP (VP (V b) (NP (N c))) (PP (P d) (NP (N e)))))"
    assert differences(flat, deep) == ['"b c" is a constituent (VP)']


def test_an_attachment_to_the_same_words_is_no_difference() -> None:
    flat = "(TOP (NP (NP (N a)) (, ,) (SBAR (W who) (VP (V b))) (, ;)))"
    deep = "(TOP (NP (NP (NP (N a)) (, ,) (SBAR (W who) (VP (V b)))) (, ;)))"
    assert differences(flat, deep) == ['"a , who b" is a constituent (NP)']


def test_other_labels_and_other_constituents_are_named() -> None:
    tree = "(TOP (S (NP (N a) (N b)) (VP (V c))))"
    assert differences(tree, tree) == []
    assert differences(tree, tree.replace("(NP", "(VP")) == ['"a b" is VP instead of NP']
    assert differences(tree, "(TOP (S (N a) (N b) (VP (V c))))") == ['"a b" is not a constituent (NP)']
    assert differences(tree, "(TOP (S (NP (N a)) (N b) (S (VP (V c)))))") == [
        '"c" is S over VP instead of VP',
        '"a" is a constituent (NP)',
        '"a b" is not a constituent (NP)',
    ]


def test_long_phrases_are_shortened() -> None:
    words = " ".join(f"(N w{number})" for number in range(9))
    assert differences(f"(TOP (S {words}))", f"(TOP (NP {words}))") == ['"w0 w1 w2 ... w6 w7 w8" is NP instead of S']


def test_trees_of_different_words_are_an_error() -> None:
    with pytest.raises(ValueError, match="expected the same words"):
        differences("(TOP (N a))", "(TOP (N b))")


@st.composite
def labeled_trees(draw: st.DrawFn) -> Tree:
    leaves = [Tree("N", (f"w{number}",)) for number in range(6)]
    spans, pending = [], [(0, 6)]
    while pending:
        start, end = pending.pop()
        spans.append((start, end, draw(st.sampled_from(["", "NP", "VP", "S VP"]))))
        if end > start + 1:
            split = draw(st.integers(start + 1, end - 1))
            pending += [(start, split), (split, end)]
    return from_spans(spans, leaves)


@given(labeled_trees(), labeled_trees())
def test_only_equal_trees_have_no_differences(first: Tree, other: Tree) -> None:
    assert (describe_difference(first, other) == []) == (first == other)


def test_labels_with_a_name_over_the_same_name_are_repeating() -> None:
    labels = LabelSet(["NP", "NP NP", "(NP NP)", "NP PP NP", "S NP NP", ""])
    assert repeating_labels(labels) == {1, 4}


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("(TOP (NP (NN a) (NN b)))", "(TOP (NN a) (NN b))", '"a b" is TOP instead of TOP over NP'),
        ("(TOP (NN a) (NN b))", "(TOP (NP (NN a) (NN b)))", '"a b" is TOP over NP instead of TOP'),
        ("(TOP (S (NP (NN a) (NN b))))", "(TOP (S (VP (NN a) (NN b))))", '"a b" is VP instead of NP'),
        ("(TOP (S (S (NN a) (NN b))))", "(TOP (S (NN a) (NN b)))", '"a b" is S instead of S over S'),
    ],
)
def test_equal_labels_above_a_difference_are_left_out_unless_they_are_all(old: str, new: str, difference: str) -> None:
    assert describe_difference(Tree.parse(old), Tree.parse(new)) == [difference]
