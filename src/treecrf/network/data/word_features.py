"""The features of distinct words: columns of numbers with a row for each word, to which rows are added."""

from collections.abc import Mapping

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.batch import BOS, EOS, PAD


class WordFeatures:
    """Columns by the name of a feature, with `count` rows of words."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, Ints] = {}

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns.values())

    def append(self, features: Mapping[str, Ints]) -> None:
        """Adds the rows of further words."""
        for name, values in features.items():
            self._columns[name] = _append_rows(self._columns.get(name), self.count, values)
        self.count += len(features["words"])

    def select(self, rows: Ints) -> dict[str, Ints]:
        """The features of these words; start, end and padding come last."""
        features = {name: column[rows] for name, column in self._columns.items()}
        special = _special_features(features)
        return {name: np.concatenate([column, special[name]]) for name, column in features.items()}


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows in the order in which they first occur, and the index of each row among them.

    The order of the row numbers would depend on the words of earlier batches, and a batch must not depend on them.
    """
    places = np.arange(len(rows))
    first_places = np.empty(rows.max() + 1, dtype=np.int64)  # by row number
    first_places[rows[::-1]] = places[::-1]
    origins = first_places[rows]
    is_first = origins == places
    return rows[is_first], (np.cumsum(is_first) - 1)[origins]


def _special_features(features: Mapping[str, Ints]) -> dict[str, Ints]:
    """The features of start, end and padding: one special character, and no piece, as segments add their own."""
    special = {name: np.zeros((3, *column.shape[1:]), np.int64) for name, column in features.items()}
    for name in special.keys() & {"words", "vectors"}:
        special[name][:] = [BOS, EOS, PAD]
    if "chars" in special:
        special["chars"][:2, 0] = [BOS, EOS]
        special["char_lengths"][:2] = 1
    return special


def _append_rows(column: Ints | None, used: int, values: Ints) -> Ints:
    """Writes values after the first `used` rows of a column; capacity doubles, so appending takes linear time."""
    if column is None or used + len(values) > len(column):
        larger = np.zeros((2 * (used + len(values)), *values.shape[1:]), dtype=np.int64)
        if column is not None:
            larger[:used] = column[:used]
        column = larger
    column[used : used + len(values)] = values
    return column
