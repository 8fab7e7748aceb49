"""Tables of trees: one row per constituent or per sentence, as CSV, Parquet, and frames of pandas and polars."""

from treecrf.trees.tables.frame import trees_to_frame
from treecrf.trees.tables.rows import COLUMNS, Position, Row, RowKind, csv_text, table_rows

__all__ = ["COLUMNS", "Position", "Row", "RowKind", "csv_text", "table_rows", "trees_to_frame"]
