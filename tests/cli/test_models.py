import pytest

from treecrf import models
from treecrf.cli import main
from treecrf.export.model_card import CARD_MARKDOWN, ModelCard


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["models", *arguments])
    return ended.value.code


def test_all_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() is None
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["model", "language"]
    assert [row.split()[0] for row in rows] == models.names()


def test_the_card_of_a_model_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("en") is None
    assert capsys.readouterr().out == (models.FOLDER / "en" / CARD_MARKDOWN).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", models.names())
def test_every_label_and_tag_of_a_model_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--labels") is None
    output = capsys.readouterr().out
    card = ModelCard.load(models.FOLDER / name)
    rows = [line.strip() for line in output.splitlines() if line.startswith("  ")]
    assert [row.rpartition(": ")[0] or row for row in rows if row.endswith(": unknown")] == []
    assert len(rows) == len(card.labels) + len(card.tags)
    assert all(row.startswith(f"{label}: ") for row, label in zip(rows, (*card.labels, *card.tags), strict=True))


def test_labels_are_explained_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    run("en", "--labels")
    assert "  SBAR: clause introduced by a subordinating conjunction" in capsys.readouterr().out


def test_an_unknown_model_is_an_error() -> None:
    assert "there is no embedded model 'klingon'; expected one of en, en-lstm, zh" in str(run("klingon"))
    assert "--labels needs a model" in str(run("--labels"))
