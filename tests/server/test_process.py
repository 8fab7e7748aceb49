"""Server processes: concurrent clients, slow clients, and shutdown."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server_process import TIMEOUT, ServerProcess, read_all, start_server, wait_until
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.server.process import listen

SENTENCES = [tree.words for tree in toy_trees(96, seed=4)]
LONG = [(SENTENCES[0] * 40)[:40]] * 4


def run_clients(server: ServerProcess, work: Callable[[httpx.AsyncClient], Awaitable[Any]], count: int) -> list[Any]:
    """Runs work in concurrent clients, each with its own connection, and returns the results."""

    async def client() -> Any:
        async with httpx.AsyncClient(base_url=server.url, timeout=TIMEOUT) as http_client:
            return await work(http_client)

    async def run() -> list[Any]:
        return list(await asyncio.gather(*(client() for _ in range(count))))

    return asyncio.run(run())


def test_64_clients_get_their_own_responses(server: ServerProcess, parser: Parser) -> None:
    mbr_trees = [str(tree) for tree in parser.parse_many(SENTENCES)]
    best_trees = [str(tree) for tree in parser.parse_many(SENTENCES, mbr=False)]
    readings = [[len(parser.analyze(words, k=k).alternatives) for k in range(3)] for words in SENTENCES]
    counter = iter(range(10**6))

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(4):
            count = next(counter)
            index, k, mbr = count % len(SENTENCES), count % 3, count % 5 > 0
            body = {"tokens": SENTENCES[index], "k": k, "mbr": mbr, "probabilities": count % 2 > 0}
            response = await client.post("/parse", json=body)
            assert response.status_code == 200
            (sentence,) = response.json()["sentences"]
            assert sentence["words"] == SENTENCES[index]
            assert sentence["tree"] == (mbr_trees if mbr else best_trees)[index]
            assert len(sentence.get("kbest", [])) == readings[index][k] <= k
            assert ("log_prob" in sentence) == (count % 2 > 0)

    run_clients(server, work, 64)
    assert server.metric("treecrf_batch_requests_sum") > server.metric("treecrf_batch_requests_count")


def test_impossible_constraints_fail_only_their_own_request(server: ServerProcess, parser: Parser) -> None:
    words = SENTENCES[0]
    tree = str(parser.parse(words, constraints=Constraints(require=[(0, 2)])))
    counter = iter(range(10**6))

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(3):
            is_impossible = next(counter) % 2 > 0
            required = [{"start": 0, "end": 2}] + [{"start": 1, "end": 3}] * is_impossible
            response = await client.post("/parse", json={"tokens": words, "constraints": {"require": required}})
            assert response.status_code == (422 if is_impossible else 200)
            assert is_impossible or response.json()["sentences"][0]["tree"] == tree

    run_clients(server, work, 16)


def test_a_disconnected_client_s_sentences_are_dropped(server: ServerProcess) -> None:
    inputs = [{"tokens": LONG[0]}] * 1000
    body = json.dumps({"inputs": inputs, "k": 20}).encode()
    before = server.metric("treecrf_dropped_sentences_total")
    with connect(server) as client:
        client.sendall(request_headers(len(body)) + body)
        wait_until(lambda: server.metric("treecrf_queue_sentences") > 0)
    wait_until(lambda: server.metric("treecrf_dropped_sentences_total") > before)
    wait_until(lambda: server.metric("treecrf_queue_sentences") == 0)
    assert httpx.get(f"{server.url}/health").status_code == 200


def request_headers(size: int, path: str = "/parse/batch") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {size}")
    return "\r\n".join([*lines, "", ""]).encode()


class connect:
    """A TCP connection to a server."""

    def __init__(self, server: ServerProcess) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.close()


@pytest.mark.parametrize(
    "prefix",
    [b"", b"GET / HT", b"POST /parse HTTP/1.1\r\nHost: local", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /"],
)
def test_an_incomplete_request_is_disconnected(server: ServerProcess, prefix: bytes) -> None:
    with connect(server) as client:
        client.sendall(prefix)
        read_all(client)
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_an_incomplete_body_is_status_408(server: ServerProcess) -> None:
    with connect(server) as client:
        client.sendall(request_headers(100) + b'{"te')
        response = read_all(client)
    assert response.startswith(b"HTTP/1.1 408 ")


def test_slow_clients_do_not_block_others(server: ServerProcess) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT) for _ in range(50)]
    try:
        for number, client in enumerate(slow):
            client.sendall(request_headers(100)[: 20 + number] if number % 2 else request_headers(100) + b"{")
        response = httpx.post(f"{server.url}/parse", json={"tokens": ["a", "cat"]}, timeout=TIMEOUT)
        assert response.status_code == 200
    finally:
        for client in slow:
            client.close()


def test_a_response_that_is_never_read_does_not_block_shutdown(model: Path) -> None:
    body = json.dumps({"inputs": [{"tokens": LONG[0]}] * 1000}).encode()
    with start_server(model, "--max-body-seconds", "1") as server, connect(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(request_headers(len(body)) + body)
        wait_until(lambda: server.metric('treecrf_requests_total{method="POST",path="/parse/batch",status="200"}'))
        assert server.stop() == 0


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_of_ten_megabytes_is_status_413(server: ServerProcess, is_chunked: bool) -> None:
    body = b'{"text": "' + b"a" * 10_000_000 + b'"}'

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(body), 1 << 16):
            yield body[start : start + (1 << 16)]

    headers = {"Content-Type": "application/json"}
    content: Any = chunks() if is_chunked else body
    response = httpx.post(f"{server.url}/parse", content=content, headers=headers, timeout=TIMEOUT)
    assert response.status_code == 413
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_bytes_that_are_not_http_are_rejected(server: ServerProcess) -> None:
    for junk in (b"\0" * 1000 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9, b"GET /\r\n\r\n" * 9):
        with connect(server) as client:
            client.sendall(junk)
            assert b" 200 " not in read_all(client)[:20]
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_a_full_queue_is_status_503_until_it_empties(model: Path) -> None:
    with start_server(model, "--max-queue", "4", "--max-sentences", "4") as server:
        body = {"inputs": [{"tokens": words} for words in LONG], "k": 20}

        async def work(client: httpx.AsyncClient) -> int:
            response = await client.post("/parse/batch", json=body)
            assert response.status_code == 200 or 1 <= int(response.headers["retry-after"]) <= 60
            return int(response.status_code)

        statuses = run_clients(server, work, 24)
        assert set(statuses) == {200, 503}
        assert httpx.post(f"{server.url}/parse/batch", json=body, timeout=TIMEOUT).status_code == 200
        assert server.stop() == 0


def test_sigterm_answers_all_accepted_requests(model: Path, parser: Parser) -> None:
    trees = [str(parser.parse(words)) for words in SENTENCES[:12]]
    with start_server(model) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT) for _ in trees]
        for client, words in zip(clients, SENTENCES, strict=False):
            inputs = [{"tokens": words}, {"tokens": LONG[0]}]
            body = json.dumps({"inputs": inputs, "k": 2}).encode()
            client.sendall(request_headers(len(body)) + body)
        wait_until(lambda: server.metric("treecrf_queue_sentences") > 0)
        assert server.stop() == 0
        for client, tree in zip(clients, trees, strict=True):
            headers, _, content = read_all(client).partition(b"\r\n\r\n")
            client.close()
            assert headers.startswith(b"HTTP/1.1 200 ")
            results = json.loads(content)["results"]
            assert results[0]["sentences"][0]["tree"] == tree and len(results) == 2
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)


def test_sigterm_interrupts_no_client(model: Path, parser: Parser) -> None:
    tree = str(parser.parse(SENTENCES[0]))
    response_count = 0

    async def work(client: httpx.AsyncClient) -> None:
        nonlocal response_count
        while True:
            try:
                response = await client.post("/parse", json={"tokens": SENTENCES[0]})
            except httpx.ConnectError:
                return  # the only error allowed: the server no longer listens
            assert response.status_code == 200 and response.json()["sentences"][0]["tree"] == tree
            response_count += 1
            if response_count == 100:
                server.process.terminate()

    with start_server(model) as server:
        run_clients(server, work, 16)
        assert response_count >= 100
        assert server.stop() == 0


def test_the_token_may_come_from_the_environment(model: Path) -> None:
    with start_server(model, token="s3cret") as server:
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert httpx.get(f"{server.url}/models").status_code == 401
        assert httpx.get(f"{server.url}/models", headers={"Authorization": "Bearer s3cret"}).status_code == 200
        assert httpx.get(f"{server.url}/models", headers={"Host": "evil.example"}).status_code == 421
        assert server.stop() == 0
        assert "s3cret" not in "".join(server.log)
        requests = [json.loads(line) for line in server.log if '"request"' in line]
        assert [line["status"] for line in requests] == [401, 200, 421]


def test_responses_are_not_held_back_for_an_acknowledgment() -> None:
    async def no_delay() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        class Protocol(asyncio.Protocol):
            def connection_made(self, transport: Any) -> None:
                option = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                accepted.set_result(option)

        with listen("127.0.0.1", 0) as listener:
            await asyncio.get_running_loop().create_server(Protocol, sock=listener)
            with socket.create_connection(listener.getsockname()):
                return await accepted

    assert asyncio.run(no_delay())
