"""A small parser, a client of its app, and a server process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from server_process import ServerProcess, start_checked_server
from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.server.app import create_app

TREES = toy_trees(30, seed=3)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    random_parser(TREES, tag_head=True).save(folder)
    return folder


@pytest.fixture(scope="session")
def parser(model: Path) -> Parser:
    return Parser.load(model, "cpu")


@pytest.fixture
def client(parser: Parser) -> Iterator[TestClient]:
    with TestClient(create_app({"small": parser})) as client:
        yield client


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[ServerProcess]:
    with start_checked_server(model) as server:
        yield server
