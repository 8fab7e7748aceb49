"""Input records: objects of JSON lines, and rows of Parquet, CSV and TSV files, and the texts of them all."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from treecrf.corpus.inputs import (
    InputFile,
    Line,
    RecordFields,
    delimiter,
    has_trees,
    is_json_lines,
    is_parquet,
    read_lines,
)
from treecrf.files import open_stream, refuse_constant
from treecrf.parser.decoding.constraints import Constraints
from treecrf.trees.treebank.lines import read_text

_BATCH_ROWS = 1024  # decoded at a time
_MAX_TEXT_BYTES = 1 << 26


def has_records(path: str | Path) -> bool:
    """Whether a file has records, judged by its name."""
    return is_json_lines(path) or is_parquet(path) or delimiter(path) is not None


def holds_trees(path: str | Path) -> bool:
    """Whether a file has trees in brackets, by its name, or in JSON lines as `treecrf parse` writes them."""
    if not is_json_lines(path):
        return has_trees(path)
    with open_stream(path) as stream:
        first = next((line for line in stream if line.strip() not in (b"", b"null")), b"null")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and not {"tree", "sentences"}.isdisjoint(record)


def read_texts(path: str | Path, field: str | None = None) -> Iterator[str]:
    """The texts of the records of a file, in the field `text` or another one."""
    lines = read_lines(
        InputFile(str(path), Path(path)), limit=_MAX_TEXT_BYTES, fields=RecordFields(content=field or "text")
    )
    for number, line in enumerate(lines, 1):
        if line.problem:
            raise ValueError(f"{path}, record {number}: {line.problem}")
        yield line.text


def read_document(path: str | Path, field: str | None = None) -> str:
    """The text of a file; the texts of records are paragraphs."""
    return "\n\n".join(read_texts(path, field)) if has_records(path) else read_text(path)


def parse_json_line(line: Line, fields: RecordFields) -> Line:
    """Replaces a line's JSON object by its content; an empty line stays empty."""
    if line.problem or not line.text.strip():
        return line
    try:
        record = json.loads(line.text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        return line._replace(text="", problem=f"the line is not JSON: {error}")
    if not isinstance(record, dict):
        problem = f"the line is {_type_name(record)}; expected an object with '{fields.content}'"
        return line._replace(text="", problem=problem)
    return _record_line(record, line.size, fields)


def read_rows(
    path: str, fields: RecordFields, *, limit: int, first: int = 0, count: int | None = None
) -> Iterator[Line]:
    """Reads rows of a Parquet file, starting at the row `first`: `count` rows, or all."""
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        if fields.content not in names:
            raise ValueError(f"{path} has no column '{fields.content}'; choose one with --field: {', '.join(names)}")
        end = file.metadata.num_rows if count is None else first + count
        groups, row = _row_groups(file, first, end)
        columns = [name for name in (fields.content, fields.id) if name in names]
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=groups, columns=columns):
            rows = batch.slice(min(max(first - row, 0), batch.num_rows), end - max(first, row))
            row += batch.num_rows
            for record in rows.to_pylist() if first < row else ():
                yield _row_line(record, fields, limit)
            if row >= end:
                break


def read_csv(stream: Any, path: str, delimiter: str, fields: RecordFields, *, limit: int) -> Iterator[Line]:
    """Reads the rows of a CSV or TSV file, whose first row has the names of the columns."""
    csv.field_size_limit(max(limit, csv.field_size_limit()))
    with io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        rows = csv.DictReader(text, delimiter=delimiter)
        try:
            names = [name for name in rows.fieldnames or () if name]
            if fields.content not in names:
                listed = ", ".join(names)
                raise ValueError(f"{path} has no column '{fields.content}'; choose one with --field: {listed}")
            for row in rows:
                yield _row_line({name: row[name] for name in names}, fields, limit)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}:{rows.line_num + 1}: {error}; expected CSV in UTF-8") from error


def _row_line(record: Mapping[str, Any], fields: RecordFields, limit: int) -> Line:
    line = _record_line(record, 0, fields)
    size = len(line.text.encode())
    problem = f"a text of {size:,} bytes; the limit is {limit:,}, and --max-line-bytes raises it"
    return line._replace(size=size) if size <= limit else Line("", problem, size, id_json=line.id_json)


def open_parquet(path: str) -> Any:
    from treecrf.trees.tables import import_arrow

    return import_arrow("pyarrow.parquet", "reading Parquet").ParquetFile(path)


def _row_groups(file: Any, first: int, end: int) -> tuple[list[int], int]:
    """The row groups that contain the rows from `first` to `end`, and the number of the first row in them."""
    groups: list[int] = []
    start = row = 0
    for group in range(file.num_row_groups):
        group_start, row = row, row + file.metadata.row_group(group).num_rows
        if group_start < end and row > first:
            start = start if groups else group_start
            groups.append(group)
    return groups, start


def _record_line(record: Mapping[str, Any], size: int, fields: RecordFields) -> Line:
    record_id = record.get(fields.id)
    try:
        value = json.dumps(record_id, default=str, allow_nan=False)
    except ValueError:
        return Line("", f"'{fields.id}' is {record_id!r:.200}, which JSON cannot write; expected finite numbers", size)
    id_json = "" if record_id is None else f"{json.dumps(fields.id)}: {value}"
    if fields.content not in record:
        names = ", ".join(record) or "none"
        problem = f"the record has no field '{fields.content}'; choose one of its fields with --field: {names:.200}"
        return Line("", problem, size, id_json=id_json)
    text, words, problem = _read_content(record[fields.content], fields)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        text, words, problem = "", (), f"'{fields.content}' has an unpaired surrogate, {text[error.start]!r}"
    try:
        tags, constraints = _read_conditions(record, fields)
    except (TypeError, ValueError) as error:
        return Line("", str(error), size, id_json=id_json)
    return Line(text, problem, size, words, id_json, tags, constraints)


def _read_conditions(record: Mapping[str, Any], fields: RecordFields) -> tuple[Any, Constraints | None]:
    """The tags of a record's words, and the constituents that its tree must and must not have."""
    given = {name: record[name] for name in ("require", "forbid") if record.get(name)}
    if given and not fields.has_words:
        raise ValueError("'require' and 'forbid' number words; give words with --tokens")
    tags = record.get("tags") if fields.has_tags else None
    if not (tags is None or (isinstance(tags, list) and all(isinstance(tag, str | None) for tag in tags))):
        raise ValueError("'tags' is not a list of tags and nulls")
    return tags, Constraints(**given) if given else None


def _read_content(content: Any, fields: RecordFields) -> tuple[str, Sequence[str], str]:
    """The text of a field, its words if it is a list, and the reason why it cannot be read."""
    if content is None:
        return "", (), ""
    if isinstance(content, str):
        return content.replace("\n", " ") if fields.has_words else content, (), ""
    if not fields.has_words or not isinstance(content, list):
        expected = "a string or a list of words" if fields.has_words else "a string (--tokens takes lists of words)"
        return "", (), f"'{fields.content}' is {_type_name(content)}; expected {expected}"
    for index, word in enumerate(content):
        if not isinstance(word, str) or not word:
            return "", (), f"'{fields.content}' has {_type_name(word)} at index {index}; expected a word"
    return " ".join(content), content, ""


def _type_name(value: object) -> str:
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    names = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null" if value is None else f"of type {type(value).__name__}")
