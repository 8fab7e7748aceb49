"""The parts of labels and of empty elements."""

import pytest

from treecrf.trees.notation import LabelParts, split_label


@pytest.mark.parametrize(
    ("label", "category", "functions", "index", "gap"),
    [
        ("NP", "NP", (), None, None),
        ("NP-SBJ-1", "NP", ("SBJ",), 1, None),
        ("PP-LOC-PRD-2", "PP", ("LOC", "PRD"), 2, None),
        ("NP-SBJ-1=2", "NP", ("SBJ",), 1, 2),
        ("NP=3", "NP", (), None, 3),
        ("*T*-12", "*T*", (), 12, None),
        ("*", "*", (), None, None),
        ("*-1", "*", (), 1, None),
        ("0", "0", (), None, None),
        ("*con*-D", "*con*", ("D",), None, None),
        ("-LRB-", "-LRB", (), None, None),
        ("", "", (), None, None),
        ("-", "-", (), None, None),
        ("=1", "=1", (), None, None),
        ("NP-" + "9" * 5000, "NP", (), None, None),
    ],
)
def test_a_label_has_a_category_functions_and_indices(label, category, functions, index, gap):
    assert split_label(label) == LabelParts(category, functions, index, gap)
