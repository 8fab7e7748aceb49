import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from treecrf.parser import Parser
from treecrf.server.app import create_app
from treecrf.server.limits import Limits
from treecrf.server.middleware import DrainUnreadBody

TOKEN = "s3cret-ü"


@pytest.fixture
def client_without_token(parser: Parser) -> Iterator[TestClient]:
    with TestClient(create_app({"small": parser}, token=TOKEN)) as client:
        yield client


def basic_credentials(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "path",
    ["/", "/parse", "/parse/batch", "/models", "/metrics", "/docs", "/openapi.json", "/no", "/health/", "//health"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS"])
def test_every_path_except_health_needs_the_token(client_without_token: TestClient, method: str, path: str) -> None:
    response = client_without_token.request(method, f"http://testserver{path}")
    assert response.status_code == 401
    assert "Bearer" in response.headers["www-authenticate"]


def test_health_needs_no_token(client_without_token: TestClient) -> None:
    assert client_without_token.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "credentials",
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
def test_a_wrong_token_is_rejected(client_without_token: TestClient, credentials: str) -> None:
    assert client_without_token.get("/models", headers={"Authorization": credentials.encode()}).status_code == 401


@pytest.mark.parametrize(
    "credentials",
    [f"Bearer {TOKEN}", f"bearer  {TOKEN}", basic_credentials("", TOKEN), basic_credentials("Ada", TOKEN)],
)
def test_the_token_may_be_a_bearer_token_or_a_password(client_without_token: TestClient, credentials: str) -> None:
    headers = {"Authorization": credentials.encode()}
    assert client_without_token.get("/models", headers=headers).status_code == 200
    assert client_without_token.post("/parse", headers=headers, json={"tokens": ["a"]}).status_code == 200


def test_a_host_header_that_is_not_allowed_is_rejected(parser: Parser) -> None:
    with TestClient(create_app({"small": parser}, hosts=["localhost", "[::1]"])) as client:
        for host in ("localhost", "LOCALHOST:8000", "[::1]", "[::1]:8000"):
            assert client.get("/models", headers={"Host": host}).status_code == 200, host
        for host in ("evil.example", "localhost.evil.example", "evil.example:8000", "", ":8000", "localhost:8000:1"):
            assert client.get("/models", headers={"Host": host}).status_code == 421, host
            assert client.get("/health", headers={"Host": host}).status_code == 200


def test_other_sites_cannot_read_or_frame_responses(client: TestClient) -> None:
    for path in ("/", "/models", "/nowhere"):
        headers = client.get(path, headers={"Origin": "https://evil.example"}).headers
        assert "access-control-allow-origin" not in headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_head_has_the_headers_of_get_without_the_body(client: TestClient) -> None:
    for path in ("/", "/models", "/health", "/docs"):
        head, get = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == get.headers["content-length"]
    assert client.head("/parse").status_code == 405
    assert client.head("/nowhere").status_code == 404


@pytest.mark.parametrize(("arrived", "discarded"), [(3, 3), (1000, 400)])
def test_the_rest_of_an_unread_body_is_discarded_within_its_limit(arrived: int, discarded: int) -> None:
    sent: list[dict[str, Any]] = []
    received = 0

    async def answer_at_once(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": []})
        await send({"type": "http.response.body", "body": b"too long"})

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"x" * 250, "more_body": received < arrived}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app = DrainUnreadBody(answer_at_once, limits=Limits(body_bytes=1000))
    scope = {"type": "http", "headers": [(b"transfer-encoding", b"chunked")]}
    asyncio.run(app(scope, receive, send))
    assert received == discarded
    assert (b"connection", b"close") in sent[0]["headers"]
    assert [(message["body"], message.get("more_body", False)) for message in sent[1:]] == [
        (b"too long", True),
        (b"", False),
    ]


OTHER_ORIGINS = {
    "another site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    "another port of this machine": {"Sec-Fetch-Site": "same-site", "Origin": "http://testserver:3000"},
    "a sandbox": {"Origin": "null"},
    "an old browser": {"Origin": "https://evil.example"},
    "a similar name": {"Origin": "http://testserver.evil.example"},
    "a broken origin": {"Origin": "http://[::1"},
    "no origin": {"Origin": ""},
    "a form": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
}


@pytest.mark.parametrize("name", OTHER_ORIGINS)
@pytest.mark.parametrize("path", ["/", "/tregex", "/parse", "/parse/batch"])
def test_pages_of_other_origins_cannot_send_requests(parser: Parser, name: str, path: str) -> None:
    with TestClient(create_app({"small": parser}, corenlp=True)) as client:
        response = client.post(path, content="We sing.", headers={"Content-Type": "text/plain", **OTHER_ORIGINS[name]})
    assert response.status_code == 403 and "another origin" in response.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://testserver"},
        {"Origin": "https://TestServer"},
    ],
)
def test_programs_and_the_server_s_own_page_can_send_requests(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/parse", json={"tokens": ["a"]}, headers=headers).status_code == 200


def test_links_of_other_pages_open_the_page(client: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/", headers={**headers, "Sec-Fetch-Dest": "document"}).status_code == 200
    assert client.get("/", headers={**headers, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert client.get("/models", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}).status_code == 403
