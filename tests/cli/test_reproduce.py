import pytest

from reproduce.bank import TINY, make_bank
from treecrf.cli import main
from treecrf.reproduce.plan import Plan, Treebank
from treecrf.reproduce.worker import work


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *map(str, arguments)])
    return stopped.value.code


def test_a_report_is_made_of_what_is_finished(tmp_path, capsys):
    bank, out = make_bank(tmp_path / "bank"), tmp_path / "out"
    plan = Plan(treebank=Treebank.find(bank), out=out, tables=("test",), seeds=(1,), epochs=1, settings=TINY)
    plan.write()
    for each in plan.runs():
        work(plan.recipe(each), each.folder, "cpu")
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
def test_what_cannot_be_is_said_before_anything_runs(tmp_path, options, message):
    bank = make_bank(tmp_path / "bank")
    assert message in run(bank, "-o", tmp_path / "out", *options)
    assert not list((tmp_path / "out").glob("runs/*/*"))


def test_a_folder_that_is_no_treebank_is_named(tmp_path):
    assert "has no train.mrg" in run(tmp_path, "-o", tmp_path / "out")
