import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from small import random_parser
from toygrammar import toy_trees
from treecrf.files import DamagedFileError
from treecrf.network.nn import SpanModel
from treecrf.parser import Parser
from treecrf.parser.models.model_folder import MANIFEST, load_folder, save_folder
from treecrf.parser.storage import CONFIG, VOCABULARY, WEIGHTS, load_weights
from treecrf.text import tokenize
from treecrf.training.checkpoint import to_safetensors

TREES = toy_trees(40, seed=3)
SENTENCES = [tree.words for tree in TREES]


@pytest.mark.parametrize(
    "model", [{}, {"scorer": "minus", "loss": "one-stage-crf"}, {"tag_head": True, "char_size": 0}]
)
def test_a_saved_parser_is_the_same_parser(tmp_path: Path, model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    parser.root = "ROOT"
    parser.save(tmp_path)
    loaded = Parser.load(tmp_path, device="cpu", precision="float32")
    assert loaded.root == "ROOT" and loaded.vocabulary == parser.vocabulary
    assert loaded.model.config == parser.model_config
    weights, old = loaded.model.state_dict(), parser.model.state_dict()
    assert weights.keys() == old.keys() and all(torch.equal(weights[name], old[name]) for name in old)
    assert not any(tensor.is_meta for tensor in (*loaded.model.parameters(), *loaded.model.buffers()))
    assert list(loaded.parse_many(SENTENCES)) == list(parser.parse_many(SENTENCES))


def test_saving_twice_gives_the_same_bytes(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "a")
    Parser.load(tmp_path / "a", device="cpu").save(tmp_path / "b")
    assert load_folder(tmp_path / "a") == load_folder(tmp_path / "b")


def test_an_8_bit_parser_is_saved_with_its_settings_and_the_weights_it_was_loaded_with(
    folder: Path, tmp_path: Path
) -> None:
    parser = Parser.load(folder, device="cpu", precision="int8")
    parser.root = "ROOT"
    parser.save(tmp_path / "a")
    before, after = load_folder(folder), load_folder(tmp_path / "a")
    assert after[WEIGHTS] == before[WEIGHTS] and Parser.load(tmp_path / "a", device="cpu").root == "ROOT"


@pytest.mark.parametrize("change", ["removed", "overwritten", "replaced"])
def test_an_8_bit_parser_is_saved_without_reading_its_folder_again(folder: Path, tmp_path: Path, change: str) -> None:
    parser, before = Parser.load(folder, device="cpu", precision="int8"), load_folder(folder)
    if change == "removed":
        shutil.rmtree(folder)
    elif change == "replaced":
        random_parser(TREES, lstm_size=8).save(folder)
    else:
        for path in folder.iterdir():
            path.write_bytes(b"")
    parser.save(tmp_path / "copy")
    assert load_folder(tmp_path / "copy") == before
    assert parser.model.config == parser.model_config  # the network of PyTorch has the same weights
    assert list(parser.parse_many(SENTENCES)) == list(
        Parser.load(tmp_path / "copy", "cpu", precision="int8").parse_many(SENTENCES)
    )


def test_a_network_that_names_another_precision_is_saved_without_its_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = Parser.load(folder, device="cpu", precision="float32")
    monkeypatch.setattr(SpanModel, "precision", "bfloat16")
    with torch.no_grad():
        parser.model.span_scorer.weight.zero_()
    parser.save(tmp_path / "a")
    assert not Parser.load(tmp_path / "a", "cpu", precision="float32").model.span_scorer.weight.any()


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, VOCABULARY])
@pytest.mark.parametrize("place", [0, 0.3, 1])
def test_a_changed_file_is_refused(folder: Path, name: str, place: float) -> None:
    data = bytearray((folder / name).read_bytes())
    data[int(place * (len(data) - 1))] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(DamagedFileError, match=rf"{name} was cut short or changed"):
        Parser.load(folder)


class Bomb:
    """A pickle that runs a command when it is read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('code from the folder was run')",)


@pytest.mark.parametrize("name", [WEIGHTS, VOCABULARY, CONFIG])
def test_a_pickle_in_the_place_of_a_file_is_refused_and_never_run(folder: Path, name: str) -> None:
    save_folder(folder, load_folder(folder) | {name: pickle.dumps(Bomb())})
    with pytest.raises(ValueError, match=name):
        Parser.load(folder)


def test_other_files_in_the_folder_are_never_touched(folder: Path) -> None:
    for name in ("model.py", "__init__.py", "conftest.py", "modeling.py"):
        (folder / name).write_text("raise SystemExit('code from the folder was run')")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    assert Parser.load(folder, device="cpu").parse(["a", "cat"]).words == ["a", "cat"]


@pytest.mark.parametrize(
    "vocabulary", ["[]", "{}", '{"words": 3}', "null", "nonsense", json.dumps({"words": [], "labels": []})]
)
def test_what_is_no_vocabulary_is_refused(folder: Path, vocabulary: str) -> None:
    save_folder(folder, load_folder(folder) | {VOCABULARY: vocabulary.encode()})
    with pytest.raises(DamagedFileError, match=r"vocabulary\.json is not (a vocabulary|JSON)"):
        Parser.load(folder)


def test_a_folder_without_a_parser_is_an_error(tmp_path: Path) -> None:
    save_folder(tmp_path, {"notes.txt": b"hello"})
    with pytest.raises(DamagedFileError, match=rf"is not a parser: its manifest has no {CONFIG}"):
        Parser.load(tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(OSError, match="holds no model"):
        Parser.load(tmp_path)


def test_an_unknown_model_name_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="there is no model 'klingon'"):
        Parser.load("klingon")


def test_the_language_of_raw_text_is_saved(tmp_path: Path) -> None:
    parser = random_parser(TREES)
    parser.language = "zh"
    parser.save(tmp_path)
    loaded = Parser.load(tmp_path, device="cpu")
    assert loaded.language == "zh" and loaded.parse("我喜欢花园。").words == [
        token.text for token in tokenize("我喜欢花园。", language="zh")
    ]


def test_half_precision_weights_are_read(parser: Parser, folder: Path) -> None:
    files = load_folder(folder)
    half = {name: tensor.half() for name, tensor in parser.model.state_dict().items()}
    save_folder(folder, files | {WEIGHTS: to_safetensors(half)})
    loaded = Parser.load(folder, device="cpu")
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}


@pytest.mark.parametrize("kept", [0, 7, 1000, -1])
def test_a_truncated_weight_file_is_refused(folder: Path, kept: int) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:kept])
    with pytest.raises(DamagedFileError, match="was cut short or changed"):
        Parser.load(folder)


def test_weights_of_another_model_are_refused_even_with_a_manifest(folder: Path, tmp_path: Path) -> None:
    random_parser(TREES, lstm_size=8).save(tmp_path / "other")
    save_folder(folder, load_folder(folder) | {WEIGHTS: (tmp_path / "other" / WEIGHTS).read_bytes()})
    with pytest.raises(
        DamagedFileError, match=r"not contain the weights .* has shape .*, expected .*; \d+ of \d+ differ"
    ):
        Parser.load(folder)


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_weights_are_taken_by_name_one_for_one(parser: Parser, folder: Path, change: str) -> None:
    weights = dict(parser.model.state_dict())
    if change == "missing":
        del weights["span_scorer.weight"]
    else:
        weights["backdoor"] = torch.zeros(1)
    save_folder(folder, load_folder(folder) | {WEIGHTS: to_safetensors(weights)})
    with pytest.raises(DamagedFileError, match=r"does not contain the weights of this model: .* none"):
        Parser.load(folder)


def test_cut_weights_are_refused_even_with_a_manifest(folder: Path) -> None:
    files = load_folder(folder)
    save_folder(folder, files | {WEIGHTS: files[WEIGHTS][:-8]})
    with pytest.raises(DamagedFileError, match="cannot be read as safetensors"):
        Parser.load(folder)


def test_an_array_with_more_dimensions_than_numpy_has_is_refused() -> None:
    array = {"dtype": "F32", "shape": [1] * 100, "data_offsets": [0, 4]}
    header = json.dumps({"names": array}).encode()
    with pytest.raises(DamagedFileError, match=r"x\.safetensors cannot be read as safetensors: .*dimension"):
        load_weights(len(header).to_bytes(8, "little") + header + bytes(4), None, Path("x.safetensors"))
