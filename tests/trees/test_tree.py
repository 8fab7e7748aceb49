"""Trees and their bracket notation."""

import copy
import json
import pickle
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import any_text, awkward, deep_tree, plain_text, trees, wide_tree
from treecrf.trees.notation import BracketError, escape, unescape
from treecrf.trees.tree import Span, Tree, parse_trees

HUGE = {"deep": deep_tree(5_000), "wide": wide_tree(10_000)}
huge_trees = pytest.mark.parametrize("tree", HUGE.values(), ids=HUGE)

bracket_soup = st.lists(
    st.sampled_from(["(", ")", "(NP ", "(DT the)", " ", "\n", "a", "-LRB-", "\\u{28}", "\\u{", "}", "\xa0", "( "]),
    max_size=25,
).map("".join)


def same(one: Tree, other: Tree) -> bool:
    """Whether two small trees are equal, by the definition."""
    if one.label != other.label or one.is_leaf != other.is_leaf or len(one.children) != len(other.children):
        return False
    if one.is_leaf:
        return one.children == other.children
    return all(same(a, b) for a, b in zip(one.child_trees, other.child_trees, strict=True))


def spans_by_recursion(tree: Tree, start: int = 0) -> list[Span]:
    spans = [] if tree.is_leaf else [Span(start, start + len(tree.words), tree.label)]
    for child in tree.child_trees:
        spans += spans_by_recursion(child, start)
        start += len(child.words)
    return spans


def read_by_recursion(text: str) -> list[Tree]:
    """Reads the trees of a short text by the grammar; ValueError for other texts."""
    tokens = re.findall(r"[()]|[^ \t\n\r\f\v()]+", text)

    def tree(position: int) -> tuple[Tree, int]:
        if tokens[position] != "(":
            raise ValueError("no bracket")
        names: list[str] = []
        children: list[Tree] = []
        position += 1
        while tokens[position] != ")":
            if tokens[position] == "(":
                child, position = tree(position)
                children.append(child)
            elif children:
                raise ValueError("word after a constituent")
            else:
                names.append(unescape(tokens[position]))
                position += 1
        if children and len(names) < 2:
            return Tree("".join(names), tuple(children)), position + 1
        if children or len(names) != 2:
            raise ValueError("neither a constituent nor a tagged word")
        return Tree(names[0], (names[1],)), position + 1

    forest = []
    position = 0
    try:
        while position < len(tokens):
            node, position = tree(position)
            forest.append(node)
    except IndexError:
        raise ValueError("unclosed") from None
    return forest


@given(trees())
def test_round_trip_through_text_keeps_every_tree(tree: Tree) -> None:
    text = str(tree)
    assert same(Tree.parse(text), tree)
    assert text.encode().decode().split("\n") == [text]


@given(trees())
def test_text_has_one_pair_of_parentheses_per_node(tree: Tree) -> None:
    nodes = sum(1 for _ in tree.walk())
    assert str(tree).count("(") == str(tree).count(")") == nodes


@given(st.lists(trees(max_words=4), max_size=4))
def test_several_trees_in_one_text_are_read(forest: list[Tree]) -> None:
    assert list(parse_trees("\n".join(map(str, forest)))) == forest
    assert list(parse_trees("".join(map(str, forest)))) == forest


@given(any_text)
def test_unescape_inverts_escape(text: str) -> None:
    assert unescape(escape(text)) == text
    assert re.fullmatch(r"[^\s()]+", escape(text))


@pytest.mark.parametrize(("text", "word"), [(r"\u{10ffff}", "\U0010ffff"), (r"\u{110000}", r"\u{110000}")])
def test_an_escape_beyond_unicode_is_ordinary_text(text: str, word: str) -> None:
    assert unescape(text) == word


@pytest.mark.parametrize(
    "word", ["-LRB-", "-RRB-", "-LCB-", "*T*-1", r"1\/2", r"\*", "``", "#", "树", "é", "e\u0301", "\\"]
)
def test_ordinary_words_are_not_escaped(word: str) -> None:
    text = f"(TOP (X {word}))"
    assert Tree.parse(text).words == [word]
    assert str(Tree.parse(text)) == text


def test_a_parenthesis_as_a_word_is_escaped() -> None:
    tree = Tree("-LRB-", ("(",))
    assert str(tree) == r"(-LRB- \u{28})"
    assert Tree.parse(str(tree)).words == ["("]


def test_a_no_break_space_belongs_to_its_word() -> None:
    assert Tree.parse("(CD 1\xa0000)").words == ["1\xa0000"]


@given(bracket_soup)
def test_reading_agrees_with_the_grammar(text: str) -> None:
    try:
        expected = read_by_recursion(text)
    except ValueError:
        with pytest.raises(BracketError, match=r"\(line \d+, column \d+\)") as caught:
            list(parse_trees(text))
        assert not caught.value.reason.startswith("0 ")
        assert 0 <= caught.value.offset <= len(text)
    else:
        assert list(parse_trees(text)) == expected


@given(st.text())
def test_any_text_gives_trees_or_the_error(text: str) -> None:
    try:
        assert all(isinstance(tree, Tree) for tree in parse_trees(text))
    except BracketError:
        return


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("", "expected a tree, found nothing", 1, 1),
        ("(A a) (B b)", "expected one tree, found a second", 1, 6),
        ("(A (B b)", "1 ')' missing at the end", 1, 9),
        ("(A a))", "')' without its '('", 1, 6),
        ("(A\n (B b)\n ())", "a constituent is empty; expected a word or constituents in it", 3, 2),
        ("(A (B))", "'B' is empty; expected a word or constituents in it", 1, 4),
        ("(A a b)", "'A' contains 2 words; expected one", 1, 1),
        ("(A a (B b))", "word 'a' beside a constituent; expected one or the other", 1, 1),
        ("(A (B b) c)", "word 'c' after a constituent; expected '(' or ')'", 1, 10),
        ("word", "expected '(', found 'word'", 1, 1),
        ("\n (A a)\n x", "expected '(', found 'x'", 3, 2),
    ],
)
def test_the_error_has_a_reason_and_a_position(text: str, reason: str, line: int, column: int) -> None:
    with pytest.raises(BracketError) as caught:
        Tree.parse(text)
    assert str(caught.value) == f"{reason} (line {line}, column {column})"
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.reason, copied.line) == (str(caught.value), reason, line)


@pytest.mark.parametrize("children", [(), ("a", "b"), (Tree("A", ("a",)), "b"), ["a", "b"], [], "a", (1,)])
def test_children_are_subtrees_or_one_word(children: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        Tree("NP", children)  # type: ignore[arg-type]


@given(trees(), trees())
def test_equality_compares_labels_words_and_shape(one: Tree, other: Tree) -> None:
    assert (one == other) == same(one, other)
    assert one != Tree("another", (one,))
    assert one != str(one)


@given(trees(awkward, max_words=3), trees(awkward, max_words=3))
def test_equal_trees_have_equal_hashes(one: Tree, other: Tree) -> None:
    assert hash(one) == hash(Tree.parse(str(one)))
    assert len({one, other}) == 2 - same(one, other)


@given(trees())
def test_copies_and_pickles_are_equal(tree: Tree) -> None:
    assert same(pickle.loads(pickle.dumps(tree)), tree)
    assert same(copy.deepcopy(tree), tree)
    assert same(eval(repr(tree)), tree)


def test_trees_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Tree("NN", ("cat",)).label = "VB"  # type: ignore[misc]


@given(trees())
def test_words_tags_and_spans_equal_a_recursive_definition(tree: Tree) -> None:
    assert tree.spans() == spans_by_recursion(tree)
    assert [(leaf.label, *leaf.children) for leaf in tree.preterminals()] == list(
        zip(tree.tags, tree.words, strict=True)
    )
    assert tree.preterminals() == [node for node in tree.walk() if node.is_leaf]


@given(trees(plain_text))
def test_nltk_reads_our_text(tree: Tree) -> None:
    theirs = nltk.Tree.fromstring(str(tree))
    assert theirs.leaves() == tree.words
    assert [tag for _, tag in theirs.pos()] == tree.tags
    assert [node.label() for node in theirs.subtrees()] == [node.label for node in tree.walk()]
    assert theirs == tree.to_nltk()


@given(trees())
def test_round_trip_through_nltk_keeps_every_tree(tree: Tree) -> None:
    assert same(Tree.from_nltk(tree.to_nltk()), tree)


@pytest.mark.parametrize("children", [[], ["a", "b"], ["a", nltk.Tree("B", ["b"])], [1], [nltk.Tree("B", [])]])
def test_an_nltk_tree_with_untagged_words_is_an_error(children: list[object]) -> None:
    with pytest.raises(ValueError, match="word"):
        Tree.from_nltk(nltk.Tree("A", children))


@given(trees())
def test_pretty_has_one_line_per_node(tree: Tree) -> None:
    assert len(tree.pretty().splitlines()) == sum(1 for _ in tree.walk())


def test_pretty_does_not_escape_parentheses() -> None:
    assert Tree.parse(r"(A (-LRB- \u{28}) (B b))").pretty() == "A\n├── -LRB- (\n└── B b"


@huge_trees
def test_huge_trees_need_no_recursion(tree: Tree) -> None:
    text = str(tree)
    assert str(Tree.parse(text)) == text
    assert Tree.parse(text) == tree
    assert hash(tree) == hash(copy.deepcopy(tree))
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert Tree.from_nltk(tree.to_nltk()) == tree
    assert len(tree.spans()) == sum(not node.is_leaf for node in tree.walk())
    assert len(tree.preterminals()) == len(tree.words) == len(tree.tags)
    assert tree.pretty().count("\n") + 1 == sum(1 for _ in tree.walk())


HOSTILE = {
    "opening": lambda n: "(" * n,
    "closing": lambda n: ")" * n,
    "open constituents": lambda n: "(A " * n,
    "a chain": lambda n: "(A " * n + "a" + ")" * n,
    "empty constituents": lambda n: "(A (B b) " + "()" * n,
    "flat": lambda n: "(A " + "(B b)" * n + ")",
    "many trees": lambda n: "(A a)\n" * n,
    "a long word": lambda n: "(A " + "a" * n + ")",
    "a long label": lambda n: "(" + "a" * n,
    "spaces": lambda n: "(A" + " " * n + "a)",
    "escapes": lambda n: "(A " + r"\u{28}" * n + ")",
    "half escapes": lambda n: "(A " + r"\u{" * n + ")",
    "many words": lambda n: "(A" + " b" * n + ")",
    "words": lambda n: "b " * n,
}


def peak_memory(text: str) -> int:
    tracemalloc.start()
    try:
        for _ in parse_trees(text):
            pass
    except BracketError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_memory_is_linear_in_the_text(text: Iterator[str]) -> None:
    small, large = text(10_000), text(80_000)
    assert peak_memory(large) < 9 * peak_memory(small) + 100_000


def test_long_words_and_labels_are_not_remembered() -> None:
    tracemalloc.start()
    for number in range(50):
        leaves = (Tree("T" * 100_000, (f"word{number}",)), Tree("T", ("w" * 100_000,)))
        tree = Tree(f"{number}" + "S" * 100_000, leaves)
        assert Tree.parse(str(tree)) == tree
    del leaves, tree
    memory_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory_bytes < 2_000_000


def test_subtrees_have_one_of_the_labels():
    tree = Tree.parse("(S (NP (NN a)) (VP (VB b) (NP (NN c))))")
    assert [str(node) for node in tree.subtrees("NP", "VB")] == ["(NP (NN a))", "(VB b)", "(NP (NN c))"]
    assert list(tree.subtrees("X")) == []
    assert list(tree.subtrees()) == list(tree.subtrees(lambda node: True)) == list(tree.walk())
    assert [node.label for node in tree.subtrees(filter=lambda node: node.height() == 3)] == ["NP", "NP"]


def test_pruned_trees_keep_their_words_and_their_upper_constituents():
    tree = Tree.parse("(S (NP (NN a)) (VP (VB b) (NP (NP (NN c)) (PP (IN d) (NN e)))))")
    assert str(tree.prune(0)) == "(S (NN a) (VB b) (NN c) (IN d) (NN e))"
    assert str(tree.prune(2)) == "(S (NP (NN a)) (VP (VB b) (NP (NN c) (IN d) (NN e))))"
    full = Tree.parse("(S (NP (-NONE- *)) (VP (VB go)))")
    assert str(full.prune(0)) == "(S (-NONE- *) (VB go))"
    assert tree.prune(3) == tree.prune(99) == tree
    assert tree.child_trees[0].child_trees[0].prune(0) == Tree("NN", ("a",))
    with pytest.raises(ValueError, match="depth is -1"):
        tree.prune(-1)


TREE = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")
FULL = Tree.parse(
    "(S (NP-SBJ-1 (NNS trees)) (VP (VBP seem) "
    "(S (NP-SBJ=2 (-NONE- *-1)) (VP (TO to) (VP (VB grow) (NP (-NONE- *U*)))))))"
)


def test_children_are_iterated_and_indexed_as_in_nltk() -> None:
    assert [child.label for child in TREE] == ["NP", "VP"] and len(TREE) == 2
    assert TREE[0] is TREE.children[0] and TREE[-1] is TREE.children[1] and TREE[0:1] == TREE.children[:1]
    assert TREE[0, 1] == TREE[0][1] == Tree("NN", ["cat"]) and TREE[0, 1, 0] == "cat" and TREE[()] is TREE
    assert TREE[0] in TREE and list(TREE[0, 0]) == ["the"] and bool(TREE)
    with pytest.raises(IndexError):
        TREE[2]
    with pytest.raises(TypeError, match="item assignment"):
        TREE[0] = TREE[1]  # type: ignore[index]


def test_lists_of_children_become_tuples() -> None:
    tree = Tree("S", [Tree("NN", ["a"]), Tree("NN", ("b",))])
    assert tree.children == (Tree("NN", ("a",)), Tree("NN", ("b",))) and hash(tree) == hash(Tree.parse(str(tree)))


@given(trees(plain_text))
def test_nltk_counts_and_lists_the_same(tree: Tree) -> None:
    theirs = tree.to_nltk()
    assert tree.height() == theirs.height() and tree.pos() == theirs.pos() and tree.leaves() == theirs.leaves()
    assert [(rule.lhs, rule.rhs, rule.is_lexical) for rule in tree.productions()] == [
        (str(rule.lhs()), tuple(map(str, rule.rhs())), rule.is_lexical()) for rule in theirs.productions()
    ]
    assert [len(node) for node in tree.subtrees()] == [len(node) for node in theirs.subtrees()]


def test_productions_print_as_in_nltk() -> None:
    assert [str(rule) for rule in TREE.productions()] == [str(rule) for rule in TREE.to_nltk().productions()]


def test_json_has_the_brackets_words_tags_and_spans() -> None:
    values = json.loads(json.dumps(TREE.to_json()))
    assert values["tree"] == str(TREE) and values["words"] == TREE.words and values["tags"] == TREE.tags
    assert [(span["start"], span["end"], span["label"]) for span in values["spans"]] == TREE.spans()


def test_names_of_other_libraries_are_explained_and_not_completed() -> None:
    with pytest.raises(AttributeError, match="no attribute 'append': trees do not change"):
        TREE.append(TREE)  # type: ignore[attr-defined]
    assert "append" not in dir(TREE) and {"leaves", "svg", "search"} <= set(dir(TREE))


def test_a_tree_is_saved_in_the_format_of_the_suffix(tmp_path: Path) -> None:
    for suffix, start in {"svg": b"<svg", "txt": b" ", "tex": b"\\documentclass", "html": b"<!DOCTYPE"}.items():
        TREE.save(tmp_path / f"tree.{suffix}")
        assert (tmp_path / f"tree.{suffix}").read_bytes().startswith(start)
    assert TREE.svg() == (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert TREE.svg(theme="dark", layout="aligned") != TREE.svg(theme="dark") != TREE.svg()
    with pytest.raises(ValueError, match=r"suffix '\.gif'"):
        TREE.save("tree.gif")


def test_pretty_print_draws_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    TREE.pretty_print()
    assert "┌" in capsys.readouterr().out
    TREE.pretty_print(width=5)
    assert capsys.readouterr().out == TREE.pretty() + "\n"


def test_labels_have_categories_functions_and_indices() -> None:
    subject, phrase = FULL
    assert (subject.category, subject.functions, subject.index, subject.gap) == ("NP", ("SBJ",), 1, None)
    inner = phrase[1, 0]
    assert (inner.category, inner.functions, inner.index, inner.gap) == ("NP", ("SBJ",), None, 2)
    tag = Tree("NN-SBJ-1", ["x"])
    assert (tag.category, tag.functions, tag.index, tag.gap, tag.kind) == ("NN-SBJ-1", (), None, None, None)


def test_an_empty_element_has_a_kind_and_an_index_and_no_word() -> None:
    assert [(leaf.kind, leaf.index) for leaf in FULL.empties()] == [("*", 1), ("*U*", None)]
    assert all(leaf.is_empty and leaf.words == [] for leaf in FULL.empties())
    assert not FULL.is_empty and not Tree("-NONE-", [Tree("-NONE-", ["*"])]).is_empty
    assert FULL.words == FULL.leaves() == ["trees", "seem", "to", "grow"] and FULL.tags == ["NNS", "VBP", "TO", "VB"]
    assert len(FULL.preterminals()) == 4 and len(FULL.preterminals(empties=True)) == 6


def test_spans_leave_out_what_has_no_words() -> None:
    assert FULL.spans() == FULL.plain(functions=True).spans()
    assert [span.label for span in FULL.spans()] == ["S", "NP-SBJ-1", "VP", "S", "VP", "VP"]
    assert FULL[1, 1, 0].spans() == []
    assert Tree.parse(str(FULL.prune(1))).words == FULL.words


def test_a_plain_tree_has_no_functions_and_no_empty_elements() -> None:
    assert str(FULL.plain()) == "(S (NP (NNS trees)) (VP (VBP seem) (S (VP (TO to) (VP (VB grow))))))"
    assert FULL.plain().plain() == FULL.plain() and str(Tree.parse(str(FULL))) == str(FULL)
    with pytest.raises(ValueError, match="no words in"):
        FULL.empties()[0].plain()
