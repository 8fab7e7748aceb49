"""Joins the lines of hard-wrapped text, so that each paragraph is one line of input."""

from collections.abc import Generator, Iterator

from treecrf.corpus.records import Line
from treecrf.text import paragraphs


def join_paragraphs(lines: Iterator[Line], *, limit: int) -> Generator[Line, None, None]:
    """One line for each paragraph; a line that cannot be read ends a paragraph and stays a line of its own.

    A paragraph of more than `limit` bytes has a problem and no text.
    """
    unassigned: list[Line] = []  # lines that were read after the last paragraph
    first_number = 1

    def texts() -> Iterator[str]:
        for line in lines:
            unassigned.append(line)
            yield "" if line.problem else line.text

    for paragraph in paragraphs(texts()):
        count = paragraph.last_line - first_number + 1
        paragraph_lines = unassigned[:count]
        del unassigned[:count]
        first_number = paragraph.last_line + 1
        yield from (line for line in paragraph_lines if line.problem)
        yield _paragraph_line(paragraph.text, sum(line.size for line in paragraph_lines), limit)
    yield from (line for line in unassigned if line.problem)


def _paragraph_line(text: str, size: int, limit: int) -> Line:
    length = len(text.encode())
    if length <= limit:
        return Line(text, "", size)
    return Line("", f"a paragraph of {length:,} bytes; the limit is {limit:,}, and --max-line-bytes raises it", size)
