"""Tables of trees: one row per constituent or per sentence, as CSV, Parquet and frames of pandas and polars."""

import csv
import io
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

from treecrf import import_extra
from treecrf.trees.analysis import Analysis, ParsedSentence
from treecrf.trees.predicates import Predicate, predicates
from treecrf.trees.search.forest import head_positions
from treecrf.trees.search.heads import COLLINS, HeadRules
from treecrf.trees.tree import Tree

RowKind = Literal["constituents", "sentences", "predicates"]
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
    "predicates": {
        **_POSITION,
        "word": int,
        "predicate": str,
        "voice": str,
        **dict.fromkeys(("subject", "agent", "objects", "attribute", "times", "places"), str),
    },
}
_SEPARATOR = "; "  # between phrases
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
    elif kind == "predicates":
        for predicate in predicates(sentence.tree):
            yield *position, *_predicate_values(predicate)
    else:
        for values in _constituent_values(sentence, text, start, rules):
            yield *position, *values


def _predicate_values(predicate: Predicate) -> Row:
    phrases = (predicate.objects, predicate.times, predicate.places)
    objects, times, places = (_SEPARATOR.join(phrase.text for phrase in group) or None for group in phrases)
    singles = (predicate.subject, predicate.agent, predicate.attribute)
    subject, agent, attribute = (None if phrase is None else phrase.text for phrase in singles)
    voice = "passive" if predicate.is_passive else "active"
    return (predicate.position, predicate.text, voice, subject, agent, objects, attribute, times, places)


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
        tree = tree.plain(functions=True) if tree.empties() else tree
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


_ROWS_PER_GROUP = 1 << 17


def import_arrow(name: str, purpose: str) -> Any:
    """Imports a module of pyarrow, or says what to install."""
    return import_extra(name, f"{purpose} needs pyarrow", "tables")


def arrow_schema(kind: RowKind) -> Any:
    arrow = import_arrow("pyarrow", "a table")
    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    return arrow.schema([(name, types[python_type]) for name, python_type in COLUMNS[kind].items()])


def csv_to_parquet(source: Path, target: Path, kind: RowKind) -> None:
    """Converts a CSV file with a header to Parquet, in row groups, so that files of any size fit into memory."""
    arrow_csv = import_arrow("pyarrow.csv", "--format parquet")
    parquet = import_arrow("pyarrow.parquet", "--format parquet")
    schema = arrow_schema(kind)
    convert = arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=True, null_values=[""])
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    with (
        arrow_csv.open_csv(source, convert_options=convert, parse_options=parse) as batches,
        parquet.ParquetWriter(target, schema, compression="zstd") as writer,
    ):
        for batch in batches:
            writer.write_batch(batch, row_group_size=_ROWS_PER_GROUP)


Library = Literal["arrow", "pandas", "polars"]


def trees_to_frame(
    sentences: Iterable[Tree | Analysis | ParsedSentence],
    *,
    kind: RowKind = "constituents",
    library: Library = "pandas",
    head_rules: HeadRules | None = COLLINS,
) -> Any:
    """A frame with one row per constituent or per sentence; `library="arrow"` gives a `pyarrow.Table`.

    The sentences are trees, analyses, which have probabilities, or the results of `Parser.parse_text`, which have
    character offsets in their document. The offsets of other sentences refer to their words joined by spaces. Heads
    follow `head_rules`, by default for English; without rules, their column is empty.
    """
    if library not in ("arrow", "pandas", "polars"):
        raise ValueError(f"library is {library!r}; expected 'arrow', 'pandas' or 'polars'")
    if kind not in COLUMNS:
        raise ValueError(f"kind is {kind!r}; expected 'constituents' or 'sentences'")
    arrow = import_arrow("pyarrow", "trees_to_frame()")
    rows: list[Row] = []
    for number, sentence in enumerate(sentences, 1):
        parsed, position = _with_offsets(sentence), Position(sentence=number)
        rows += table_rows(parsed, position, parsed.text, kind=kind, start=parsed.start, rules=head_rules)
    schema = arrow_schema(kind)
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [arrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return _convert(arrow.Table.from_arrays(arrays, schema=schema), library)


def _with_offsets(sentence: Tree | Analysis | ParsedSentence) -> ParsedSentence:
    """A sentence with its text and the offsets of its words."""
    if isinstance(sentence, ParsedSentence):
        return sentence
    tree, analysis = (sentence, None) if isinstance(sentence, Tree) else (sentence.tree, sentence)
    ends = accumulate(len(word) + 1 for word in tree.words)
    offsets = [(end - 1 - len(word), end - 1) for word, end in zip(tree.words, ends, strict=True)]
    return ParsedSentence(tree, offsets, analysis, " ".join(tree.words))


def _convert(table: Any, library: Library) -> Any:
    if library == "arrow":
        return table
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"library={library!r} needs {library}: pip install {library}") from error
    return table.to_pandas() if library == "pandas" else module.from_arrow(table)
