"""Arrow tables and Parquet files; they need pyarrow."""

from importlib import import_module
from pathlib import Path
from typing import Any

from treecrf.trees.tables.rows import COLUMNS, RowKind

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
