"""Paragraphs of hard-wrapped text: e-mail, Project Gutenberg, Markdown."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treecrf.text.layout import separate_lines

_QUOTE_MARKS = re.compile(r"\s*(?:>[ \t]?)+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_LIST_ITEM = re.compile(r"\s*(?:[-+*•▪◦‣●]\s+|(?=\(?\d{1,3}[.)]\s))")
_RULE = re.compile(r"\s*(?:[-=_*~#+`]\s*){3,}")
_SIGNATURE = re.compile(r"--\s?")  # separates the signature of an e-mail


class Paragraph(NamedTuple):
    """A paragraph on one line, and the numbers of its first and last line in the file, counted from 1."""

    text: str
    first_line: int
    last_line: int


def paragraphs(lines: Iterable[str]) -> Iterator[Paragraph]:
    """Joins the lines of each paragraph by spaces.

    Blank lines and rules such as `----` separate paragraphs. A heading is a paragraph, and so is a list item with its
    continuation lines. The marks of headings (`#`), list items (`-`, `*`, `•`) and quoted e-mail (`>`) are left out;
    numbers of list items stay. Lines of tables, chat and lists by letters are not joined. Where the quotation marks of
    an e-mail begin or end, a paragraph ends.

    >>> [paragraph.text for paragraph in paragraphs(["# Title", "A line", "that wraps.", "", "- One", "- Two"])]
    ['Title', 'A line that wraps.', 'One', 'Two']
    """
    pieces: list[str] = []
    first, depth = 1, 0
    for number, line in enumerate(lines, 1):
        line_depth, content = _split_quote_marks(line)
        is_heading, is_item = _HEADING.match(content), _LIST_ITEM.match(content)
        is_blank = not content.strip() or _RULE.fullmatch(content) or _SIGNATURE.fullmatch(content)
        if is_blank or is_heading or is_item or line_depth != depth:
            yield from _join(pieces, first)
            pieces = []
        if is_blank:
            continue
        mark = is_heading or is_item
        first, depth = first if pieces else number, line_depth
        pieces.append(content[mark.end() if mark else 0 :].strip())
        if is_heading:
            yield from _join(pieces, first)
            pieces = []
    yield from _join(pieces, first)


def _join(lines: list[str], first: int) -> Iterator[Paragraph]:
    """Joins lines from number `first` on, but not those of tables, chat and lists."""
    start = 0
    for number, is_separate in enumerate([*separate_lines(lines), True][: len(lines)]):
        if is_separate:
            yield Paragraph(" ".join(lines[start : number + 1]), first + start, first + number)
            start = number + 1


def _split_quote_marks(line: str) -> tuple[int, str]:
    """The depth of an e-mail quotation, and the line without its marks."""
    marks = _QUOTE_MARKS.match(line)
    return (marks[0].count(">"), line[marks.end() :]) if marks else (0, line)
