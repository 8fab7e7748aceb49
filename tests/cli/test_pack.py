"""Tests of the options of `treecrf pack`; `tests/training/export/test_pack.py` packs models."""

from pathlib import Path

import pytest

from treecrf.cli import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "--package"], "--package needs a folder for the package"),
        (["run", "out", "--package-version", "1.0"], "--package-version is the version of a package; add --package"),
        (["model", "out"], "there is no training run in model; expected a folder with recipe.toml"),
        (["run", "out", "--vectors", "-1"], "--vectors is -1; expected 0 or more"),
        (["run", "out", "--weight-step", "1.5"], "--weight-step is 1.5; expected 0 to 1"),
        (["run", "--commit", "abc"], "--vectors, --weight-step and --commit are for a model that is packed"),
        (["run", "--only-precisions"], "--only-precisions is for a training run"),
        (
            ["model", "out", "--package", "--weight-step", "0.3"],
            "--weight-step is for a training run, and model has no",
        ),
        (["model", "out", "--package", "--device", "cpu"], "--device is for a training run, and model has no"),
        (["run"], "there is no OUT and no --card"),
        (["run", "out", "--card", "absent.toml"], "there is no file absent.toml; expected a TOML file with the text"),
        (["run", "out", "--treebanks", "absent.toml"], "expected a TOML file with the sources of treebanks"),
    ],
)
def test_options_that_do_not_fit_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("run", "model"):
        (tmp_path / folder).mkdir()
    (tmp_path / "run" / "recipe.toml").touch()
    with pytest.raises(SystemExit) as ended:
        main(["pack", *arguments])
    assert message in str(ended.value.code) and not (tmp_path / "out").exists()
