"""Paragraphs: lines are joined, and no word is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.text import paragraphs

_LINES = ["", " ", "a word", "  more words.", "# Title", "- item", "1. item", "> quoted", ">> x"]
LINES = st.lists(st.sampled_from(_LINES))


def texts(document: str) -> list[str]:
    return [paragraph.text for paragraph in paragraphs(document.split("\n"))]


@given(LINES)
def test_every_word_is_in_one_paragraph(lines):
    words = [word for line in lines for word in line.split() if re.search(r"\w", word)]
    assert [word for text in texts("\n".join(lines)) for word in text.split()] == words


@given(LINES)
def test_line_numbers_are_ordered_and_enclose_the_words(lines):
    end = 0
    for paragraph in paragraphs(lines):
        assert end < paragraph.first_line <= paragraph.last_line <= len(lines)
        words = " ".join(lines[paragraph.first_line - 1 : paragraph.last_line])
        assert paragraph.text.split()[0] in words
        end = paragraph.last_line


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("It was the best\nof times.\n\nIt was\nthe worst.", ["It was the best of times.", "It was the worst."]),
        ("Chapter I\r\n\r\nA dark\r\nnight.\r\n", ["Chapter I", "A dark night."]),
        ("Hi,\n\n> are you\n> there?\nYes I\nam.\n-- \nJo", ["Hi,", "are you there?", "Yes I am.", "Jo"]),
        ("# A title\nText\nbelow.\n\nOther\n=====\nEnd", ["A title", "Text below.", "Other", "End"]),
        ("Buy:\n- milk\n  and eggs\n- bread\n\n1. Stir.\n2. Bake\n   it.", None),
    ],
)
def test_wrapped_lines_are_joined(document, expected):
    assert texts(document) == (expected or ["Buy:", "milk and eggs", "bread", "1. Stir.", "2. Bake it."])
