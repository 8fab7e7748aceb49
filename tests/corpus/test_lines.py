"""Paragraphs as input lines: lines that cannot be read are kept, and sizes add up."""

from treecrf.corpus.lines import join_paragraphs
from treecrf.corpus.records import Line


def line(text: str, problem: str = "") -> Line:
    return Line(text, problem, len(text) + 1)


def test_lines_of_a_paragraph_are_joined_and_their_sizes_added():
    joined = list(join_paragraphs(iter([line("A line"), line("wraps."), line(""), line("End")]), limit=100))
    assert [(item.text, item.size) for item in joined] == [("A line wraps.", 14), ("End", 5)]


def test_a_line_that_cannot_be_read_stays_a_line_of_its_own():
    lines = [line("A"), line("", "bad"), line("B"), line("", "worse")]
    assert [(item.text, item.problem) for item in join_paragraphs(iter(lines), limit=100)] == [
        ("A", ""),
        ("", "bad"),
        ("B", ""),
        ("", "worse"),
    ]


def test_a_paragraph_over_the_limit_has_a_problem():
    (joined,) = join_paragraphs(iter([line("many words"), line("and more")]), limit=15)
    assert joined.text == ""
    assert "a paragraph of 19 bytes; the limit is 15" in joined.problem
