"""Tests of packing a training run, and of the commands `pack` and `models`."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small import FIFTY, small_recipe
from toygrammar import toy_trees
from training.export.toy_card import PURPOSE, TREEBANK
from treecrf.cli import main
from treecrf.config import read_config
from treecrf.network.data.numericalize import CAPITAL_CLASSES
from treecrf.parser import Parser
from treecrf.parser.models import model_folder
from treecrf.parser.models.model_card import ModelCard, Purpose, read_treebanks
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.training import Recipe, fit
from treecrf.training.export.card_files import save_card, to_markdown
from treecrf.training.export.pack import merge_word_vectors, pack_model, renew_card, source_commit

CARDS = Path(__file__).parents[3] / "recipes" / "models" / "cards"


def test_packing_keeps_settings_and_weights_that_were_added_after_training(run_folder: Path, tmp_path: Path) -> None:
    state = load_parser_state(run_folder)
    capitals = np.ones((CAPITAL_CLASSES, len(state.vocabulary.tags)), np.float32)
    config = replace(state.config, model=replace(state.config.model, tag_capitals=True))
    shutil.copytree(run_folder, tmp_path / "run")
    save_parser_state(
        tmp_path / "run", replace(state, config=config, weights={**state.weights, "capitals.weight": capitals})
    )
    pack_model(tmp_path / "run", tmp_path / "model", device="cpu")
    packed_state = load_parser_state(tmp_path / "model")
    assert packed_state.config.model == config.model
    assert np.array_equal(packed_state.weights["capitals.weight"], capitals)


def test_a_packed_model_is_smaller_and_gives_nearly_the_same_trees(run_folder: Path, packed: Path) -> None:
    size = (packed / "model.safetensors").stat().st_size
    assert size < 0.4 * (run_folder / "model.safetensors").stat().st_size
    one, other = Parser.load(run_folder, device="cpu"), Parser.load(packed, device="cpu")
    words = [tree.words for tree in toy_trees(40, seed=3)]
    same = [a == b for a, b in zip(one.parse_many(words), other.parse_many(words), strict=True)]
    assert sum(same) >= 38
    assert other.normalization == "plain" and other.vocabulary.labels == one.vocabulary.labels


def test_merged_word_vectors_have_the_same_sums() -> None:
    generator = np.random.default_rng(0)
    trained, pretrained = generator.standard_normal((7, 5)), generator.standard_normal((9, 5))
    new_trained, new_pretrained = merge_word_vectors(trained, pretrained, known_words=4)
    rows = [*range(7), 1, 1]  # the last two words have a pretrained vector only, and share the one of unknown words
    assert np.allclose(new_trained[rows] + new_pretrained, trained[rows] + pretrained)
    assert not new_pretrained[3:7].any() and new_pretrained[7:].all()


def test_packing_keeps_the_first_pretrained_vectors(run_folder: Path, packed: Path) -> None:
    assert Parser.load(run_folder, device="cpu").vocabulary.vectors == ("zebra", "yak", "xylophone")
    assert Parser.load(packed, device="cpu").vocabulary.vectors == ("zebra", "yak")


def test_a_packed_model_can_be_saved_unpacked(packed: Path, tmp_path: Path) -> None:
    parser = Parser.load(packed, device="cpu")
    parser.save(tmp_path / "again")
    again = Parser.load(tmp_path / "again", device="cpu")
    for name, weight in parser.model.state_dict().items():
        assert weight.equal(again.model.state_dict()[name]), name


def test_a_packed_model_contains_no_paths(packed: Path, data: Path) -> None:
    for path in packed.iterdir():
        assert str(data).encode() not in path.read_bytes(), path.name
    recipe = ModelCard.load(packed).recipe
    assert 'train = ["toy/train.mrg"]' in recipe and 'teachers = ["teacher"]' in recipe


def test_a_treebank_without_description_is_an_error(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="was trained on toy, which has no description"):
        pack_model(run_folder, tmp_path / "m", PURPOSE, {}, data=tmp_path)


@pytest.mark.parametrize("name", ["en", "en-lstm", "zh", "es", "id", "is", "pt"])
def test_our_models_have_card_texts_and_descriptions_of_their_treebanks(name: str) -> None:
    purpose = read_config(Purpose, CARDS / f"{name}.toml")
    assert purpose.limits and purpose.tests
    recipe = read_config(Recipe, CARDS.parent / f"{name}.toml")
    treebanks = {Path(path).parent.name for path in recipe.data.train}
    assert treebanks <= read_treebanks(CARDS / "treebanks.toml").keys()


def test_pack_command(run_folder: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = "\n".join(f'{key} = "x"' for key in ("summary", "language", "license", "license_reason", "uses"))
    (tmp_path / "toy.toml").write_text(f'{texts}\nlimits = ["y"]\ntests = ["toy"]')
    (tmp_path / "treebanks.toml").write_text(
        '[toy]\ntitle = "Toys"\nsource = "here"\nlicense = "CC0"\ncommercial = "yes"'
    )
    with pytest.raises(SystemExit) as exit_:
        main(["pack", *map(str, (run_folder, tmp_path / "small", "--card", tmp_path / "toy.toml", "--data", data))])
    assert exit_.value.code is None and capsys.readouterr().out.startswith("# small\n")
    assert Parser.load(tmp_path / "small", device="cpu").parse(["the", "cat", "."]).words == ["the", "cat", "."]


def test_a_run_becomes_a_package(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["pack", *map(str, (run_folder, tmp_path / "treecrf-toy", "--package"))])
    assert exit_.value.code is None
    model = tmp_path / "treecrf-toy" / "src" / "treecrf_toy" / "toy"
    card = ModelCard.load(model)
    assert card.name == "toy" and [score.sentences for score in card.scores] == [50]
    assert (tmp_path / "treecrf-toy" / "README.md").read_text().startswith("# treecrf-toy\n")


def test_a_run_is_packed_without_a_text_and_with_the_files_of_its_recipe(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train.mrg", "dev.mrg"):  # a folder without a name in the recipe
        Path(name).write_bytes(Path(FIFTY).read_bytes())
    fit(small_recipe(data={"train": ("train.mrg",), "dev": ("dev.mrg",)}, epochs=1), "run", device="cpu")
    with pytest.raises(SystemExit) as exit_:
        main(["pack", "run", "small"])
    assert exit_.value.code is None
    card = ModelCard.load(Path("small"))
    assert [treebank.name for treebank in card.data] == [tmp_path.name]
    assert [(score.name, score.sentences) for score in card.scores] == [(f"{tmp_path.name}, dev", 50)]
    assert card.scores[0].tagging is None and "| gold tags |" in Path("small", "README.md").read_text()
    for arguments in (["models", "small"], ["models", "small", "--labels"]):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code is None
    Path("dev.mrg").unlink()
    with pytest.raises(SystemExit, match=r"there is no file dev\.mrg, which the recipe of the run names"):
        main(["pack", "run", "other"])


def test_embedded_models_are_listed_shown_and_loaded_by_name(
    packed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(model_folder, "FOLDER", packed.parent)
    monkeypatch.setattr("treecrf.parser.models.entry_points.distributions", lambda: [])
    assert Parser.load("toy-model", device="cpu").normalization == "plain"
    with pytest.raises(SystemExit):
        main(["models"])
    head, row = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert head.startswith("model") and row.startswith("toy-model  English") and "free" in row and "toy " in row
    with pytest.raises(SystemExit):
        main(["models", "toy-model"])
    assert capsys.readouterr().out == to_markdown(ModelCard.load(packed))
    with pytest.raises(
        SystemExit, match="there is no model 'fr': no folder has that name, and the installed models are toy-model;"
    ):
        main(["models", "fr"])
    with pytest.raises(FileNotFoundError, match="the installed models are toy-model"):
        Parser.load("fr")


def test_models_command_without_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(model_folder, "FOLDER", tmp_path)
    monkeypatch.setattr("treecrf.parser.models.entry_points.distributions", lambda: [])
    with pytest.raises(SystemExit):
        main(["models"])
    assert capsys.readouterr().out.startswith("No models are installed")


def test_renewing_a_card_measures_the_model_again(packed: Path, data: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(packed, tmp_path / "model"))
    card = ModelCard.load(packed)
    wrong = replace(card, scores=(replace(card.scores[0], f1=1.0),), data=())  # the recipe names the data
    save_card(wrong, model)
    renewed = renew_card(model, replace(PURPOSE, uses="Play again."), {"toy": TREEBANK}, data=data, device="cpu")
    assert renewed.speed is not None and card.speed is not None and renewed.speed.parser == card.speed.parser
    expected = replace(card, purpose=replace(PURPOSE, uses="Play again."))
    assert to_markdown(replace(renewed, speed=card.speed)) == to_markdown(expected)
    assert ModelCard.load(model).scores[0] == card.scores[0]
    save_card(replace(card, commit=""), model)
    assert renew_card(model, PURPOSE, {"toy": TREEBANK}, data=data, device="cpu").commit == source_commit() != ""
    with pytest.raises(ValueError, match="was trained on toy, which has no description"):
        renew_card(model, PURPOSE, {}, data=data, device="cpu")


def test_a_run_scored_by_a_parameter_file_is_packed_from_anywhere(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.prm").write_text("DELETE_LABEL TOP\n")
    where = {"train": (str(data / "toy" / "train.mrg"),), "dev": (FIFTY,), "rules": "own.prm"}
    fit(small_recipe(data=where, epochs=1), tmp_path / "run", device="cpu")
    (tmp_path / "own.prm").unlink()
    card = pack_model(tmp_path / "run", tmp_path / "own", PURPOSE, {"toy": TREEBANK}, data=data, device="cpu")
    assert card.scores[0].sentences == 20 and 'rules = "own.prm"' in card.recipe
