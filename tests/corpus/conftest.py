from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small parser with random weights."""
    folder = tmp_path_factory.mktemp("model")
    random_parser(toy_trees(30, seed=3), tag_head=True).save(folder)
    return folder


@pytest.fixture(scope="session")
def parser(model: Path) -> Parser:
    return Parser.load(model, "cpu")
