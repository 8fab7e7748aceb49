import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from small import FIFTY, random_parser, small_recipe
from toygrammar import toy_trees, write_trees
from treecrf.cli import main
from treecrf.config import to_toml
from treecrf.parser import Parser
from treecrf.parser.decoding.calibration import BetaCalibration
from treecrf.parser.storage import WEIGHTS
from treecrf.training.metrics_log import NAME, read_metrics
from treecrf.trees.treebank import read_trees

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
TREECRF = [sys.executable, "-m", "treecrf"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(to_toml(small_recipe(epochs=4, checkpoint_steps=5)))
    return path


def run(*command: object, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        list(map(str, command)), env=ENVIRONMENT, capture_output=True, text=True, timeout=120, **options
    )


def train(*args: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["train", *map(str, args)])
    return ended.value.code


def losses(folder: Path) -> list[float]:
    return [record["loss"] for record in read_metrics(folder / NAME) if record["event"] == "steps"]


def test_a_recipe_is_trained_to_a_parser(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = train(recipe, "train.epochs=2", "-o", tmp_path / "run", f"data.test={FIFTY}", "--device", "cpu")
    out = capsys.readouterr().out
    assert code in (None, 0)
    assert "50 sentences to train on, 50 to choose by" in out
    assert len(re.findall(r"epoch +\d+  loss [\d.]+  dev P [\d.]+ R [\d.]+ F [\d.]+[* ]  [\d,]+ sentences/s", out)) == 2
    assert re.search(
        r"best on dev: epoch \d, F [\d.]+; saved in .*run\ncalibrated .*\ndev: F [\d.]+ .*\ntest: F [\d.]+ ", out
    )
    assert (tmp_path / "run" / "report.md").is_file()
    assert re.search(r"calibrated on dev: error of the probabilities of constituents there 0\.\d+\n", out)
    assert (tmp_path / "run" / "calibration.json").is_file()


def test_without_calibration_the_parser_is_the_best_epochs_one(recipe: Path, tmp_path: Path) -> None:
    for folder, options in {"plain": ["--no-calibration"], "calibrated": []}.items():
        train(recipe, "train.epochs=2", "-o", tmp_path / folder, "--device", "cpu", *options)
    plain, calibrated = (Parser.load(tmp_path / folder, "cpu") for folder in ("plain", "calibrated"))
    assert plain.calibration == BetaCalibration() != calibrated.calibration
    assert not (tmp_path / "plain" / "calibration.json").exists()
    weights = (tmp_path / "calibrated" / WEIGHTS).read_bytes()
    train(recipe, "train.epochs=2", "-o", tmp_path / "calibrated", "--device", "cpu", "--resume")
    assert (tmp_path / "calibrated" / WEIGHTS).read_bytes() == weights  # calibrated once


def test_every_tree_is_predicted_once_in_cross_validation(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [recipe, "train.epochs=1", "-o", tmp_path / "folds", "--folds", "3", "--device", "cpu"]
    assert train(*command) in (None, 0)
    out = capsys.readouterr().out
    assert re.search(r"mean of 3 folds: [\d.]+ \(standard deviation [\d.]+\)\nF over all 100 trees: ", out)
    gold, predicted = (list(read_trees(tmp_path / "folds" / name)) for name in ("trees.mrg", "predicted.mrg"))
    assert [tree.words for tree in gold] == [tree.words for tree in predicted]
    assert train(*command) in (None, 0)  # continues, and has nothing left to train
    assert capsys.readouterr().out.splitlines()[-3:] == out.splitlines()[-3:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", "2"], "--folds is 2; expected 3 or more"),
        (["--folds", "3", "--learning-curve"], "choose one"),
        (["--folds", "90"], "100 trees are too few for 90 folds; choose fewer folds or add trees"),
    ],
)
def test_mistaken_folds_are_an_error(recipe: Path, tmp_path: Path, options: list[str], message: str) -> None:
    assert message in str(train(recipe, "-o", tmp_path / "run", *options))


def test_a_folder_of_parts_is_trained_with_a_learning_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.mrg").write_bytes(Path(FIFTY).read_bytes())
    sizes = [f"model.{name}_size=16" for name in ("lstm", "span", "label")]
    code = train(tmp_path, "train.epochs=1", *sizes, "-o", tmp_path / "run", "--device", "cpu", "--learning-curve")
    out = capsys.readouterr().out
    assert code in (None, 0)
    assert out.startswith("50 trees to train on: settings for hundreds of trees\n")
    assert "learning curve: 25 trees, 50% of all\n" in out
    assert "| 50 |" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["train.epoch=2"],
            "treecrf train: unknown setting 'train.epoch' in the command line; did you mean 'train.epochs'?",
        ),
        (["train.epochs=two"], "treecrf train: setting 'train.epochs' in the command line is two; expected an integer"),
        (["data.train=nowhere.mrg"], "there is no file nowhere.mrg (data."),
        (["model.loss=three-stage"], "did you mean 'two-stage'?"),
        (["train.epochs=0"], "epochs is 0; expected 1 or more"),
    ],
)
def test_a_mistake_ends_with_one_line(recipe: Path, tmp_path: Path, settings: list[str], message: str) -> None:
    assert message in str(train(recipe, "-o", tmp_path / "run", *settings))


def test_an_unknown_option_is_an_error(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(recipe, "-o", tmp_path / "run", "--resum3") == 2
    assert "unrecognized arguments: --resum3" in capsys.readouterr().err


def test_a_killed_run_resumes_to_the_same_weights(recipe: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(*TREECRF, "train", recipe, "-o", whole, "--device", "cpu").returncode == 0
    last = read_metrics(whole / NAME)[-1]["step"]
    steps = sorted(random.sample(range(1, last), 2))
    for step in steps:
        _kill_at(step, [*TREECRF, "train", str(recipe), "-o", str(killed), "--device", "cpu", "--resume"], killed)
    assert run(*TREECRF, "train", recipe, "-o", killed, "--device", "cpu", "--resume").returncode == 0
    ours, theirs = (hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest() for folder in (killed, whole))
    assert ours == theirs, f"killed at steps {steps}"
    assert losses(killed) == losses(whole)


def _kill_at(step: int, command: list[str], folder: Path) -> None:
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        if (folder / NAME).exists() and any(record["step"] >= step for record in read_metrics(folder / NAME)):
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"


def test_two_processes_have_the_losses_of_one(recipe: Path, tmp_path: Path) -> None:
    command = ["-m", "treecrf", "train", recipe, "train.epochs=2", "--device", "cpu", "-o"]
    two_processes = run(*TORCHRUN, *command, tmp_path / "two")
    assert two_processes.returncode == 0, two_processes.stderr
    assert two_processes.stdout.count("epoch    1") == 1  # only the first process prints
    # each part of a batch has its own dropout mask, so one process computes the same two parts
    assert train(recipe, "train.epochs=2", "train.accumulate=2", "--device", "cpu", "-o", tmp_path / "one") in (None, 0)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
    without_dropout = ["train.epochs=2", "model.dropout=0", "--device", "cpu", "-o"]
    assert run(*TORCHRUN, "-m", "treecrf", "train", recipe, *without_dropout, tmp_path / "two0").returncode == 0
    assert train(recipe, *without_dropout, tmp_path / "one0") in (None, 0)
    assert losses(tmp_path / "two0") == pytest.approx(losses(tmp_path / "one0"), rel=1e-4)


FAILING = """
import os, signal, sys
from treecrf.cli import main
from treecrf.training.data_loader import DataLoader
collate, kind = DataLoader.collate, sys.argv.pop(1)
def failing_collate(self, indices):
    failing_collate.count += 1
    if os.environ["RANK"] == "1" and failing_collate.count == 9:
        if kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("a sentence from Mars")
    return collate(self, indices)
failing_collate.count = 0
DataLoader.collate = failing_collate
main()
"""


@pytest.mark.parametrize("kind", ["error", "killed"])
def test_a_failing_process_ends_the_run(recipe: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    command = [tmp_path / "failing.py", kind, "train", recipe, "train.epochs=1000", "--device", "cpu"]
    ended = run(*TORCHRUN, *command, "-o", tmp_path / "run")
    assert ended.returncode != 0
    if kind == "error":
        assert "treecrf train, process 2 of 2: a sentence from Mars" in ended.stderr
    else:
        assert re.search(r"process 1 of 2 lost the connection to another process|Signal 9 \(SIGKILL\)", ended.stderr)


def test_a_full_disk_ends_with_one_line(recipe: Path, tmp_path: Path) -> None:
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); " + (
        "sys.argv[0] = 'treecrf'; runpy.run_module('treecrf', run_name='__main__')"
    )
    ended = run(sys.executable, "-c", limited, "train", recipe, "--device", "cpu", "-o", tmp_path / "run")
    assert ended.returncode == 1
    assert re.search(
        r"^treecrf train: .*File too large, writing [\d,]+ bytes; the previous content is unchanged", ended.stderr
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "toy"
    random_parser(toy_trees(30), tag_head=True).save(folder)
    return folder


def test_a_model_is_adapted_to_files_of_trees(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = write_trees(tmp_path / "trees.mrg", toy_trees(8))
    partial = tmp_path / "partial.txt"
    partial.write_text("[ the cat ] sees [ a river ] .\n")
    others = write_trees(tmp_path / "others.mrg", toy_trees(3, seed=1))
    assert train("--from", base, trees, partial, "-o", tmp_path / "new", "--keep-good-on", others) in (None, 0)
    out = capsys.readouterr().out
    assert out.startswith("8 full and 1 partial trees; before (epoch 0): brackets ")
    assert re.search(r"^(kept|refused): .*\n.*new has the (adapted model|model as it was)$", out, re.MULTILINE)
    parser = Parser.load(tmp_path / "new", "cpu")
    assert parser.parse(["the", "cat"]).words == ["the", "cat"]
    assert train("--from", base, trees, "-o", tmp_path / "new") == "treecrf train: " + (
        f"{tmp_path / 'new'} exists; remove it, or choose another folder with -o"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "BASE", "TREES", "--folds", "3"], "--folds is for a recipe"),
        (["--from", "BASE", "nothing.mrg"], "there is no file or folder nothing.mrg"),
        (["TREES"], "there is no -o FOLDER"),
        (["TREES", "-o", "new", "--keep-good-on", "TREES"], "there is no --from MODEL beside --keep-good-on"),
    ],
)
def test_options_that_do_not_fit_adapting_are_named(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    trees = write_trees(tmp_path / "trees.mrg", toy_trees(8))
    places = {"BASE": base, "TREES": trees}
    assert message in str(train(*(places.get(argument, argument) for argument in arguments)))
