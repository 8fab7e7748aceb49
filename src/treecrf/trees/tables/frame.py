"""Arrow tables, Parquet files, and frames of pandas and polars; they need pyarrow."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from treecrf.trees.analysis import Analysis, ParsedSentence
from treecrf.trees.search.heads import COLLINS, HeadRules
from treecrf.trees.tables.rows import COLUMNS, Position, Row, RowKind, table_rows
from treecrf.trees.tree import Tree

_ROWS_PER_GROUP = 1 << 17


def import_arrow(name: str, purpose: str) -> Any:
    """Imports a module of pyarrow, or says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs pyarrow: pip install 'treecrf[tables]'") from error


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
    offsets: list[tuple[int, int]] = []
    end = -1
    for word in tree.words:
        start = end + 1
        end = start + len(word)
        offsets.append((start, end))
    return ParsedSentence(tree, offsets, analysis, " ".join(tree.words))


def _convert(table: Any, library: Library) -> Any:
    if library == "arrow":
        return table
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"library={library!r} needs {library}: pip install {library}") from error
    return table.to_pandas() if library == "pandas" else module.from_arrow(table)
