import pytest
from jinja2 import UndefinedError

from treecrf.training.markdown import render

NO_RUNS = {
    "facts": dict.fromkeys(
        ("treebank", "paper", "rules", "version", "commit", "torch", "command", "vectors", "encoder"), ""
    )
    | {"sentences": {}, "seeds": [1], "devices": [], "settings": [], "runs_at_epoch_limit": [], "finished_runs": 0},
    "left_out": [],
    "kinds": {},
}


def test_cells_escape_the_borders_of_their_table():
    line = {"name": "a|b", "note": "not installed", "paper": None, "parts": {}}
    text = render(
        "reproduce.md", tables={"speed": {"lines": [line], "chart": {"inside": 2.0, "backward": 3.0}}}, **NO_RUNS
    )
    assert "\n| a\\|b | not installed |  |\n" in text and "1.50 times as long" in text and text.endswith(".\n")


def test_a_missing_value_is_an_error():
    with pytest.raises(UndefinedError, match="tables"):
        render("reproduce.md", **NO_RUNS)
