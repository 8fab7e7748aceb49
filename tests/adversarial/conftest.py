"""A small model for the attacks on servers."""

from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    random_parser(toy_trees(30, seed=3), tag_head=True).save(folder)
    return folder
