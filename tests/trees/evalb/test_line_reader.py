import gzip

import pytest

from treecrf.trees.evalb.line_reader import printable, read_lines


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


@pytest.mark.parametrize(
    "lines",
    [
        ["(S (NN cat)", "(S (NN dog)))"],  # not indented
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
