"""Servers in processes of their own, asked by many clients, kept waiting, and told to end."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from served import PATIENCE, Served, serving, wait_until
from toygrammar import toy_trees
from treecrf.decoding.constraints import Constraints
from treecrf.parser import Parser

SENTENCES = [tree.words for tree in toy_trees(96, seed=4)]
LONG = [(SENTENCES[0] * 40)[:40]] * 4


def together(server: Served, work: Callable[[httpx.AsyncClient], Awaitable[Any]], count: int) -> list[Any]:
    """What becomes of many clients' work at the same time, each on a connection of its own."""

    async def client() -> Any:
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as own:
            return await work(own)

    async def run() -> list[Any]:
        return list(await asyncio.gather(*(client() for _ in range(count))))

    return asyncio.run(run())


def test_64_clients_get_their_own_answers(server: Served, parser: Parser) -> None:
    offline = [str(tree) for tree in parser.parse_many(SENTENCES)]
    best = [str(tree) for tree in parser.parse_many(SENTENCES, mbr=False)]
    number = iter(range(10**6))

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(4):
            turn = next(number)
            place, k, mbr = turn % len(SENTENCES), turn % 3, turn % 5 > 0
            body = {"tokens": SENTENCES[place], "k": k, "mbr": mbr, "probabilities": turn % 2 > 0}
            answer = await client.post("/parse", json=body)
            assert answer.status_code == 200
            (sentence,) = answer.json()["sentences"]
            assert sentence["words"] == SENTENCES[place]
            assert sentence["tree"] == (offline if mbr else best)[place]
            assert len(sentence.get("kbest", [])) == k
            assert ("log_prob" in sentence) == (turn % 2 > 0)

    together(server, work, 64)
    assert server.number("treecrf_batch_requests_sum") > server.number("treecrf_batch_requests_count")


def test_bad_constraints_fail_their_own_request_alone(server: Served, parser: Parser) -> None:
    words = SENTENCES[0]
    tree = str(parser.parse(words, constraints=Constraints(require=[(0, 2)])))
    number = iter(range(10**6))

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(3):
            is_bad = next(number) % 2 > 0
            known = [{"start": 0, "end": 2}] + [{"start": 1, "end": 3}] * is_bad
            answer = await client.post("/parse", json={"tokens": words, "constraints": {"require": known}})
            assert answer.status_code == (422 if is_bad else 200)
            assert is_bad or answer.json()["sentences"][0]["tree"] == tree

    together(server, work, 16)


def test_a_client_that_leaves_is_forgotten(server: Served) -> None:
    inputs = [{"tokens": LONG[0]}] * 1000
    body = json.dumps({"inputs": inputs, "k": 20}).encode()
    before = server.number("treecrf_dropped_sentences_total")
    with connected(server) as client:
        client.sendall(head(len(body)) + body)
        wait_until(lambda: server.number("treecrf_queue_sentences") > 0)
    wait_until(lambda: server.number("treecrf_dropped_sentences_total") > before)
    wait_until(lambda: server.number("treecrf_queue_sentences") == 0)
    assert httpx.get(f"{server.url}/health").status_code == 200


def head(size: int, path: str = "/parse/batch") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {size}")
    return "\r\n".join([*lines, "", ""]).encode()


class connected:
    """A bare connection to a server."""

    def __init__(self, server: Served) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def read_all(client: socket.socket) -> bytes:
    """What comes until the other side closes."""
    found = b""
    try:
        while part := client.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET / HT", b"POST /parse HTTP/1.1\r\nHost: local", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /"],
)
def test_a_request_that_never_comes_is_not_waited_for(server: Served, beginning: bytes) -> None:
    with connected(server) as client:
        client.sendall(beginning)
        read_all(client)
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_a_body_that_does_not_come_is_a_408(server: Served) -> None:
    with connected(server) as client:
        client.sendall(head(100) + b'{"te')
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_many_slow_clients_do_not_keep_others_waiting(server: Served) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(50)]
    try:
        for number, client in enumerate(slow):
            client.sendall(head(100)[: 20 + number] if number % 2 else head(100) + b"{")
        answer = httpx.post(f"{server.url}/parse", json={"tokens": ["a", "cat"]}, timeout=PATIENCE)
        assert answer.status_code == 200
    finally:
        for client in slow:
            client.close()


def test_too_many_connections_are_a_503_that_passes(model: Path) -> None:
    with serving(model, "--max-connections", "3") as server:
        held = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(3)]
        answer = httpx.get(f"{server.url}/models", timeout=PATIENCE)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        for client in held:
            client.close()
        wait_until(lambda: httpx.get(f"{server.url}/models", timeout=PATIENCE).status_code == 200)
        assert server.end() == 0


def test_an_answer_that_is_never_read_holds_nothing_up(model: Path) -> None:
    body = json.dumps({"inputs": [{"tokens": LONG[0]}] * 1000}).encode()
    with serving(model, "--max-body-seconds", "1") as server, connected(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(head(len(body)) + body)
        wait_until(lambda: server.number('treecrf_requests_total{method="POST",path="/parse/batch",status="200"}'))
        assert server.end() == 0


@pytest.mark.parametrize("is_chunked", [False, True])
def test_ten_megabytes_are_refused(server: Served, is_chunked: bool) -> None:
    body = b'{"text": "' + b"a" * 10_000_000 + b'"}'

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(body), 1 << 16):
            yield body[start : start + (1 << 16)]

    headers = {"Content-Type": "application/json"}
    content: Any = chunks() if is_chunked else body
    answer = httpx.post(f"{server.url}/parse", content=content, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 413
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_what_is_no_http_is_refused(server: Served) -> None:
    for junk in (b"\0" * 1000 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9, b"GET /\r\n\r\n" * 9):
        with connected(server) as client:
            client.sendall(junk)
            assert b" 200 " not in read_all(client)[:20]
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_an_overflow_is_a_503_and_passes(model: Path) -> None:
    with serving(model, "--max-queue", "4", "--max-sentences", "4") as server:
        body = {"inputs": [{"tokens": words} for words in LONG], "k": 20}

        async def work(client: httpx.AsyncClient) -> int:
            answer = await client.post("/parse/batch", json=body)
            assert answer.status_code == 200 or 1 <= int(answer.headers["retry-after"]) <= 60
            return int(answer.status_code)

        statuses = together(server, work, 24)
        assert set(statuses) == {200, 503}
        assert httpx.post(f"{server.url}/parse/batch", json=body, timeout=PATIENCE).status_code == 200
        assert server.end() == 0


def test_sigterm_loses_nothing_that_was_accepted(model: Path, parser: Parser) -> None:
    offline = [str(parser.parse(words)) for words in SENTENCES[:24]]
    with serving(model) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in SENTENCES[:24]]
        for client, words in zip(clients, SENTENCES, strict=False):
            inputs = [{"tokens": words}] + [{"tokens": LONG[0]}] * 3
            body = json.dumps({"inputs": inputs, "k": 5}).encode()
            client.sendall(head(len(body)) + body)
        wait_until(lambda: server.number("treecrf_queue_sentences") > 0)
        assert server.end() == 0
        for client, tree in zip(clients, offline, strict=True):
            start, _, content = read_all(client).partition(b"\r\n\r\n")
            client.close()
            assert start.startswith(b"HTTP/1.1 200 ")
            results = json.loads(content)["results"]
            assert results[0]["sentences"][0]["tree"] == tree and len(results) == 4
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def test_sigterm_interrupts_no_conversation(model: Path, parser: Parser) -> None:
    tree = str(parser.parse(SENTENCES[0]))
    answered = 0

    async def work(client: httpx.AsyncClient) -> None:
        nonlocal answered
        while True:
            try:
                answer = await client.post("/parse", json={"tokens": SENTENCES[0]})
            except httpx.ConnectError:
                return  # the only way in which it may end: nobody listens any more
            assert answer.status_code == 200 and answer.json()["sentences"][0]["tree"] == tree
            answered += 1
            if answered == 100:
                server.process.terminate()

    with serving(model) as server:
        together(server, work, 16)
        assert answered >= 100
        assert server.end() == 0


def test_a_token_from_the_environment_guards_a_server(model: Path) -> None:
    with serving(model, token="s3cret") as server:
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert httpx.get(f"{server.url}/models").status_code == 401
        assert httpx.get(f"{server.url}/models", headers={"Authorization": "Bearer s3cret"}).status_code == 200
        assert httpx.get(f"{server.url}/models", headers={"Host": "evil.example"}).status_code == 421
        assert server.end() == 0
        assert "s3cret" not in "".join(server.log)
        requests = [json.loads(line) for line in server.log if '"request"' in line]
        assert [line["status"] for line in requests] == [401, 200, 421]
