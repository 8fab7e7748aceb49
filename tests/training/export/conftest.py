"""A toy training run, and its packed model."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from small import FIFTY, small_recipe
from toygrammar import toy_trees, write_trees
from training.export.toy_card import PURPOSE, TREEBANK
from treecrf.training import fit
from treecrf.training.export.pack import pack_model


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "toy").mkdir()
    (folder / "toy" / "train.mrg").write_bytes(Path(FIFTY).read_bytes())
    test = write_trees(folder / "test.mrg", toy_trees(20, seed=9))
    (folder / "toy" / "test.mrg.gz").write_bytes(gzip.compress(test.read_bytes()))
    lines = [f"{word} {' '.join(['0.5', '-1'] * 8)}" for word in ("the", "unk", "zebra", "yak", "xylophone")]
    (folder / "vectors.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="session")
def run_folder(data: Path) -> Path:
    where = {"train": (str(data / "toy" / "train.mrg"),), "dev": (FIFTY,), "normalization": "plain"}
    where |= {"vectors": str(data / "vectors.txt"), "unknown_vector": "unk"}
    recipe = small_recipe(data=where, model={"tag_head": True, "lstm_size": 64}, epochs=4)
    fit(recipe, data / "teacher", device="cpu")
    fit(replace(recipe, train=replace(recipe.train, teachers=(str(data / "teacher"),))), data / "run", device="cpu")
    return data / "run"


@pytest.fixture(scope="session")
def packed(run_folder: Path, data: Path) -> Path:
    folder = data / "models" / "toy-model"
    pack_model(run_folder, folder, PURPOSE, {"toy": TREEBANK}, data=data, vectors=2, commit="abc", device="cpu")
    return folder
