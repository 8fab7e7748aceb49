"""Markdown tables."""

from collections.abc import Iterable, Iterator, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields the lines of a table.

    >>> print(*markdown_table(["label", "F1"], [["NP|PP", "92.1"]]), sep="\\n")
    | label | F1 |
    | --- | --- |
    | NP\\|PP | 92.1 |
    """
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
