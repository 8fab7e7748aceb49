import json

import pytest

from small import FIFTY, random_parser
from treecrf import Parser, read_trees
from treecrf.cli import main
from treecrf.parser.storage import load_parser_state, save_parser_state

TREES = list(read_trees(FIFTY))


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["calibrate", *map(str, arguments)])
    return ended.value.code


def test_a_calibrated_model_is_saved_measured_and_plotted(tmp_path, capsys):
    random_parser(TREES).save(tmp_path / "raw")
    recipe = '[data]\ntrain = ["a"]\ndev = ["b"]\n'
    (tmp_path / "raw" / "recipe.toml").write_text(recipe)
    out, picture = tmp_path / "calibrated", tmp_path / "reliability.svg"
    assert not run(tmp_path / "raw", FIFTY, "--test", FIFTY, "-o", out, "--plot", picture, "--device", "cpu")
    record = json.loads((out / "calibration.json").read_text())
    assert record["after"]["labeled"]["error"] < record["before"]["labeled"]["error"]
    config = load_parser_state(out).config
    assert config.calibration == tuple(record["beta"].values())
    assert config.tree_calibration == tuple(record["trees"].values()) != (1.0, 1.0, 0.0, 0.0)
    assert (out / "recipe.toml").read_text() == recipe
    assert picture.read_text().count("before") >= 3 and picture.stat().st_size < 100_000
    output = capsys.readouterr().out
    assert "constituents, labeled" in output and "\ncalibration of trees: a " in output
    assert output.count("| samples/fifty | 50 |") == 1 and "| samples/fifty | " in output.partition("kept")[2]
    words = TREES[3].words
    old, new = (Parser.load(folder, "cpu").crf(words).scores for folder in (tmp_path / "raw", out))
    assert new[0, 0, 2] == pytest.approx(old[0, 0, 2].item() / record["temperatures"]["spans"], rel=1e-4)


def test_every_test_file_has_a_row_with_its_own_name(tmp_path, capsys):
    random_parser(TREES).save(tmp_path / "raw")
    tests = [tmp_path / name for name in ("web/test.mrg", "a/x/test.mrg", "b/x/test.mrg")]
    tests += [tmp_path / "web" / name for name in ("test.news.mrg", "test.mail.mrg")]
    options = ["--only-measure", "--device", "cpu"]
    for number, path in enumerate(tests, 2):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{tree}\n" for tree in TREES[:number]))
        options += ["--test", path]
    assert not run(tmp_path / "raw", FIFTY, *options)
    rows = capsys.readouterr().out
    for name, count in (("web/test", 2), (tests[1], 3), (tests[2], 4), ("web/test.news", 5), ("web/test.mail", 6)):
        assert f"| {name} | {count} |" in rows
    assert "| all | 20 |" in rows


def test_without_a_folder_nothing_is_saved(tmp_path, capsys):
    random_parser(TREES).save(tmp_path / "raw")
    assert not run(tmp_path / "raw", FIFTY, "--limit", "20", "--device", "cpu")
    output = capsys.readouterr().out
    assert "the same sentences" in output and "fitted on 20 sentences" in output
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_an_unknown_plot_format_is_an_error(tmp_path):
    random_parser(TREES).save(tmp_path / "raw")
    assert "cannot draw" in run(tmp_path / "raw", FIFTY, "--plot", tmp_path / "picture.odd", "--device", "cpu")


def test_a_packed_model_keeps_its_weights(tmp_path, capsys):
    random_parser(TREES, lstm_size=64).save(tmp_path / "raw")
    save_parser_state(tmp_path / "packed", load_parser_state(tmp_path / "raw"), weight_step=0.0)
    weights = (tmp_path / "packed" / "model.safetensors").read_bytes()
    assert not run(tmp_path / "packed", FIFTY, "--keep-weights", "-o", tmp_path / "packed", "--device", "cpu")
    assert (tmp_path / "packed" / "model.safetensors").read_bytes() == weights
    assert "temperatures: spans 1.000, labels 1.000" in capsys.readouterr().out
    config = load_parser_state(tmp_path / "packed").config
    assert config.tree_calibration != (1.0, 1.0, 0.0, 0.0)
    assert not run(tmp_path / "packed", FIFTY, "--only-measure", "--device", "cpu")
    assert "before" not in capsys.readouterr().out
    assert load_parser_state(tmp_path / "packed").config == config


def test_the_threshold_has_the_rules_of_the_training_run(tmp_path, capsys):
    random_parser(TREES).save(tmp_path / "raw")
    (tmp_path / "raw" / "recipe.toml").write_text('[data]\ntrain = ["a"]\ndev = ["b"]\nrules = "own.prm"\n')
    (tmp_path / "raw" / "rules.prm").write_text("DELETE_LABEL TOP\nDELETE_LABEL NP\n")
    thresholds = []
    for arguments in ([], ["--rules", "collins"]):
        assert not run(tmp_path / "raw", FIFTY, *arguments, "--device", "cpu", "--keep-weights")
        thresholds.append(capsys.readouterr().out.partition("F1 threshold: ")[2][:5])
    assert thresholds[0] != thresholds[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only-measure", "-o", "x"], "calibrates nothing"),
        (["--target-precision", "97"], "between 0 and 1"),
        (["--limit", "0"], "1 or more"),
    ],
)
def test_contradictory_options_are_errors(tmp_path, arguments, message):
    assert message in run("en", FIFTY, *arguments)
