"""The parts of labels and of empty elements, and the Penn Treebank's escapes of brackets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import any_text
from treecrf.trees.notation import (
    PENN_ESCAPES,
    LabelParts,
    end_of_first,
    escape_brackets,
    escape_for_treebanks,
    find_error,
    penn_brackets,
    read_labels,
    split_label,
    unescape,
    unescape_brackets,
)
from treecrf.trees.tree import Tree


@pytest.mark.parametrize(
    ("label", "category", "functions", "index", "gap"),
    [
        ("NP", "NP", (), None, None),
        ("NP-SBJ-1", "NP", ("SBJ",), 1, None),
        ("PP-LOC-PRD-2", "PP", ("LOC", "PRD"), 2, None),
        ("NP-SBJ-1=2", "NP", ("SBJ",), 1, 2),
        ("NP=3", "NP", (), None, 3),
        ("*T*-12", "*T*", (), 12, None),
        ("*", "*", (), None, None),
        ("*-1", "*", (), 1, None),
        ("0", "0", (), None, None),
        ("*con*-D", "*con*", ("D",), None, None),
        ("-LRB-", "-LRB", (), None, None),
        ("", "", (), None, None),
        ("-", "-", (), None, None),
        ("=1", "=1", (), None, None),
        ("NP-123456789", "NP", (), 123_456_789, None),
        ("NP-1234567890", "NP", (), None, None),
        ("NP-" + "9" * 5000, "NP", (), None, None),
    ],
)
def test_a_label_has_a_category_functions_and_indices(label, category, functions, index, gap):
    assert split_label(label) == LabelParts(category, functions, index, gap)


@pytest.mark.parametrize(("bracket", "name"), PENN_ESCAPES.items())
def test_each_bracket_is_escaped_and_restored(bracket: str, name: str) -> None:
    assert escape_brackets(bracket) == name
    assert unescape_brackets(name) == unescape_brackets(name.lower()) == bracket


@given(st.text(st.characters(exclude_characters="-\\")))
def test_unescaping_inverts_escaping(word: str) -> None:
    assert unescape_brackets(escape_brackets(word)) == word


@given(any_text, any_text)
def test_escaping_words_equals_escaping_the_brackets_of_their_tree(tag: str, word: str) -> None:
    line = penn_brackets(str(Tree(tag, (word,))))
    assert line == f"({escape_for_treebanks(tag)} {escape_for_treebanks(word)})"


def test_other_words_are_kept() -> None:
    for word in ("", "-", "LRB", "-LXB-", "a/b", "-LRB"):
        assert unescape_brackets(word) == word


def test_letters_equal_to_others_only_without_case_are_no_error() -> None:
    assert unescape_brackets("-l\u017fb-") == "["  # the long s is an s without case


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("(S (NP ", ("S", "NP")),
        ("( (S", ("", "S")),
        (" (S", ("S",)),
        ("", ()),
        ("x (S", None),
        ("(S NN", None),  # a word
        ("(S (NP the cat", None),
    ],
)
def test_labels_of_nested_constituents_are_read_where_there_is_nothing_else(text, labels):
    assert read_labels(text) == labels


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("(S (NN cat) (NP the (NN cat)))", "word 'the' beside a constituent; expected one or the other", 12),
        ("(S (NN cat)) )", "')' without its '('", 13),
        ("cat", "expected '(', found 'cat'", 0),
        ("(S (NN cat) sang)", "word 'sang' after a constituent; expected '(' or ')'", 12),
        ("(S (NN))", "'NN' is empty; expected a word or constituents in it", 3),
        ("(S ())", "a constituent is empty; expected a word or constituents in it", 3),
        ("(S (NN the cat))", "'NN' contains 2 words; expected one", 3),
        ("(S (NN cat)", "1 ')' missing at the end", 11),
        ("(S (NN", "2 ')' missing at the end", 6),
    ],
)
def test_errors_in_brackets_have_a_reason_and_a_place(text, reason, offset):
    error = find_error(text)
    assert (error.reason, error.offset) == (reason, offset)


def test_errors_in_brackets_name_the_line_and_the_column() -> None:
    error = find_error("(S\n (NN cat)\n sang)")
    assert error.line == 3 and str(error).endswith("(line 3, column 2)")


@pytest.mark.parametrize(("text", "end"), [("(a (b c)) (d e)", 9), (" (a b)", 6), ("(a (b", 5), ("", 0)])
def test_the_first_tree_ends_with_its_last_bracket(text: str, end: int) -> None:
    assert end_of_first(text) == end


def test_an_escape_is_its_character_and_a_number_beyond_unicode_stays():
    assert unescape("\\u{41}\\u{110000}") == "A\\u{110000}"
