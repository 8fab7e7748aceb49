"""Lines of tables, chat and lists stay apart, and hard-wrapped lines are joined."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.text import doubt, layout_warning, paragraphs, sentences
from treecrf.text.layout import line_kind, separate_lines


def split(text):
    return [" ".join(token.text for token in sentence) for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("1.2 Installation ........ 17", "line of a table of contents"),
        ("Preface . . . . . . . . ix", "line of a table of contents"),
        ("| name | age |", "table row"),
        ("|---|:--:|", "table row"),
        ("Ann\t30\tParis", "table row"),
        ("Ann     30     Paris", "table row"),
        ("<p>Hello.</p>", "markup"),
        ("<!DOCTYPE html>", "markup"),
        ("from os import path", "code"),
        ('x = call("a")', "code"),
        ("He left.  She stayed.  They met.", None),
        ("We waited ... and waited.", None),
        ("It is C<each> or C<keys> here.", None),
        ("From there, we walked (slowly);", None),
        ("a < b and c > d", None),
        ("Say <start> and <end>, or --since=<date1> and <date2>.", None),
        ("<revision-range>", None),
        ("<item>Hello.</item>", "markup"),
        ("<form>", "markup"),
    ],
)
def test_lines_that_are_not_running_text_have_a_kind(line, kind):
    assert line_kind(line) == kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hey\nhow are you\nfine thanks", ["hey", "how are you", "fine thanks"]),
        ("Ann: hi\nBob: hello there", ["Ann : hi", "Bob : hello there"]),
        ("[10:32] ann: hi\n[10:33] bob: hello", ["[ 10:32 ] ann : hi", "[ 10:33 ] bob : hello"]),
        ("<ann> hi\n<bob> hello", ["<ann> hi", "<bob> hello"]),
        ("a) go home\nb) stay here", ["a ) go home", "b ) stay here"]),
        ("1) one thing\n2) another", ["1 ) one thing", "2 ) another"]),
        ("- one thing\n- another", ["- one thing", "- another"]),
        ("He gave us 5\n- no more.", ["He gave us 5 - no more ."]),
        ("Item .... 5\nOther .... 17", ["Item .... 5", "Other .... 17"]),
        ("<p>Hello world.</p><p>Bye now.</p>", ["<p> Hello world . </p>", "<p> Bye now . </p>"]),
        ("A line\nthat wraps\nonce", ["A line that wraps once"]),
        ("Title\n=====\nIt rained.", ["Title", "=====", "It rained ."]),
        ("It rained\n%\nand it snowed.", ["It rained", "%", "and it snowed ."]),
        ("OPTIONS\n   -c, --create\n       Create one.", ["OPTIONS", "-c , --create", "Create one ."]),
        ("Who wrote of the titles of books,\n    Smith knows.", ["Who wrote of the titles of books , Smith knows ."]),
        (
            "There is one thing to do here:\nNote: it\nis wrapped.",
            ["There is one thing to do here : Note : it is wrapped ."],
        ),
        ("He saw a) nothing that day and\nwent home.", ["He saw a ) nothing that day and went home ."]),
    ],
)
def test_lines_of_chat_lists_and_tables_are_sentences(text, expected):
    assert split(text) == expected


def test_words_that_a_manual_breaks_are_joined() -> None:
    text = "It creates incre\u2010\n     mental archives, non\u2010GNU ones and per-\nhost ones."
    words = ["It", "creates", "incremental", "archives", ",", "non‐GNU", "ones", "and", "per-", "host", "ones", "."]
    assert [token.tree_word for sentence in sentences(text) for token in sentence] == words
    (paragraph,) = paragraphs(text.splitlines())
    assert "incremental archives, non\u2010GNU" in paragraph.text


def test_wrapped_lines_are_full_and_short_lines_are_not():
    wrapped = ["the old teacher of the village painted a", "quiet river behind every small wall of", "the town"]
    assert separate_lines(wrapped) == [False, False]
    assert separate_lines(["one more thing to do before we leave here", "ok", "bye", "see you"]) == [True] * 3
    assert separate_lines(["yes,", "no", "maybe so"]) == [False, True]


def test_paragraphs_do_not_join_chat():
    texts = [paragraph[:3] for paragraph in paragraphs(["Some text", "that wraps.", "", "Ann: hi", "Bob: hello"])]
    assert texts == [("Some text that wraps.", 1, 2), ("Ann: hi", 4, 4), ("Bob: hello", 5, 5)]


def test_a_document_with_a_table_is_reported():
    message = layout_warning("Text.\n| a | b |\n| 1 | 2 |\n<p>x</p>\n")
    assert message is not None and "2 x table row, 1 x markup" in message
    assert layout_warning("It rained.\nWe left.") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("| a | b |", "table row"),
        ("word " * 101, "a sentence of 101 words"),
        ("1 + 2 = 3 !", "no words"),
        ("a 1 2 3 4 5 6 7", "more signs and numbers than words"),
        ("El perro corre por el parque mientras los niños juegan .", "it looks Spanish"),
        ("It rained all day .", None),
    ],
)
def test_doubtful_sentences_have_a_reason(text, reason):
    assert doubt(text, text.split(), "en") == reason


def test_hostile_lines_take_linear_time():
    text = "\n".join(["." * 20_000, ". " * 9_000, "<a " * 5_000, "| " * 8_000, "a   " * 5_000])
    assert sum(map(len, sentences(text))) > 20_000


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
