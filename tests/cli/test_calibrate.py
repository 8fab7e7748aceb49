import json

import pytest

from small import FIFTY, random_parser
from treecrf import Parser, read_trees
from treecrf.cli import main
from treecrf.parser.storage import load_parser_state

TREES = list(read_trees(FIFTY))


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["calibrate", *map(str, arguments)])
    return ended.value.code


def test_a_calibrated_model_is_saved_measured_and_plotted(tmp_path, capsys):
    random_parser(TREES).save(tmp_path / "raw")
    (tmp_path / "raw" / "recipe.toml").write_text("# a recipe\n")
    out, picture = tmp_path / "calibrated", tmp_path / "reliability.svg"
    assert not run(tmp_path / "raw", FIFTY, "--test", FIFTY, "-o", out, "--plot", picture, "--device", "cpu")
    record = json.loads((out / "calibration.json").read_text())
    assert record["after"]["labelled"]["error"] < record["before"]["labelled"]["error"]
    assert load_parser_state(out).config.calibration == tuple(record["beta"].values())
    assert (out / "recipe.toml").read_text() == "# a recipe\n"
    assert picture.read_text().count("before") >= 3 and picture.stat().st_size < 100_000
    assert "constituents, labeled" in capsys.readouterr().out
    words = TREES[3].words
    old, new = (Parser.load(folder, "cpu").crf(words).scores for folder in (tmp_path / "raw", out))
    assert new[0, 0, 2] == pytest.approx(old[0, 0, 2].item() / record["temperatures"]["spans"], rel=1e-4)


def test_without_a_folder_nothing_is_saved(tmp_path, capsys):
    random_parser(TREES).save(tmp_path / "raw")
    assert not run(tmp_path / "raw", FIFTY, "--device", "cpu")
    assert "the same sentences" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_an_unknown_plot_format_is_an_error(tmp_path):
    random_parser(TREES).save(tmp_path / "raw")
    assert "cannot draw" in run(tmp_path / "raw", FIFTY, "--plot", tmp_path / "picture.odd", "--device", "cpu")
