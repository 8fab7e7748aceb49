"""A small parser with random weights, and its folder."""

from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(toy_trees(40, seed=3))


@pytest.fixture
def folder(parser: Parser, tmp_path: Path) -> Path:
    parser.save(tmp_path / "model")
    return tmp_path / "model"
