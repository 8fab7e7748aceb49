import base64
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from treecrf.parser import Parser
from treecrf.server.app import create_app

TOKEN = "s3cret-ü"


@pytest.fixture
def guarded(parser: Parser) -> Iterator[TestClient]:
    with TestClient(create_app({"small": parser}, token=TOKEN)) as client:
        yield client


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "path",
    ["/", "/parse", "/parse/batch", "/models", "/metrics", "/docs", "/openapi.json", "/no", "/health/", "//health"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS"])
def test_without_the_token_nothing_but_health_answers(guarded: TestClient, method: str, path: str) -> None:
    answer = guarded.request(method, f"http://testserver{path}")
    assert answer.status_code == 401
    assert "Bearer" in answer.headers["www-authenticate"]


def test_health_answers_everyone(guarded: TestClient) -> None:
    assert guarded.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer s3cret",
        f"Bearer {TOKEN}x",
        TOKEN,
        "Basic",
        "Basic !!!",
        "Basic czNjcmV0",
        "Basic é",
    ],
)
def test_other_tokens_are_refused(guarded: TestClient, given: str) -> None:
    assert guarded.get("/models", headers={"Authorization": given.encode()}).status_code == 401


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer  {TOKEN}", basic("", TOKEN), basic("Ada", TOKEN)])
def test_the_token_is_taken_from_programs_and_from_browsers(guarded: TestClient, given: str) -> None:
    headers = {"Authorization": given.encode()}
    assert guarded.get("/models", headers=headers).status_code == 200
    assert guarded.post("/parse", headers=headers, json={"tokens": ["a"]}).status_code == 200


def test_a_stranger_s_name_is_refused(parser: Parser) -> None:
    with TestClient(create_app({"small": parser}, hosts=["localhost", "[::1]"])) as client:
        for host in ("localhost", "LOCALHOST:8000", "[::1]", "[::1]:8000"):
            assert client.get("/models", headers={"Host": host}).status_code == 200, host
        for host in ("evil.example", "localhost.evil.example", "evil.example:8000", "", ":8000", "localhost:8000:1"):
            assert client.get("/models", headers={"Host": host}).status_code == 421, host
            assert client.get("/health", headers={"Host": host}).status_code == 200


def test_answers_may_not_be_read_or_framed_by_other_sites(client: TestClient) -> None:
    for path in ("/", "/models", "/nowhere"):
        headers = client.get(path, headers={"Origin": "https://evil.example"}).headers
        assert "access-control-allow-origin" not in headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
