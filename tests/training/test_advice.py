"""Tests of the advice after a training run."""

from dataclasses import replace

import pytest

from treecrf.training.advice import RunFigures, advise, expected_gain
from treecrf.trees.bootstrap import Interval

FIGURES = RunFigures(
    trees=20_000,
    interval=Interval(89.5, 90.5),
    scored_part="test",
    unknown_word_share=0.01,
    has_pretrained_words=False,
    best_epoch=5,
    epochs=10,
    learning_curve={},
)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"trees": 240}, "More trees: 240 are few"),
        ({"learning_curve": {100: 60.0, 200: 80.0}}, "twice as many would add about 10.0 points"),
        ({"learning_curve": {100: 80.0, 200: 80.1}}, "would add only about 0.1 points"),
        ({"unknown_word_share": 0.25}, "25% of the words of dev do not occur in train"),
        ({"best_epoch": 10}, "The best epoch was 10 of 10"),
        ({"interval": Interval(80.0, 95.0)}, "The 95% interval on test is 15.0 points wide"),
    ],
)
def test_advice_follows_from_the_figures(change: dict[str, object], sentence: str) -> None:
    assert advise(FIGURES) == []
    (advice,) = advise(replace(FIGURES, **change))  # type: ignore[arg-type]
    assert sentence in advice


def test_a_parser_with_pretrained_words_needs_no_others() -> None:
    assert advise(replace(FIGURES, unknown_word_share=0.25, has_pretrained_words=True)) == []


def test_the_expected_gain_follows_a_power_law() -> None:
    errors = {trees: 100 * trees**-0.3 for trees in (50, 100, 200)}
    curve = {trees: 100 - error for trees, error in errors.items()}
    gain = errors[200] - 100 * 400**-0.3
    assert expected_gain(curve) == pytest.approx(gain)
    assert expected_gain({50: 60.0}) is None
