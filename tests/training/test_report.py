"""Tests of the report on a training run."""

from dataclasses import replace
from pathlib import Path

import pytest

from small import FIFTY, small_recipe
from treecrf.parser import Parser
from treecrf.training import fit
from treecrf.training.report import REPORT, RunFigures, advise, expected_gain, write_report
from treecrf.trees.bootstrap import Interval


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    fit(small_recipe(data={"test": (FIFTY,)}, model={"tag_head": True}, epochs=2), folder, device="cpu")
    return folder


def test_a_report_has_scores_curve_errors_and_advice(run_folder: Path) -> None:
    dev, test, *advice = write_report(run_folder, device="cpu", learning_curve={10: 40.0, 20: 60.0})
    assert dev.startswith("dev: F ") and test.startswith("test: F ") and "95% interval" in test
    assert advice
    text = (run_folder / REPORT).read_text(encoding="utf-8")
    for part in ("| dev | 50 |", "| test | 50 |", "epoch   dev F", " best", "- missed ", "- wrong ", "| 20 | 60.00 |"):
        assert part in text
    assert all(f"- {sentence}\n" in text for sentence in advice)


def test_a_report_on_a_parser_without_a_tagger_gives_no_tagging_accuracy(run_folder: Path, tmp_path: Path) -> None:
    fit(small_recipe(epochs=1), tmp_path, device="cpu")
    write_report(tmp_path, device="cpu")
    (row,) = (line for line in (tmp_path / REPORT).read_text(encoding="utf-8").splitlines() if "| dev |" in line)
    assert row.endswith("| gold tags |")
    write_report(run_folder, device="cpu")
    assert "gold tags |" not in (run_folder / REPORT).read_text(encoding="utf-8")


def test_a_report_parses_the_test_set_only_without_its_predicted_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = fit(small_recipe(data={"test": (FIFTY,)}, epochs=1), tmp_path, device="cpu")
    parsed: list[int] = []
    parse_many = Parser.parse_many

    def counting_parse_many(self: Parser, sentences: list[list[str]], **options: object) -> object:
        parsed.append(len(sentences))
        return parse_many(self, sentences, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Parser, "parse_many", counting_parse_many)
    write_report(tmp_path, device="cpu")
    parsing_twice, text = len(parsed), (tmp_path / REPORT).read_text(encoding="utf-8")
    write_report(tmp_path, device="cpu", test_trees=result.test_trees)
    assert (parsing_twice, len(parsed)) == (2, 3)
    assert (tmp_path / REPORT).read_text(encoding="utf-8") == text


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
