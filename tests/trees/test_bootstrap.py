import numpy as np
import pytest

from treecrf.trees.bootstrap import percentile_interval, resampled_totals

COUNTS = np.array([[1.0, 10.0], [1.0, 20.0], [1.0, 60.0]])


@pytest.mark.parametrize("multinomial", [False, True])
def test_every_resample_has_as_many_sentences_as_the_text(multinomial):
    totals = resampled_totals(COUNTS, 4000, seed=1, multinomial=multinomial)
    assert (totals[:, 0] == 3).all()
    assert totals[:, 1].mean() == pytest.approx(90, rel=0.02)
    assert totals[:, 1].std() == pytest.approx(np.sqrt(3) * COUNTS[:, 1].std(), rel=0.05)
    assert {totals[:, 1].min(), totals[:, 1].max()} == {30.0, 180.0}


@pytest.mark.parametrize("multinomial", [False, True])
def test_the_seed_determines_the_totals(multinomial):
    first, second, other = (resampled_totals(COUNTS, 9, seed=seed, multinomial=multinomial) for seed in (1, 1, 2))
    assert (first == second).all() and (first != other).any()


def test_each_sentence_is_drawn_by_itself_unless_asked_otherwise():
    totals = resampled_totals(COUNTS, 9, seed=1)
    assert (totals == resampled_totals(COUNTS, 9, seed=1, multinomial=False)).all()
    assert (totals != resampled_totals(COUNTS, 9, seed=1, multinomial=True)).any()


def test_long_texts_are_drawn_in_blocks_of_equal_numbers(monkeypatch):
    whole = resampled_totals(COUNTS, 10, seed=3, multinomial=True)
    monkeypatch.setattr("treecrf.trees.bootstrap._BLOCK", 12)
    assert (resampled_totals(COUNTS, 10, seed=3, multinomial=True) == whole).all()


@pytest.mark.parametrize("multinomial", [False, True])
def test_no_sentences_have_totals_of_zero(multinomial):
    assert (resampled_totals(np.zeros((0, 2)), 5, seed=0, multinomial=multinomial) == np.zeros((5, 2))).all()


def test_an_interval_has_the_middle_95_percent():
    assert percentile_interval(np.arange(1001.0)) == (25.0, 975.0)
