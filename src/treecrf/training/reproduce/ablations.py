"""The rows of the paper's tables and of our own, which `rows.toml` lists.

A row is trained with its settings on top of the treebank's. A row that differs only in decoding, or that is in
two tables, shares the runs of another row.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from treecrf.config import tomllib

MAIN = "two-stage"
DEFAULT_TABLES = ("dev", "remarks", "test")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table."""

    name: str
    title: str
    settings: tuple[str, ...] = ()  # may contain {vectors}, {unknown} and {encoder}, which the plan fills in
    shares_runs_with: str = ""  # the row whose runs are used, if this row is not trained
    mbr: bool = True
    needs: Literal["", "vectors", "encoder"] = ""
    train_share: float = 1.0  # share of the training trees

    @property
    def trained_name(self) -> str:
        """The name of the row whose runs are used."""
        return self.shares_runs_with or self.name


_DATA = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))
BY_NAME = {
    name: Row(name=name, **(row | {"settings": tuple(row.get("settings", ()))})) for name, row in _DATA["rows"].items()
}
TABLES: dict[str, tuple[Row, ...]] = {  # the rows whose runs a table needs
    table: tuple(BY_NAME[name] for name in names) for table, names in _DATA["tables"].items()
}
VARIANTS = tuple(row for row in TABLES["analysis"] if not row.name.startswith("share-"))
LEARNING_CURVE = TABLES["analysis"][len(VARIANTS) :]
