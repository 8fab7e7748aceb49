import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treecrf import Tree
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb import evaluate
from treecrf.trees.evalb.bootstrap import compare, compare_runs, intervals
from trees.evalb.pairs import pairs

GOLD = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NNS mice)))))")
WORSE = Tree.parse("(TOP (S (NP (DT the)) (VP (NN cat) (VBD saw) (NP (NNS mice)))))")
MIXED = evaluate([GOLD] * 60, [GOLD, WORSE, GOLD] * 20)


@settings(max_examples=20)
@given(st.lists(pairs(), min_size=1, max_size=5))
def test_intervals_are_percentages_in_order(samples):
    for low, high in intervals(evaluate(*zip(*samples, strict=True)), resamples=50).values():
        assert 0 <= low <= high <= 100


def test_intervals_contain_the_score():
    result = intervals(MIXED, resamples=500)
    assert result["f1"].low < MIXED.f1 < result["f1"].high
    assert result["complete_match"].low < MIXED.all.complete_match < result["complete_match"].high
    assert result["tagging_accuracy"] == Interval(100.0, 100.0)


def test_the_interval_of_a_difference_does_not_grow_with_the_samples():
    few, many = (compare(evaluate([GOLD] * 60, [GOLD] * 60), MIXED, resamples=count).interval for count in (200, 5000))
    assert many.high - many.low == pytest.approx(few.high - few.low, rel=0.2)


def test_equal_sentences_give_intervals_of_width_zero():
    score = evaluate([GOLD] * 5, [WORSE] * 5)
    assert intervals(score, resamples=50)["f1"] == pytest.approx((score.f1, score.f1))


def test_the_seed_determines_the_intervals():
    assert intervals(MIXED, resamples=50, seed=3) == intervals(MIXED, resamples=50, seed=3)
    assert intervals(MIXED, resamples=50, seed=3) != intervals(MIXED, resamples=50, seed=4)


def test_without_a_seed_it_is_zero():
    other = evaluate([GOLD] * 60, [GOLD, GOLD, WORSE, WORSE] * 15)
    assert intervals(MIXED, resamples=50) == intervals(MIXED, resamples=50, seed=0)
    assert compare(MIXED, other, resamples=50) == compare(MIXED, other, resamples=50, seed=0)
    pair = [MIXED, other], [other, other]
    assert compare_runs(*pair, resamples=50) == compare_runs(*pair, resamples=50, seed=0)


def test_more_sentences_give_narrower_intervals():
    wide = intervals(MIXED, resamples=500)["f1"]
    narrow = intervals(evaluate([GOLD] * 960, [GOLD, WORSE, GOLD] * 320), resamples=500)["f1"]
    assert (narrow.high - narrow.low) == pytest.approx((wide.high - wide.low) / 4, rel=0.3)


def test_without_a_valid_sentence_there_are_no_intervals():
    assert intervals(evaluate([GOLD], [None])) == {}


def test_a_system_does_not_differ_from_itself():
    result = compare(MIXED, MIXED, resamples=50)
    assert (result.difference, result.interval, result.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_a_clear_difference_is_significant_and_has_the_sign_of_the_better_system():
    better = compare(evaluate([GOLD] * 60, [GOLD] * 60), MIXED, resamples=999)
    assert better.difference > 0
    assert better.interval.low > 0
    assert better.p_value == 0.001
    worse = compare(MIXED, evaluate([GOLD] * 60, [GOLD] * 60), resamples=999)
    assert worse.difference == -better.difference
    assert worse.p_value == better.p_value


def test_a_difference_in_one_sentence_of_many_is_not_significant():
    nearly = evaluate([GOLD] * 60, [GOLD] * 59 + [WORSE])
    assert compare(nearly, evaluate([GOLD] * 60, [GOLD] * 60), resamples=999).p_value > 0.2


def test_scores_of_different_sentences_cannot_be_compared():
    with pytest.raises(ValueError, match="60 and 1 sentences"):
        compare(MIXED, evaluate([GOLD], [GOLD]))


PERFECT = evaluate([GOLD] * 60, [GOLD] * 60)


def test_several_runs_are_compared_by_their_means():
    found = compare_runs([MIXED, PERFECT], [MIXED, MIXED], resamples=99)
    assert found.f1 == pytest.approx((MIXED.f1 + 100) / 2) and found.other_f1 == pytest.approx(MIXED.f1)
    assert sum(found.interval) / 2 == pytest.approx(found.difference)


def test_a_difference_that_only_some_seeds_have_is_not_significant():
    consistent = compare_runs([PERFECT] * 3, [MIXED] * 3)
    assert consistent.p_value < 0.01 and consistent.interval.low > 0
    by_chance = compare_runs([PERFECT, MIXED, MIXED], [MIXED] * 3)
    assert by_chance.p_value > 0.05 and by_chance.interval.low < 0 < by_chance.difference
    more_seeds = compare_runs([PERFECT, MIXED, MIXED] * 5, [MIXED] * 15)
    assert more_seeds.p_value < 0.05


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(0, 20), st.integers(0, 1000))
def test_the_interval_excludes_zero_exactly_if_the_difference_is_significant(runs, wrong, seed):
    others = [
        evaluate([GOLD] * 60, [WORSE] * min(60, wrong * run) + [GOLD] * (60 - min(60, wrong * run)))
        for run in range(runs)
    ]
    found = compare_runs([MIXED] * runs, others, resamples=199, seed=seed)
    assert (found.interval.low > 0 or found.interval.high < 0) == (found.p_value <= 0.05)


def test_runs_of_different_sentences_cannot_be_compared():
    with pytest.raises(ValueError, match="same gold trees"):
        compare_runs([MIXED, evaluate([GOLD], [GOLD])], [MIXED, MIXED])
    with pytest.raises(ValueError, match="one or more"):
        compare_runs([], [MIXED])
