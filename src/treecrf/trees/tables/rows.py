"""Rows of the tables: one per constituent or one per sentence."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from treecrf.trees.analysis import ParsedSentence
from treecrf.trees.search.forest import head_positions
from treecrf.trees.search.heads import COLLINS, HeadRules

RowKind = Literal["constituents", "sentences"]
Value = str | int | float | None
Row = tuple[Value, ...]

_POSITION = {"document": str, "id": str, "line": int, "sentence": int}
_CHARACTERS = {"start_char": int, "end_char": int, "text": str}
# the columns of each kind of table, and their types
COLUMNS: dict[RowKind, dict[str, type]] = {
    "constituents": {
        **_POSITION,
        "start": int,
        "end": int,
        "label": str,
        "depth": int,
        "head": str,
        **_CHARACTERS,
        "probability": float,
        "calibrated": float,
    },
    "sentences": {**_POSITION, "words": int, "tree": str, **_CHARACTERS, "log_prob": float, "entropy": float},
}
_DIGITS = 6


class Position(NamedTuple):
    """The position of a sentence: its document, its line and its number in the line, both from 1."""

    document: str | None = None
    id: str | None = None  # the id of a record
    line: int | None = None
    sentence: int | None = None


def table_rows(
    sentence: ParsedSentence,
    position: Position,
    text: str,
    *,
    kind: RowKind,
    start: int = 0,
    rules: HeadRules | None = COLLINS,
) -> Iterator[Row]:
    """The rows of a sentence. `text` has the words at their offsets, and `start` is the offset of its beginning.

    Heads follow `rules`, and are empty without rules. Columns of probabilities are empty without an analysis.
    """
    if kind == "sentences":
        yield *position, *_sentence_values(sentence, text, start)
    else:
        for values in _constituent_values(sentence, text, start, rules):
            yield *position, *values


def _sentence_values(sentence: ParsedSentence, text: str, text_start: int) -> Row:
    tree, offsets, analysis, _ = sentence
    start, end = sentence.start, sentence.end
    numbers = (None, None) if analysis is None else (_round(analysis.log_prob), _round(analysis.entropy))
    return (len(offsets), str(tree), start, end, text[start - text_start : end - text_start], *numbers)


def _constituent_values(sentence: ParsedSentence, text: str, text_start: int, rules: HeadRules | None) -> Iterator[Row]:
    tree, offsets, analysis, _ = sentence
    words, spans = tree.words, tree.spans()
    heads: list[str | None] = [None] * len(spans)
    if rules is not None:
        nodes = zip(tree.walk(), head_positions(tree, rules), strict=True)
        heads = [words[head] for node, head in nodes if not node.is_leaf]
    ends: list[int] = []  # ends of the constituents above
    for index, (start, end, label) in enumerate(spans):
        while ends and ends[-1] <= start:
            ends.pop()
        first, last = offsets[start][0], offsets[end - 1][1]
        numbers: Row = (None, None)
        if analysis is not None:
            constituent = analysis.constituents[index]
            numbers = (_round(constituent.probability), _round(constituent.calibrated))
        constituent_text = text[first - text_start : last - text_start]
        yield (start, end, label, len(ends), heads[index], first, last, constituent_text, *numbers)
        ends.append(end)


def _round(number: float) -> float:
    return round(number, _DIGITS)


def csv_text(rows: Iterable[Iterable[Value]]) -> str:
    """Rows as CSV without a line end after the last one; a value that is missing is empty.

    >>> csv_text([("a, b", 1, None), ('"', 0.5, "")])
    '"a, b",1,\\n\"\"\"\",0.5,'
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().removesuffix("\n")
