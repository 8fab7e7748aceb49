import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.evalb.brackets import UNCLOSED, UNREADABLE, printable, read_brackets, read_lines, tree_brackets
from trees.evalb.pairs import evalb_spans, evalb_tags, evalb_words, trees

OPEN = "Bracketing is unbalanced (too many open bracket)"
CLOSED = "Bracketing unbalance (too many close bracket)"


def spans(line):
    """The brackets of a line as (label, start, end)."""
    read = read_brackets(line)
    return list(zip(read.labels, read.starts, read.ends, strict=True))


@given(trees())
def test_text_and_tree_give_the_same_brackets(tree):
    assert read_brackets(str(tree)) == tree_brackets(tree)


@given(trees())
def test_brackets_are_the_spans_of_a_tree(tree):
    assert spans(str(tree)) == [(label, start, end) for start, end, label in evalb_spans(tree)]
    assert (tree_brackets(tree).words, tree_brackets(tree).tags) == (evalb_words(tree), evalb_tags(tree))


def test_no_tree_has_no_words():
    assert tree_brackets(None) == read_brackets("")


@given(st.text(alphabet="()ab-=\\ \t\r\v\u00a0"))
def test_any_line_can_be_read_and_has_no_more_nodes_than_brackets(line):
    read = read_brackets(line)
    assert len(read.words) == len(read.tags)
    assert len(read.words) + len(read.labels) <= line.count("(")
    assert all(0 <= start <= len(read.words) for start in read.starts)
    assert all(end == UNCLOSED or 0 <= end <= len(read.words) for end in read.ends)
    assert read.readable == (UNREADABLE not in read.faults)


@given(trees(), st.sampled_from([" ", "\t", "\r", "\v \f"]))
def test_any_white_space_separates(tree, space):
    assert read_brackets(str(tree).replace(" ", space) + space) == tree_brackets(tree)


def test_other_spaces_belong_to_their_word():
    assert read_brackets("(NN a\u00a0b\u2028c)").words == ["a\u00a0b\u2028c"]


@pytest.mark.parametrize(
    ("line", "expected", "words", "faults"),
    [
        ("(())", [("", 0, 0), ("", 0, 0)], [], []),
        ("( (S (A a)) )", [("", 0, 1), ("S", 0, 1)], ["a"], []),
        ("(S (NP) (A a))", [("S", 0, 1), ("NP", 0, 0)], ["a"], []),
        ("(S (NP ) (A a))", [("S", 0, 2)], ["", "a"], []),
        ("(S(NP(A a))(B b))", [("S", 0, 2), ("NP", 0, 1)], ["a", "b"], []),
        ("(S (A a)) (S (B b))", [("S", 0, 1), ("S", 1, 2)], ["a", "b"], []),
        ("(S (NP (A a))", [("S", 0, UNCLOSED), ("NP", 0, 1)], ["a"], [OPEN]),
        ("(S (A a)))", [("S", 0, 1)], ["a"], [OPEN]),
        ("(S (A a))))", [("S", 0, 1)], ["a"], [CLOSED, OPEN]),
        ("(S (A a)) (B b))", [("S", 0, 2)], ["a", "b"], [OPEN]),
        (") (S (A a))", [("S", 0, 1)], ["a"], [OPEN]),
        (") (S (A a)", [("S", 0, 0)], ["a"], []),
        ("(S (A a)) b", [("S", 0, 1)], ["a"], [UNREADABLE]),
        ("(S (A a b))", [("S", 0, UNCLOSED), ("A", 0, UNCLOSED)], [], [UNREADABLE]),
        ("(S (A a ))", [("S", 0, UNCLOSED), ("A", 0, UNCLOSED)], [], [UNREADABLE]),
    ],
)
def test_a_line_is_read_as_evalb_reads_it(line, expected, words, faults):
    read = read_brackets(line)
    assert (spans(line), read.words, read.faults) == (expected, words, faults)


def test_deep_and_long_lines_are_read():
    line = "(A " * 20_000 + "(W w)" + " (W w)" * 20_000 + ")" * 20_000
    read = read_brackets(line)
    assert len(read.words) == 20_001
    assert read.ends == [20_001] * 20_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(N\0P (NN cat))", "(N (NN cat))"),
        ("(\0NP (NN cat))", "( (NN cat))"),
        ("(NP (NN c\0at))", "(NP (NN c))"),
        ("(NP (NN \0cat))", "(NP (NN ))"),
        ("(NP \0(NN cat))", "(NP "),
        ("(NP (NN cat)\0)", "(NP (NN cat)"),
        ("(NP (NN cat))\0 (", "(NP (NN cat))"),
    ],
)
def test_a_zero_byte_ends_a_label_a_word_or_the_line_as_in_evalb(tmp_path, text, expected):
    (tmp_path / "trees").write_bytes(f"(X y)\n{text}\n(X z)\n".encode())
    assert read_lines(str(tmp_path / "trees")) == ["(X y)", expected, "(X z)"]


def test_indented_trees_are_joined(tmp_path):
    lines = ["", "(S (NP (NN cat))", "   (VP (VBD slept)))", "(S (NN dog)) ", "(S", "  (NN cow))"]
    (tmp_path / "trees").write_text("\n".join(lines), encoding="utf-8")
    joined = ["(S (NP (NN cat))    (VP (VBD slept)))", "(S (NN dog))", "(S   (NN cow))"]
    assert read_lines(str(tmp_path / "trees")) == joined


@pytest.mark.parametrize("indent", [" ", "\t"])
def test_one_space_or_tab_indents_a_tree(tmp_path, indent):
    (tmp_path / "trees").write_text(f"(S\n{indent}(NN cow))\n", encoding="utf-8")
    assert read_lines(str(tmp_path / "trees")) == [f"(S {indent}(NN cow))"]


@pytest.mark.parametrize(
    "lines",
    [
        ["(S (NN cat)", "(S (NN dog)))"],  # not indented
        ["(S", " (NN cat)", "(NN dog))"],  # one of them is not
        ["(S (NN cat)", "  (S (NN dog))"],  # one bracket stays open
        ["(S (NN cat))", "", "  (S (NN dog))"],  # every line is a tree
    ],
)
def test_other_lines_are_kept(tmp_path, lines):
    (tmp_path / "trees").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read_lines(str(tmp_path / "trees")) == lines


def test_compressed_files_are_read_and_damaged_ones_are_errors(tmp_path):
    data = gzip.compress("\ufeff(NN é)\n".encode())
    (tmp_path / "trees").write_bytes(data)
    assert read_lines(str(tmp_path / "trees")) == ["(NN é)"]
    (tmp_path / "trees").write_bytes(data[:-9])
    with pytest.raises(ValueError, match="damaged gzip file"):
        read_lines(str(tmp_path / "trees"))


def test_bytes_that_are_not_utf_8_can_be_printed(tmp_path):
    (tmp_path / "trees").write_bytes(b"(NN \xff)")
    (line,) = read_lines(str(tmp_path / "trees"))
    assert line == "(NN \udcff)" and printable(line) == "(NN \ufffd)"
    (tmp_path / "trees").write_bytes(b"")
    assert read_lines(str(tmp_path / "trees")) == []
