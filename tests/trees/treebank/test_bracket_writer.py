from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecrf.trees.treebank.bracket_writer
from compiled_calls import run_calls
from strategies import any_text, deep_tree, trees, wide_tree
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.binarize import from_spans, to_spans
from treecrf.trees.treebank.bracket_writer import BracketWriter, FlatTrees
from treecrf.trees.treebank.word_table import WORD, LineLimits, TokenLines, WordTable

LABELS = ["S", "(NP)", "", "NP", "S VP", r"\u{28} X\u{a0} \u{}", "(S)", "-LRB-", "A  B"]


@pytest.fixture(params=[True, False], ids=["compiled", "python"], autouse=True)
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param and not treecrf.trees.treebank.bracket_writer.available:
        pytest.skip("the compiled part was not built")
    monkeypatch.setattr(treecrf.trees.treebank.bracket_writer, "available", request.param)


def flat(spans: Sequence[Sequence[Span]], tags: Sequence[int], labels: list[str]) -> FlatTrees:
    ordered = [span for sentence in spans for span in sorted(sentence, key=lambda span: span[:2])]
    columns = [[s.start for s in ordered], [s.end for s in ordered], [labels.index(s.label) for s in ordered], tags]
    return FlatTrees(*(np.array(column, dtype=np.int32) for column in columns))


def binary_spans(draw: st.DrawFn, start: int, end: int) -> list[Span]:
    label = draw(st.sampled_from(LABELS))
    if end - start == 1:
        return [Span(start, end, label)]
    middle = draw(st.integers(start + 1, end - 1))
    return [*binary_spans(draw, start, middle), *binary_spans(draw, middle, end), Span(start, end, label)]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], list[str], list[int]]:
    words = draw(st.lists(any_text, min_size=1, max_size=9))
    tags = draw(st.lists(st.integers(0, 3), min_size=len(words), max_size=len(words)))
    return binary_spans(draw, 0, len(words)), words, tags


@given(st.lists(sentences(), max_size=4), st.lists(any_text, min_size=4, max_size=4), any_text)
def test_lines_equal_the_text_of_trees_for_any_labels(
    parsed: list[tuple[list[Span], list[str], list[int]]], names: list[str], root: str
) -> None:
    expected = []
    for spans, words, tags in parsed:
        leaves = [Tree(names[tag], (word,)) for tag, word in zip(tags, words, strict=True)]
        expected.append(str(from_spans(spans, leaves, root)))
    arrays = flat([spans for spans, _, _ in parsed], [tag for _, _, tags in parsed for tag in tags], LABELS)
    words = [words for _, words, _ in parsed]
    assert BracketWriter(LABELS, names, root=root).lines(words, arrays) == expected
    penn = [line.replace(r"\u{28}", "-LRB-").replace(r"\u{29}", "-RRB-") for line in expected]
    assert BracketWriter(LABELS, names, root=root, exact=False).lines(words, arrays) == penn


ODD = "a()\\u{28}\x1c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000é\u1681\u2081😀"
odd_words = st.text(st.sampled_from(ODD), min_size=1)


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
@pytest.mark.parametrize("exact", [True, False])
@given(st.lists(st.lists(odd_words, min_size=1, max_size=4), max_size=4), st.data())
def test_split_lines_have_the_brackets_of_their_words(exact: bool, words: list[list[str]], data: st.DataObject) -> None:
    lines = split("\n".join(map(" ".join, words)))
    spans = [binary_spans(data.draw, 0, len(sentence)) for sentence in words]
    arrays = flat(spans, [0] * sum(map(len, words)), LABELS)
    writer = BracketWriter(LABELS, ["A"], exact=exact)
    assert writer.lines(lines, arrays) == writer.lines(words, arrays)
    tags = [["T"] * len(sentence) for sentence in words]
    assert writer.lines(lines, arrays, tags=tags) == writer.lines(words, arrays, tags=tags)


def split(text: str) -> TokenLines:
    sentences = WordTable().split(text.encode(), LineLimits(100, 10_000, 1000, 100)).sentences
    assert sentences is not None
    assert WORD.findall(text.replace("\n", " ")) == [word for line in sentences for word in line]
    return sentences


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
def test_arrays_that_do_not_fit_split_lines_are_an_error() -> None:
    if not treecrf.trees.treebank.bracket_writer.available:
        return
    writer, lines = BracketWriter(["NP"], ["A"]), split("a b\nc d e")
    good = FlatTrees(*([*column, *(column[:2] if number == 3 else column)] for number, column in enumerate(SPANS)))
    with pytest.raises(ValueError, match="2 sentences of 5 words"):
        writer.lines(lines, FlatTrees(*map(np.array, good)))
    messages = {(3, 2): "expected more", (1, 4): "more than 1 words", (0, 5): "0 has 0 words", (5, 1): "0 has 5 words"}
    for lengths, message in messages.items():
        wrong = TokenLines(lines.table, lines.data, lines.starts, lines.ends, np.array(lengths), lines.rows)
        columns = (np.zeros(8), np.ones(8), np.zeros(8), np.zeros(5))
        if lengths == (3, 2):
            columns = (np.array([0, 0, 0, 1, 2, 0, 0, 1]), np.array([1, 2, 3, 2, 3, 1, 2, 2]), np.zeros(8), np.zeros(5))
        with pytest.raises(ValueError, match=message):
            writer.lines(wrong, FlatTrees(*columns))


@given(st.lists(trees(), min_size=1, max_size=4))
def test_lines_of_a_trees_spans_equal_its_text(forest: list[Tree]) -> None:
    for tree in forest:
        spans = to_spans(tree)
        labels, names = sorted({span.label for span in spans}), sorted(set(tree.tags))
        arrays = flat([spans], [names.index(tag) for tag in tree.tags], labels)
        root = "ROOT" if tree.is_leaf else tree.label
        assert BracketWriter(labels, names, root=root).lines([tree.words], arrays) == [str(tree)]


@pytest.mark.parametrize("tree", [deep_tree(1500), wide_tree(1500)], ids=["deep", "wide"])
def test_deep_and_wide_trees_are_written(tree: Tree) -> None:
    spans = to_spans(tree)
    labels, names = sorted({span.label for span in spans}), sorted(set(tree.tags))
    arrays = flat([spans], [names.index(tag) for tag in tree.tags], labels)
    assert BracketWriter(labels, names).lines([tree.words], arrays) == [str(tree)]


def test_user_tags_replace_predicted_tags() -> None:
    arrays = flat([[Span(0, 1, "NP")]] * 4, [0, 1, 0, 1], ["NP"])
    sentences, tags = [("x",), ["y"], ["z"], ["t"]], [["( "], None, ("",), [None]]
    lines = BracketWriter(["NP"], ["A", "B"]).lines(sentences, arrays, tags=tags)
    assert lines == [r"(TOP (NP (\u{28}\u{20} x)))", "(TOP (NP (B y)))", r"(TOP (NP (\u{} z)))", "(TOP (NP (B t)))"]


SPANS = (np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0, 0, 0]), np.array([0, 0]))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (3, [0], "starts, ends, labels and tags; expected"),
        (0, [0, 1, 0], "by start and then end"),
        (0, [-1, 0, 1], "by start and then end"),
        (1, [2, 1, 2], "by start and then end"),
        (1, [1, 3, 2], "sentence of 2 words"),
        (1, [0, 2, 2], "sentence of 2 words"),
        (2, [0, 0, 1], "one of 1 labels"),
        (2, [0, -1, 0], "one of 1 labels"),
        (3, [0, 1], "one of 1 tags"),
    ],
)
def test_arrays_that_form_no_trees_are_an_error(column: int, values: list[int], message: str) -> None:
    arrays = [*SPANS[:column], np.array(values), *SPANS[column + 1 :]]
    if len(values) > 1 and not treecrf.trees.treebank.bracket_writer.available:
        return  # the Python code cannot read past the end of its lists
    with pytest.raises(ValueError, match=message):
        BracketWriter(["NP"], ["A"]).lines([["a", "b"]], FlatTrees(*arrays))


@pytest.mark.parametrize("words", [[["a"]], [["a", "b", "c"]], [[]]])
def test_words_and_arrays_must_agree(words: list[list[str]]) -> None:
    with pytest.raises(ValueError):
        BracketWriter(["NP"], ["A"]).lines(words, FlatTrees(*SPANS))
    with pytest.raises(ValueError):
        BracketWriter(["NP"], ["A"]).lines([["a", "b"]], FlatTrees(*SPANS), tags=[["A"]])


def test_a_word_that_is_no_string_is_an_error() -> None:
    with pytest.raises((TypeError, ValueError)):
        BracketWriter(["NP"], ["A"]).lines([["a", 7]], FlatTrees(*SPANS))  # type: ignore[list-item]


@pytest.mark.parametrize("has_tags", [True, False])
def test_batches_are_joined_in_their_order(has_tags: bool) -> None:
    first, second = (
        FlatTrees(*(np.array([base, base + number]) for number in range(1, 4)), np.array([base]) if has_tags else None)
        for base in (10, 20)
    )
    joined = FlatTrees.concatenate([first, second])
    assert [column.tolist() for column in joined[:3]] == [[10, 11, 20, 21], [10, 12, 20, 22], [10, 13, 20, 23]]
    assert (joined.tags.tolist() if has_tags else joined.tags) == ([10, 20] if has_tags else None)


def test_random_calls_are_computed_or_refused() -> None:
    if not treecrf.trees.treebank.bracket_writer.available:
        return
    random_calls = import_module("trees.treebank.random_calls")  # imports the compiled code
    assert 100 < run_calls(random_calls.run_case, 400, seed=5).refused < 300
