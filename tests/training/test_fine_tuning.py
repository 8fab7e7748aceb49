import json
from pathlib import Path
from typing import Any

import pytest
import torch

from small import FIFTY, small_recipe
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.models.model_folder import load_folder, save_folder
from treecrf.training import fit
from treecrf.training.metrics_log import NAME, read_metrics
from treecrf.training.setup import build_parser
from treecrf.trees.evalb import evaluate
from treecrf.trees.treebank import read_trees

transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize("kind", ["tuned", "frozen"])
def test_an_encoder_is_trained_saved_and_loaded(tmp_path: Path, encoder: str, kind: str) -> None:
    model: dict[str, Any] = {"transformer": encoder, "transformer_layers": 2, "char_size": 0}
    if kind == "tuned":
        model |= {"encoder": "transformer"}
    recipe = small_recipe(model=model, schedule="linear", warmup=0.1, head_multiplier=2.0, learning_rate=2e-3)
    fit(recipe, tmp_path / "run", device="cpu")
    epochs = [record for record in read_metrics(tmp_path / "run" / NAME) if record["event"] == "epoch"]
    assert epochs[-1]["loss"] < epochs[0]["loss"]
    parser = Parser.load(tmp_path / "run", device="cpu")
    weights = parser.model.state_dict()
    before = transformers.AutoModel.from_pretrained(encoder).state_dict()
    same = torch.equal(
        weights["transformer.encoder.embeddings.word_embeddings.weight"], before["embeddings.word_embeddings.weight"]
    )
    assert same == (kind == "frozen")
    trees = list(parser.parse_many([tree.words for tree in toy_trees(8)]))
    parser.save(tmp_path / "copy")
    assert list(Parser.load(tmp_path / "copy", device="cpu").parse_many([tree.words for tree in trees])) == trees


def test_fine_tuning_resumes_to_the_same_weights(tmp_path: Path, encoder: str) -> None:
    model = {"encoder": "transformer", "transformer": encoder, "transformer_layers": 2}
    recipe = small_recipe(model=model, schedule="linear", checkpoint_steps=4, learning_rate=1e-3, epochs=2)
    fit(recipe, tmp_path / "whole", device="cpu")

    def stop(progress: Any) -> None:
        if progress.record and progress.record["step"] == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(recipe, tmp_path / "run", device="cpu", watch=stop)
    fit(recipe, tmp_path / "run", device="cpu", resume=True)
    ours, theirs = (Parser.load(tmp_path / name, device="cpu").model.state_dict() for name in ("run", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_parser_is_trained_further_and_keeps_its_vocabulary_and_frozen_weights(tmp_path: Path) -> None:
    fit(small_recipe(epochs=1), tmp_path / "first", device="cpu")
    parser = Parser.load(tmp_path / "first", "cpu", precision="float32")
    before = {name: weight.clone() for name, weight in parser.model.state_dict().items()}
    for parameter in parser.model.inputs.parameters():
        parameter.requires_grad_(False)
    recipe = small_recipe(model={"lstm_size": 999}, epochs=2, learning_rate=1e-3)
    fit(recipe, tmp_path / "second", device="cpu", parser=parser)
    after = Parser.load(tmp_path / "second", "cpu", precision="float32")
    assert after.vocabulary == parser.vocabulary and after.model_config.lstm_size != 999
    changed = {name for name, weight in after.model.state_dict().items() if not torch.equal(weight, before[name])}
    assert changed == {name for name in before if not name.startswith("inputs.")}
    assert "lstm_size = 999" not in (tmp_path / "second" / "recipe.toml").read_text()


def test_a_parser_of_8_bit_integers_cannot_be_trained_further(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"computes in int8.*; expected float32: load it with"):
        fit(small_recipe(), tmp_path / "run", parser=Parser.load("en", "cpu", precision="int8"))


def test_an_encoder_can_start_from_that_of_a_parser(tmp_path: Path, encoder: str) -> None:
    model = {"encoder": "transformer", "transformer": encoder, "transformer_layers": 2}
    fit(small_recipe(model=model, learning_rate=2e-3, epochs=1), tmp_path / "first", device="cpu")
    first_transformer = Parser.load(tmp_path / "first", device="cpu").model.transformer
    second = small_recipe(model=model | {"transformer": str(tmp_path / "first")})
    second_transformer = build_parser(second, list(read_trees(FIFTY))[:20]).model.transformer
    assert second_transformer is not None and first_transformer is not None
    weights = second_transformer.encoder.state_dict()
    expected = first_transformer.encoder.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert all(parameter.requires_grad for parameter in second_transformer.encoder.parameters())
    result = fit(second, tmp_path / "second", device="cpu")
    assert result.dev_f == pytest.approx(_dev_f(tmp_path / "second"))


def _dev_f(folder: Path) -> float:
    trees = list(read_trees(FIFTY))
    predicted = Parser.load(folder, device="cpu").parse_many(
        [tree.words for tree in trees], tags=[tree.tags for tree in trees]
    )
    return evaluate(trees, predicted).f1


def test_starting_from_a_parser_without_a_transformer_is_an_error(tmp_path: Path) -> None:
    fit(small_recipe(epochs=1), tmp_path / "words", device="cpu")
    recipe = small_recipe(model={"encoder": "transformer", "transformer": str(tmp_path / "words")})
    with pytest.raises(ValueError, match="has no transformer"):
        fit(recipe, tmp_path / "run", device="cpu")


@pytest.mark.parametrize("kind", ["bert", "evil"])
def test_code_in_a_models_folder_is_never_run(
    tmp_path: Path, encoder: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # the answer of a hasty user
    model = {"encoder": "transformer", "transformer": encoder, "transformer_layers": 2}
    fit(small_recipe(model=model, epochs=1), tmp_path, device="cpu")
    (tmp_path / "evil.py").write_text("raise SystemExit('code from the folder was run')")
    files = load_folder(tmp_path)
    for name in ("config.json", "tokenizer_config.json"):
        names = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoTokenizer": ["evil.Slow", "evil.Fast"]}
        changed = json.loads(files[name]) | {"auto_map": names, "model_type": kind}
        files[name] = json.dumps(changed).encode()
    save_folder(tmp_path, files)
    if kind == "bert":
        assert Parser.load(tmp_path, device="cpu").parse(["the", "cat"]).words == ["the", "cat"]
    else:
        with pytest.raises(ValueError, match=r"custom code|has the setting .auto_map."):
            Parser.load(tmp_path, device="cpu")


def test_a_missing_encoder_is_an_error(tmp_path: Path) -> None:
    model = {"encoder": "transformer", "transformer": str(tmp_path / "nowhere")}
    with pytest.raises(ValueError, match=r"no (encoder|tokenizer) could be loaded from '.*nowhere'"):
        fit(small_recipe(model=model), tmp_path / "run", device="cpu")
