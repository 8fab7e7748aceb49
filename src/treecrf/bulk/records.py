"""Lines, and records that stand for lines: objects of JSON, one on a line, and rows of Parquet."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_JSON = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_ROWS = 1024  # decoded at a time


class Line(NamedTuple):
    """A line of text without its end; what is wrong with it, if it cannot be read; and its bytes.

    One that was a record may have words instead of text, and what it is called there: `"id": 7`.
    """

    text: str
    problem: str
    size: int
    words: Sequence[str] = ()
    key: str = ""


class Fields(NamedTuple):
    """The field of a record that is parsed, whether it holds words or raw text, and the one that names the record."""

    content: str = "text"
    has_words: bool = False
    key: str = "id"


def is_json(path: str | Path) -> bool:
    """Whether the lines of a file are objects of JSON."""
    return Path(path).name.removesuffix(".gz").endswith(_JSON)


def is_parquet(path: str | Path) -> bool:
    """Whether a file is of Parquet."""
    return Path(path).suffix in _PARQUET


def from_json(line: Line, fields: Fields) -> Line:
    """The line that an object of JSON stands for; an empty line is one."""
    if line.problem or not line.text.strip():
        return line
    try:
        record = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        return line._replace(text="", problem=f"the line is no JSON: {error}")
    if not isinstance(record, dict):
        return line._replace(
            text="", problem=f"the line is {_kind(record)}; expected an object with '{fields.content}'"
        )
    return _line(record, line.size, fields)


def read_rows(path: str, fields: Fields, *, limit: int, first: int = 0, count: int | None = None) -> Iterator[Line]:
    """Rows of a Parquet file, all or `count` of them from the row `first` on."""
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        if fields.content not in names:
            raise ValueError(f"{path} has no column '{fields.content}'; --field names one of {', '.join(names)}")
        end = file.metadata.num_rows if count is None else first + count
        groups, row = _groups(file, first, end)
        columns = [name for name in (fields.content, fields.key) if name in names]
        for batch in file.iter_batches(batch_size=_ROWS, row_groups=groups, columns=columns):
            part = batch.slice(min(max(first - row, 0), batch.num_rows), end - max(first, row))
            row += batch.num_rows
            for record in part.to_pylist() if first < row else ():
                line = _line(record, 0, fields)
                size = len(line.text.encode())
                yield line._replace(size=size) if size <= limit else _too_long(size, limit, line.key)
            if row >= end:
                break


def open_parquet(path: str) -> Any:
    """An open Parquet file."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'treecrf[ray]'") from error
    return ParquetFile(path)


def _groups(file: Any, first: int, end: int) -> tuple[list[int], int]:
    """The row groups that hold the rows from `first` to `end`, and the number of their own first row."""
    groups: list[int] = []
    start = row = 0
    for group in range(file.num_row_groups):
        before, row = row, row + file.metadata.row_group(group).num_rows
        if before < end and row > first:
            start = start if groups else before
            groups.append(group)
    return groups, start


def _line(record: Mapping[str, Any], size: int, fields: Fields) -> Line:
    key = record.get(fields.key)
    name = "" if key is None else f"{json.dumps(fields.key)}: {json.dumps(key, default=str)}"
    if fields.content not in record:
        known = ", ".join(record) or "none"
        problem = f"the record has no field '{fields.content}'; --field names another of its fields: {known:.200}"
        return Line("", problem, size, key=name)
    content = record[fields.content]
    text, words, problem = _content(content, fields)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        text, words, problem = "", (), f"'{fields.content}' holds half a character, {text[error.start]!r}"
    return Line(text, problem, size, words, name)


def _content(content: Any, fields: Fields) -> tuple[str, Sequence[str], str]:
    """A field's text, its words if it lists them, and what is wrong with it."""
    if content is None:
        return "", (), ""
    if isinstance(content, str):
        return content.replace("\n", " ") if fields.has_words else content, (), ""
    if not fields.has_words or not isinstance(content, list):
        expected = "a string or a list of words" if fields.has_words else "a string (--tokens takes lists of words)"
        return "", (), f"'{fields.content}' is {_kind(content)}; expected {expected}"
    for place, word in enumerate(content):
        if not isinstance(word, str) or not word:
            return "", (), f"'{fields.content}' has {_kind(word)} at place {place}; expected a word"
    return " ".join(content), content, ""


def _too_long(size: int, limit: int, key: str) -> Line:
    problem = f"a text of {size:,} bytes; the limit is {limit:,}, and --max-line-bytes raises it"
    return Line("", problem, size, key=key)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    names = {dict: "an object", list: "a list", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null" if value is None else f"of type {type(value).__name__}")
