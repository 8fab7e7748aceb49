import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from small import random_parser
from toygrammar import toy_trees
from treecrf.cli import main


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name in ("one", "two"):
        random_parser(toy_trees(10, seed=3)).save(folder / name)
    random_parser(toy_trees(10, seed=3)).save(folder / "deeper" / "two")
    return folder


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREECRF_TOKEN", raising=False)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would have been served."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("treecrf.server.process.serve", lambda app, **place: calls.append({"app": app, **place}))
    return calls


def serve(*args: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--device", "cpu", *map(str, args)])
    return ended.value.code


def test_several_models_are_served_by_the_names_of_their_folders(models: Path, served: list[dict[str, Any]]) -> None:
    assert serve("--model", models / "one", models / "two") is None
    (call,) = served
    assert (call["host"], call["port"]) == ("127.0.0.1", 8000)
    with TestClient(call["app"], base_url="http://localhost") as client:
        assert [model["name"] for model in client.get("/models").json()["models"]] == ["one", "two"]


def test_a_local_server_is_called_by_local_names(models: Path, served: list[dict[str, Any]]) -> None:
    serve("--model", models / "one")
    serve("--model", models / "one", "--allow-host", "trees.example")
    serve("--model", models / "one", "--host", "0.0.0.0")
    serve("--model", models / "one", "--host", "0.0.0.0", "--allow-host", "trees.example")
    statuses = []
    for call in served:
        with TestClient(call["app"]) as client:
            hosts = ("localhost:8000", "trees.example", "evil.example")
            statuses.append([client.get("/models", headers={"Host": host}).status_code for host in hosts])
    assert statuses == [[200, 421, 421], [200, 200, 421], [200, 200, 200], [200, 200, 421]]


def test_limits_are_options(models: Path, served: list[dict[str, Any]]) -> None:
    serve("--model", models / "one", "--max-words", 7, "--max-wait-seconds", 0, "--port", 0)
    limits = served[0]["app"].state.limits
    assert (limits.words, limits.wait_seconds, limits.k) == (7, 0.0, 20)
    assert (
        serve("--max-words", 0)
        == "treecrf serve: words is 0; expected 1 or more words of a sentence; time grows with their cube"
    )


def test_the_token_comes_from_a_file_the_environment_or_the_command(
    models: Path, served: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    serve("--model", models / "one", "--token", "given")
    monkeypatch.setenv("TREECRF_TOKEN", "from-environment")
    serve("--model", models / "one", "--token-file", file)
    serve("--model", models / "one")
    for call, token in zip(served, ("given", "from-file", "from-environment"), strict=True):
        with TestClient(call["app"], base_url="http://localhost") as client:
            assert client.get("/models").status_code == 401
            assert client.get("/models", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_what_cannot_be_served_is_an_error(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("\n")
    assert "is empty" in str(serve("--token-file", tmp_path / "token"))
    assert "expected one of them" in str(serve("--token", "a", "--token-file", tmp_path / "token"))
    assert "there is no model 'klingon'" in str(serve("--model", "klingon"))
    assert "two models are called 'two'" in str(serve("--model", models / "two", models / "deeper" / "two"))
    monkeypatch.setitem(sys.modules, "treecrf.server.app", None)
    assert "pip install 'treecrf[server]'" in str(serve("--model", models / "one"))
