from pathlib import Path

import pytest
import torch

from small import random_parser
from toygrammar import toy_trees
from treecrf.files import DamagedFileError
from treecrf.parser import Parser
from treecrf.parser.models.model_folder import load_folder, save_folder
from treecrf.parser.storage import WEIGHTS
from treecrf.training.checkpoint import to_safetensors

TREES = toy_trees(40, seed=3)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES)


@pytest.fixture
def folder(parser: Parser, tmp_path: Path) -> Path:
    parser.save(tmp_path / "model")
    return tmp_path / "model"


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
