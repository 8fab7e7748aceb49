"""Tests of the command itself: its version, unknown options, devices, missing files, samples and completion."""

import sys
import warnings
from pathlib import Path

import pytest

import treecrf.cli
from treecrf import __version__
from treecrf.cli import COMMANDS, build_parsers, main


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert not run("--version")
    assert capsys.readouterr().out == f"treecrf {__version__}\n"


def test_an_unknown_option_gets_the_usage_of_its_command_and_the_nearest_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("parse", "--modle", "en") == 2
    messages = capsys.readouterr().err
    assert messages.startswith("usage: treecrf parse") and "--modle; did you mean --model?" in messages


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "absent.toml", "-o", "out"], "treecrf train: there is no recipe absent.toml; expected a .toml"),
        (["plot", "absent"], "treecrf plot: there is no training run at absent; expected a folder with metrics"),
        (["pack", "absent", "out", "--card", "absent.toml"], "treecrf pack: there is no file absent.toml; expected"),
        (["draw", "absent.mrg"], "treecrf draw: nothing to read at absent.mrg: no file, folder or pattern"),
        (["evaluate", "-", "-"], "treecrf evaluate: gold and predicted trees are both standard input; name a file"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = str(run(*arguments))
    assert answer.startswith(message) and "\n" not in answer and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "--device", "gpu"], "treecrf parse: --device is gpu; expected cpu, cuda or cuda:N\n"),
        (["bench", "--device", "cuda:99"], "treecrf bench: --device is cuda:99, and "),
        (["serve", "--port", "abc"], "treecrf serve: --port is abc; expected a number from 0 to 65535\n"),
    ],
)
def test_a_wrong_value_of_an_option_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    messages = capsys.readouterr().err
    assert messages.startswith(message) and messages.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "names", "expected"),
    [
        (["parse", "a.txt", "--tokens", "b.txt"], ["input", "tokens"], [["a.txt", "b.txt"], True]),
        (["measure", "a.txt", "--words", "b.txt"], ["files", "words"], [["a.txt", "b.txt"], True]),
        (["evaluate", "gold", "--plain", "mine"], ["gold", "predicted"], ["gold", "mine"]),
        (["search", "--nodes", "NP", "--show", "words", "a", "--heads", "chinese", "b"], ["files"], [["a", "b"]]),
        (["search", "--", "-NONE-", "a"], ["pattern", "files"], ["-NONE-", ["a"]]),
        (["train", "x.toml", "a=1", "-o", "out", "b=2"], ["settings"], [["a=1", "b=2"]]),
        (["prepare", "trees", "a", "--keep-labels", "b", "out"], ["paths"], [["a", "b", "out"]]),
        (["calibrate", "en", "a", "--limit", "3", "b"], ["model", "dev"], ["en", ["a", "b"]]),
        (["plot", "a", "--by", "step", "b"], ["runs"], [[Path("a"), Path("b")]]),
        (["pack", "run", "--vectors", "5", "out"], ["run_folder", "out"], [Path("run"), Path("out")]),
        (["parse", "--format", "json"], ["input", "format"], [[], "json"]),
    ],
)
def test_options_may_stand_between_positional_arguments(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], names: list[str], expected: list[object]
) -> None:
    values: list[object] = []
    monkeypatch.setattr(f"treecrf.cli.{arguments[0]}.run", lambda args: values.extend(getattr(args, n) for n in names))
    assert not run(*arguments)
    assert values == expected


def test_a_warning_of_a_command_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    formats: list[str] = []

    def warn(_: object) -> None:
        formats.append(warnings.formatwarning("parsing is slow", RuntimeWarning, "file.py", 7))

    monkeypatch.setattr("treecrf.cli.samples.run", warn)
    assert not run("samples")
    assert formats == ["treecrf samples: parsing is slow\n"]


def test_help_is_there_for_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    parser, _ = build_parsers(list(COMMANDS))
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            parser.parse_args([name, "--help"])
    help_texts = capsys.readouterr().out
    assert help_texts.count("usage: treecrf") == len(COMMANDS)
    notes = [path for path in Path(treecrf.cli.__file__).parent.glob("notes/*") if path.stem != "treecrf"]
    assert notes and {path.stem for path in notes} <= set(COMMANDS)
    assert all(path.read_text(encoding="utf-8") in help_texts for path in notes)


def test_the_version_needs_no_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy", "torch", "tqdm"):
        monkeypatch.setitem(sys.modules, name, None)
    assert not run("--version")


def test_without_a_command_the_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert not ended.value.code
    output = capsys.readouterr().out
    assert output.startswith("usage: treecrf") and "\n  treecrf parse report.txt -o report.csv\n" in output
