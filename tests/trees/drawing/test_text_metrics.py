import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.trees.drawing.text_metrics import (
    escape_invisible,
    is_ideographic,
    is_right_to_left,
    terminal_columns,
    width,
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("tree", 4),
        ("语法", 4),
        ("ＡＢ", 4),
        ("한국어", 6),
        ("ｱｲ", 2),
        ("e\u0301", 1),
        ("👍", 2),
        ("\u200b", 0),
    ],
)
def test_terminal_columns_of_texts(text, columns):
    assert terminal_columns(text) == columns


def test_widths_depend_on_the_letters():
    assert width("il", 10) < width("nn", 10) < width("MW", 10)
    assert width("é", 10) == width("e", 10) and width("e\u0301", 10) == width("e", 10)
    assert width("树", 10) == 10 and width("🌳", 10) > 10
    assert width("\U00020000", 10) == width("\U0002a6df", 10) == 10  # rare characters beyond the emoji
    assert width("NP", 10, bold=True) > width("NP", 10)
    assert width("NP", 20) == pytest.approx(2 * width("NP", 10))


@given(st.text())
def test_invisible_characters_are_escaped(text):
    shown = escape_invisible(text)
    assert all(letter.isprintable() or (not letter.isspace() and ord(letter) > 0x9F) for letter in shown)
    assert escape_invisible(shown) == shown


@pytest.mark.parametrize(
    ("words", "expected"), [(["שלום", "ok"], True), (["كتب", "."], True), (["the", "cat"], False), (["1", "."], False)]
)
def test_the_majority_of_letters_decides_the_direction(words, expected):
    assert is_right_to_left(words) is expected


def test_ideographs_differ_from_letters_and_emoji():
    assert is_ideographic("NP 语") and is_ideographic("カ") and is_ideographic("국")
    assert not is_ideographic("NP é 🌳")
