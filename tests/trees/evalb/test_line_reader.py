import pytest

from treecrf.trees.evalb.line_reader import read_lines


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
