import sys

import pytest

from treecrf.trees.tables import COLUMNS, csv_text
from treecrf.trees.tables.arrow import arrow_schema, csv_to_parquet

parquet = pytest.importorskip("pyarrow.parquet")
ROW = ("d", None, 1, 2, 0, 3, "NP", 1, "cat", 0, 7, 'the "big"\ncat', 0.5, None)


def test_parquet_keeps_types_missing_values_and_line_breaks(tmp_path):
    (tmp_path / "rows.csv").write_text(csv_text([COLUMNS["constituents"], ROW]) + "\n")
    csv_to_parquet(tmp_path / "rows.csv", tmp_path / "rows.parquet", "constituents")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert table.schema.equals(arrow_schema("constituents"))
    assert tuple(table.to_pylist()[0].values()) == ROW


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"a table needs pyarrow: pip install 'treecrf\[tables\]'"):
        arrow_schema("sentences")
