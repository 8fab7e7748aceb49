import pytest

from training.reproduce.tiny_treebank import TINY, make_treebank
from treecrf.cli import main
from treecrf.training.reproduce.plan import Plan, Treebank
from treecrf.training.reproduce.worker import train_and_parse


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *map(str, arguments)])
    return ended.value.code


def test_a_report_on_finished_runs_is_written(tmp_path, capsys):
    bank, out = make_treebank(tmp_path / "bank"), tmp_path / "out"
    plan = Plan(treebank=Treebank.find(bank), out=out, tables=("test",), seeds=(1,), epochs=1, settings=TINY)
    plan.write()
    for each in plan.runs():
        train_and_parse(plan.recipe(each), each.folder, "cpu")
    settings = [argument for setting in TINY for argument in ("--set", setting)]
    assert run(bank, "-o", out, "--tables", "test", "--seeds", "1", "--epochs", "1", "--report-only", *settings) == 0
    assert str(out / "report.md") in capsys.readouterr().out
    assert "random word vectors" in (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--jobs", "0"], "--jobs is 0"),
        (["--epochs", "0"], "--epochs is 0"),
        (["--seeds", "one"], "whole numbers"),
        (["--tables", "devs"], "no table 'devs'"),
        (["--vectors", "nowhere.txt"], "no file nowhere.txt"),
        (["--set", "train.epoch=2"], "did you mean 'train.epochs'"),
    ],
)
def test_invalid_options_are_errors_before_any_run(tmp_path, options, message):
    bank = make_treebank(tmp_path / "bank")
    assert message in run(bank, "-o", tmp_path / "out", *options)
    assert not list((tmp_path / "out").glob("runs/*/*"))


def test_a_folder_without_a_treebank_is_an_error(tmp_path):
    assert "has no train.mrg" in run(tmp_path, "-o", tmp_path / "out")
