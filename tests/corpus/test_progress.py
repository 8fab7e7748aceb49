import sys

import pytest

from treecrf.corpus.progress import ProgressBar


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("treecrf.corpus.progress.time.monotonic", lambda: now[0])
    return now


def test_the_progress_has_a_count_a_speed_and_the_time_left(clock: list[float]) -> None:
    bar = ProgressBar(1000, unit="sentences")
    assert bar.text() == "0 sentences, 0.0 sentences/s, 0 s"
    clock[0] += 4
    bar.add(1200, 200)
    assert bar.text() == "1,200 sentences, 300 sentences/s, 0:00:16 left"
    bar.set(10, 1000)
    assert bar.text() == "10 sentences, 2.5 sentences/s, 0:00:00 left"


def test_work_of_an_earlier_run_does_not_count_as_fast_work(clock: list[float]) -> None:
    bar = ProgressBar(1000, unit="lines")
    bar.add(0, 500)
    clock[0] += 10
    bar.add(20, 100)
    assert bar.text() == "20 lines, 2.0 lines/s, 0:00:40 left"


def test_the_time_left_follows_from_the_first_unit_of_work(clock: list[float]) -> None:
    bar = ProgressBar(10, unit="lines")
    clock[0] += 1
    bar.add(1, 1)
    assert bar.text().endswith("0:00:09 left")
    bar.add(1, 20)  # more work than was estimated
    assert bar.text().endswith("0:00:00 left")


def test_without_a_total_the_time_is_shown(clock: list[float]) -> None:
    bar = ProgressBar(None, unit="lines")
    clock[0] += 2000
    bar.add(100_000, 1)
    assert bar.text() == "100,000 lines, 50 lines/s, 2,000 s"


def test_messages_are_above_the_bar_of_a_terminal(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressBar(10, unit="lines") as bar:
        bar.print_message(print, "no terminal")
    assert capsys.readouterr() == ("no terminal\n", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressBar(10, unit="lines") as bar:
        bar.add(3, 3)
        assert "3 lines" not in capsys.readouterr().err  # refreshed once a second
        clock[0] += 1
        bar.add(1, 2)
        assert " 50% " in (shown := capsys.readouterr().err) and "4 lines, 4.0 lines/s" in shown
        bar.print_message(print, "a message")
        bar.add(5, 50)
    output, shown = capsys.readouterr()
    assert output == "a message\n" and "100% " in shown and "9 lines" in shown
    with ProgressBar(10, unit="lines", is_shown=False) as bar:
        bar.add(10, 10)
    assert capsys.readouterr().err == ""
