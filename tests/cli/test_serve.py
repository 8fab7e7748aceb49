import socket
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
def serve_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Records the calls of `serve` instead of serving."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("treecrf.server.process.serve", lambda app, **address: calls.append({"app": app, **address}))
    return calls


def serve(*args: object) -> object:
    with pytest.raises(SystemExit) as exit_info:
        main(["serve", "--device", "cpu", *map(str, args)])
    return exit_info.value.code


def test_models_have_the_names_of_their_folders(models: Path, serve_calls: list[dict[str, Any]]) -> None:
    assert serve("--model", models / "one", models / "two") is None
    (call,) = serve_calls
    assert (call["host"], call["port"]) == ("127.0.0.1", 8000)
    with TestClient(call["app"], base_url="http://localhost") as client:
        assert [model["name"] for model in client.get("/models").json()["models"]] == ["one", "two"]


def test_a_local_server_accepts_local_host_headers(models: Path, serve_calls: list[dict[str, Any]]) -> None:
    serve("--model", models / "one")
    serve("--model", models / "one", "--allow-host", "trees.example")
    serve("--model", models / "one", "--host", "0.0.0.0")
    serve("--model", models / "one", "--host", "0.0.0.0", "--allow-host", "trees.example")
    statuses = []
    for call in serve_calls:
        with TestClient(call["app"]) as client:
            hosts = ("localhost:8000", "trees.example", "evil.example")
            statuses.append([client.get("/models", headers={"Host": host}).status_code for host in hosts])
    assert statuses == [[200, 421, 421], [200, 200, 421], [200, 200, 200], [200, 200, 421]]


def test_limits_are_options(models: Path, serve_calls: list[dict[str, Any]]) -> None:
    serve("--model", models / "one", "--max-words", 7, "--max-wait-seconds", 0, "--port", 0)
    limits = serve_calls[0]["app"].state.limits
    assert (limits.words, limits.wait_seconds, limits.k) == (7, 0.0, 20)
    message = "words is 0; expected at least 1 (words per sentence; parsing time grows with the cube of this number)"
    assert serve("--max-words", 0) == f"treecrf serve: {message}"


def test_the_token_comes_from_a_file_the_environment_or_an_option(
    models: Path, serve_calls: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    serve("--model", models / "one", "--token", "from-option")
    monkeypatch.setenv("TREECRF_TOKEN", "from-environment")
    serve("--model", models / "one", "--token-file", file)
    serve("--model", models / "one")
    for call, token in zip(serve_calls, ("from-option", "from-file", "from-environment"), strict=True):
        with TestClient(call["app"], base_url="http://localhost") as client:
            assert client.get("/models").status_code == 401
            assert client.get("/models", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_invalid_tokens_and_models_are_errors(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("\n")
    assert "is empty" in str(serve("--token-file", tmp_path / "token"))
    assert "expected one of them" in str(serve("--token", "a", "--token-file", tmp_path / "token"))
    assert "there is no model 'klingon'" in str(serve("--model", "klingon"))
    assert "two models have the name 'two'" in str(serve("--model", models / "two", models / "deeper" / "two"))
    monkeypatch.setitem(sys.modules, "treecrf.server.app", None)
    assert "pip install 'treecrf[server]'" in str(serve("--model", models / "one"))


def test_a_port_out_of_range_is_a_one_line_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve("--port", 99999) == 2
    assert capsys.readouterr().err == "treecrf serve: --port is 99999; expected a number from 0 to 65535\n"


def test_the_default_port_with_corenlps_protocol_is_corenlps(models: Path, serve_calls: list[dict[str, Any]]) -> None:
    serve("--model", models / "one", "--corenlp")
    assert serve_calls[0]["port"] == 9000


def test_a_port_in_use_is_a_one_line_error(models: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = str(serve("--model", models / "one", "--port", port))
    assert message.startswith(f"treecrf serve: cannot listen on 127.0.0.1, port {port}: ")
    assert message.endswith("choose another one with --port")


def test_the_log_is_json_unless_it_is_on_a_terminal(
    models: Path, serve_calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve("--model", models / "one")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    serve("--model", models / "one", "--open")
    serve("--model", models / "one", "--log-format", "json")
    assert [(call["log_format"], call["opens_browser"]) for call in serve_calls] == [
        ("json", False),
        ("text", True),
        ("json", False),
    ]
