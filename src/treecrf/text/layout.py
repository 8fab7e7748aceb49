"""Layout of lines: tables, tables of contents, markup, chat and lists, whose lines are sentences of their own.

Other lines may be hard-wrapped: a line break then means nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from treecrf.text.language_guess import guess_other_language
from treecrf.text.word_lists import patterns, read_words

_KINDS = patterns("layout")
_SPEAKER, _TIMED_SPEAKER, _ITEM, _BLOCK_TAG = map(re.compile, read_words("layout")["structure"].values())
_LINE = re.compile(r"[^\n]*\n?")
_MAX_SENTENCE = 100  # words
_MIN_SIGNS = 6  # words of a sentence whose signs are counted
_MIN_RAGGED_LINES = 3
_MAX_RAGGED_LINE = 60  # characters; longer lines are paragraphs of their own
_MIN_WIDTH = 30  # characters of the narrowest text that is wrapped
_MIN_INDENT = 2
_MAX_LINE = 2000  # characters of a line that are looked at


def line_kind(line: str) -> str | None:
    """The kind of a line that is not running text.

    >>> line_kind("1.2 Installation ........ 17"), line_kind("It rained all day.")
    ('line of a table of contents', None)
    """
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(line[:_MAX_LINE])), None)


def layout_warning(text: str) -> str | None:
    """A message about the lines of a text that are not running text."""
    counts = Counter(kind for line in text.splitlines() if (kind := line_kind(line)))
    if not counts:
        return None
    parts = [f"{count:,} x {kind}" for kind, count in counts.most_common()]
    return f"not all lines are running text: {', '.join(parts)}; each of these lines is parsed by itself"


def doubt(text: str, words: Sequence[str], language: str) -> str | None:
    """A reason to doubt that a text is a sentence of a language."""
    if kind := line_kind(text):
        return kind
    if len(words) > _MAX_SENTENCE:
        return f"a sentence of {len(words):,} words"
    letters = sum(word[:1].isalpha() for word in words)
    if not letters or (len(words) > _MIN_SIGNS and 2 * letters < len(words)):
        return "more signs and numbers than words" if letters else "no words"
    other = guess_other_language(words, language)
    return f"it looks {other.name}" if other else None


def line_ends(text: str) -> Iterator[int]:
    """The positions where a sentence ends because a line does, or an element of a page."""
    if "<" in text:
        yield from (match.end() for match in _BLOCK_TAG.finditer(text))
    block: list[re.Match[str]] = []
    for line in _LINE.finditer(text):
        if line[0].strip():
            block.append(line)
            continue
        yield from _ends_in_block(block)
        block = []


def _ends_in_block(block: Sequence[re.Match[str]]) -> Iterator[int]:
    """The ends of lines between two empty lines that are not joined to the next line."""
    if len(block) > 1:
        texts = [line[0].rstrip("\r\n") for line in block]
        for line, is_separate in zip(block, separate_lines(texts), strict=False):
            if is_separate:
                yield line.end()


def separate_lines(lines: Sequence[str]) -> list[bool]:
    """Whether each line of a block but the last ends there, instead of going on in the next line."""
    is_apart = [line_kind(line) is not None or not any(map(str.isalnum, line)) for line in lines]
    is_start = [speaker or item for speaker, item in zip(_speakers(lines), _list_items(lines), strict=True)]
    is_ragged = _is_ragged(lines)
    return [
        is_apart[number]
        or is_apart[number + 1]
        or is_start[number + 1]
        or _is_heading(lines, number)
        or (is_ragged and not _continues(lines, number))
        for number, line in enumerate(lines[:-1])
    ]


def _speakers(lines: Sequence[str]) -> list[bool]:
    """Whether lines start with the name of a speaker; one such line, or few of many, are running text."""
    is_speaker = [_SPEAKER.match(line) is not None for line in lines]
    is_chat = sum(is_speaker) > 1 and (2 * sum(is_speaker) >= len(lines) or any(map(_TIMED_SPEAKER.match, lines)))
    return is_speaker if is_chat else [False] * len(lines)


def _list_items(lines: Sequence[str]) -> list[bool]:
    """Whether lines are items of a list, such as `a)`, `2)` or `-`; there is a neighbor, as `b)`, or another `-`."""
    marks = ["".join(match.groups("")) if (match := _ITEM.match(line)) else "" for line in lines]
    numbers = [int(mark) if mark.isdecimal() else ord(mark) if mark else -1 for mark in marks]
    counts = Counter(numbers)
    return [
        counts[number] > 1 if mark in ("-", "+") else number > 0 and bool(counts[number - 1] + counts[number + 1])
        for mark, number in zip(marks, numbers, strict=True)
    ]


def _is_ragged(lines: Sequence[str]) -> bool:
    """Whether short lines were not wrapped: most of them had space for the first word of the next line."""
    if len(lines) < _MIN_RAGGED_LINES or max(map(len, lines)) > _MAX_RAGGED_LINE:
        return False
    full = sum(_is_full(lines, number) for number in range(len(lines) - 1))
    return 2 * full < len(lines) - 1


def _is_heading(lines: Sequence[str], number: int) -> bool:
    """Whether a line with space for the next word has another indentation than the next, as in manuals."""
    line, following = (line.expandtabs() for line in lines[number : number + 2])
    indents = [len(text) - len(text.lstrip()) for text in (line, following)]
    if abs(indents[0] - indents[1]) < _MIN_INDENT or following.lstrip()[0].islower():
        return False
    return not _is_full(lines, number)


def _continues(lines: Sequence[str], number: int) -> bool:
    """Whether a short line goes on in the next: by a comma, or a small letter in a text with capitals."""
    is_small = lines[0].lstrip()[:1].isupper() and lines[number + 1].lstrip()[:1].islower()
    return is_small or lines[number].rstrip().endswith((",", "-"))


def _is_full(lines: Sequence[str], number: int) -> bool:
    """Whether a line has no space for the first word of the next line."""
    next_word = lines[number + 1].split(maxsplit=1)[0]
    return len(lines[number].rstrip()) + 1 + len(next_word) > max(_MIN_WIDTH, *map(len, lines))


_QUOTE_MARKS = re.compile(r"\s*(?:>[ \t]?)+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_LIST_ITEM = re.compile(r"\s*(?:[-+*•▪◦‣●]\s+|(?=\(?\d{1,3}[.)]\s))")
_RULE = re.compile(r"\s*(?:[-=_*~#+`]\s*){3,}|\s*%\s*")  # `%` separates quotations of fortune
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])[\u2010\u00ad] (?=[^\W\d_])")  # at the end of a line
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
        start = mark.end() if mark else 0
        pieces.append(" " * start + content[start:].rstrip())
        if is_heading:
            yield from _join(pieces, first)
            pieces = []
    yield from _join(pieces, first)


def _join(lines: list[str], first: int) -> Iterator[Paragraph]:
    """Joins lines from number `first` on, but not lines of tables, chat and lists."""
    start = 0
    for number, is_separate in enumerate([*separate_lines(lines), True][: len(lines)]):
        if is_separate:
            text = " ".join(map(str.strip, lines[start : number + 1]))
            yield Paragraph(_BROKEN_WORD.sub("", text), first + start, first + number)
            start = number + 1


def _split_quote_marks(line: str) -> tuple[int, str]:
    """The depth of an e-mail quotation, and the line without its marks."""
    marks = _QUOTE_MARKS.match(line)
    return (marks[0].count(">"), line[marks.end() :]) if marks else (0, line)
