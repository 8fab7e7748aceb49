from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.training.cross_validation import assign_folds


@given(trees=st.integers(60, 3000), folds=st.integers(2, 10), seed=st.integers(0, 5))
def test_folds_are_equal_up_to_a_run_and_keep_neighbors_together(trees: int, folds: int, seed: int) -> None:
    assigned = assign_folds(trees, folds, seed=seed)
    sizes, run = Counter(assigned), min(20, trees // 50)
    assert len(assigned) == trees and set(sizes) == set(range(folds))
    assert max(sizes.values()) - min(sizes.values()) <= 2 * run
    assert all(len(set(assigned[start : start + run])) == 1 for start in range(0, trees, run))


def test_folds_differ_by_seed() -> None:
    assert assign_folds(300, 5, seed=1) != assign_folds(300, 5, seed=2)


def test_too_few_trees_are_an_error() -> None:
    with pytest.raises(ValueError, match="3 trees are too few for 5 folds"):
        assign_folds(3, 5, seed=1)
