from pathlib import Path

import pytest

from treecrf.cli import main
from treecrf.training.metrics_log import NAME, MetricsLog

pytest.importorskip("matplotlib")


def make_run(folder: Path, scores: list[float]) -> Path:
    folder.mkdir()
    log = MetricsLog(folder / NAME)
    log.write({"event": "start", "step": 0})
    for epoch, score in enumerate(scores, 1):
        log.write({"event": "epoch", "epoch": epoch, "step": 7 * epoch, "loss": 1 / epoch, "dev_f": score})
    return folder


def plot(*args: str | Path) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["plot", *map(str, args)])
    return ended.value.code


def test_runs_are_plotted_with_their_best_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [make_run(tmp_path / "one", [50.0, 71.25, 70.0]), make_run(tmp_path / "two", [60.0, 61.5])]
    assert not plot(*runs, "-o", tmp_path / "curves.svg", "--by", "step")
    figure = (tmp_path / "curves.svg").read_text()
    assert "71.25" in figure and "61.50" in figure and str(runs[1]) in figure  # matplotlib writes texts as comments
    assert "2 runs drawn" in capsys.readouterr().out


def test_a_png_is_plotted_from_a_metrics_file(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one", [50.0])
    assert not plot(run / NAME, "-o", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("scores", "output", "message"),
    [([], "a.svg", "has no finished epoch"), ([1.0], "a.xyz", "cannot draw .*a.xyz: Format 'xyz' is not supported")],
)
def test_missing_epochs_and_unknown_formats_are_errors(
    tmp_path: Path, scores: list[float], output: str, message: str
) -> None:
    run = make_run(tmp_path / "one", scores)
    code = plot(run, "-o", tmp_path / output)
    assert isinstance(code, str)
    with pytest.raises(ValueError, match=message):
        raise ValueError(code)


def test_a_missing_run_is_named(tmp_path: Path) -> None:
    assert "nowhere" in str(plot(tmp_path / "nowhere"))
