import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.tree import Tree
from treecrf.trees.tree_differences import describe_difference
from treecrf.trees.treebank.binarize import LabelSet, from_spans

MAN = "(NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT the) (NN telescope))))"
SAW = f"(TOP (S (NP (PRP I)) (VP (VBD saw) {MAN}) (. .)))"


def differences(first: str, other: str) -> list[str]:
    return describe_difference(Tree.parse(first), Tree.parse(other))


def test_a_phrase_that_is_attached_higher_is_named_once() -> None:
    higher = SAW.replace(MAN, MAN.removeprefix("(NP ").removesuffix(")"))
    assert differences(SAW, higher) == ['"with the telescope" modifies "saw" instead of "the man"']
    assert differences(higher, SAW) == ['"with the telescope" modifies "the man" instead of "saw"']


def test_a_verb_is_named_by_its_word_under_adjoined_phrases_and_beside_traces() -> None:
    adjoined = f"(TOP (S (NP (PRP I)) (VP (VP (VBD saw) {MAN.removeprefix('(NP ').replace(' (PP', ') (PP', 1)} (. .)))"
    assert differences(SAW, adjoined) == ['"with the telescope" modifies "saw" instead of "the man"']
    traced = adjoined.replace("(NP (PRP I))", "(NP (-NONE- *)) (NP (PRP I))")
    assert differences(SAW, traced) == ['"with the telescope" modifies "saw" instead of "the man"']


@pytest.mark.parametrize("verb_tag", ["VV", "VVFIN", "V"])
def test_a_verb_with_a_tag_of_another_treebank_is_named(verb_tag: str) -> None:
    first = SAW.replace("VBD", verb_tag).replace("(S ", "(IP ")
    other = first.replace(MAN, MAN.removeprefix("(NP ").removesuffix(")"))
    assert differences(first, other) == ['"with the telescope" modifies "saw" instead of "the man"']


def test_an_argument_attaches_to_a_word() -> None:
    low = "(TOP (VP (VB tell) (NP (PRP him)) (SBAR (IN that) (S (NP (PRP I)) (VP (VBP like) (NP (NNS cats)))))))"
    high = "(TOP (VP (VB tell) (NP (PRP him)) (SBAR (IN that) (S (NP (PRP I)) (VP (VBP like)))) (NP (NNS cats))))"
    assert differences(low, high) == ['"cats" attaches to "tell" instead of "like"']


def test_a_conjunct_attaches_to_a_label() -> None:
    low = "(TOP (VP (V go) (PP (P in) (NP (NP (N a)) (PP (P on) (N b))))))"
    high = "(TOP (VP (V go) (PP (PP (P in) (NP (N a))) (PP (P on) (N b)))))"
    assert differences(low, high) == ['"on b" attaches to PP instead of NP']


@pytest.mark.parametrize(
    ("phrase", "clause", "description"),
    [
        ("(NP (PRP$ her) (NN duck))", "(S (NP (PRP her)) (VP (VB duck)))", '"her" subject, "duck" verb'),
        ("(NP (PRP$ her) (NN duck))", "(S (PRP$ her) (NP (NN duck)))", '"her" subject, "duck" predicate'),
        ("(NP (DT no) (NN fun))", "(S (DT no) (VP (VB fun)))", '"fun" verb'),
        ("(NP (VBG flying) (NNS planes))", "(S (VP (VBG flying) (NNS planes)))", '"flying" verb'),
        (
            "(NP (DT that) (NN gas) (MD can) (VB go))",
            "(S (NP (DT that) (NN gas)) (VP (MD can) (VP (VB go))))",
            '"that gas" subject, "go" verb',
        ),
    ],
)
def test_a_clause_is_described_by_its_subject_and_verb(phrase: str, clause: str, description: str) -> None:
    words = " ".join(Tree.parse(phrase).words)
    first = f"(TOP (S (NP (PRP I)) (VP (VBD saw) {phrase})))"
    found = differences(first, first.replace(phrase, clause))
    assert found[0] == f'"{words}" is a clause: {description}'
    assert differences(first.replace(phrase, clause), first)[0].endswith(f"is NP instead of {_chain(clause)}")


def _chain(clause: str) -> str:
    return "S over VP" if clause.startswith("(S (VP") else "S"


def test_parts_that_a_clause_names_are_not_named_again() -> None:
    first = "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (PRP$ her) (NN duck)))))"
    other = "(TOP (S (NP (PRP I)) (VP (VBD saw) (S (NP (PRP her)) (VP (VB duck))))))"
    assert differences(first, other) == ['"her duck" is a clause: "her" subject, "duck" verb']
    unmarked = first.replace("(NP (PRP$ her) (NN duck))", "(PRP$ her) (NN duck)")
    assert differences(unmarked, other) == ['"her duck" is a clause: "her" subject, "duck" verb']


def test_equal_labels_are_told_apart_by_their_words() -> None:
    low = "(X (NP (NP (N a)) (PP (P in) (NP (NP (N b)) (PP (P of) (NP (N c)))))))"
    high = "(X (NP (NP (NP (N a)) (PP (P in) (NP (N b)))) (PP (P of) (NP (N c)))))"
    assert differences(low, high) == ['"of c" modifies "a in b" instead of "b"']


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


def test_a_phrase_beside_its_new_place_is_no_attachment() -> None:
    first = "(TOP (NP (N a)) (S (V b) (PP (N c))))"
    assert differences(first, "(TOP (PP (N a) (S (V b))) (VP (N c)))") == [
        '"c" is VP instead of PP',
        '"c" attaches to TOP instead of S',
        '"a" is not a constituent (NP)',
    ]


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
    assert labels.repeating == {1, 4}


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
