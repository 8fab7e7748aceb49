"""Tables of trees: one row per constituent or per sentence, as CSV, Parquet, and frames of pandas and polars."""

from treecrf.tables.frame import trees_to_frame
from treecrf.tables.rows import COLUMNS, Position, Row, RowKind, csv_text, table_rows

__all__ = ["COLUMNS", "Position", "Row", "RowKind", "csv_text", "table_rows", "trees_to_frame"]
