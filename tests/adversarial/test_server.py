"""Attacks on a server: its other clients are still answered, its memory stays bounded, and each attacker gets an error.

`make soak` runs these tests with more examples (TREECRF_SOAK=1), and then benchmarks/attack_server.py, which measures
times.
"""

import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server_process import TIMEOUT, ServerProcess, read_all, start_checked_server, start_server, wait_until

EXAMPLES = 3000 if os.environ.get("TREECRF_SOAK") else 60
HOST = b"Host: localhost\r\n"
JSON_HEAD = HOST + b"Content-Type: application/json\r\n"
TWO_WORDS = {"tokens": ["a", "cat"]}
SHORT_BODY = b'{"tokens":["a","cat"]}'  # 22 bytes, in hexadecimal 16
LARGE = {"inputs": [{"tokens": ["very"] * 300}] * 20, "k": 20}


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[ServerProcess]:
    with start_checked_server(model) as server:
        yield server


@pytest.fixture(autouse=True)
def other_clients_are_answered(server: ServerProcess) -> Iterator[None]:
    yield
    assert httpx.get(f"{server.url}/health", timeout=TIMEOUT).json() == {"status": "ok"}
    assert httpx.post(f"{server.url}/parse", json=TWO_WORDS, timeout=TIMEOUT).status_code == 200


def exchange(server: ServerProcess, *chunks: bytes, half_close: bool = False) -> tuple[int, bytes]:
    """Sends bytes, and returns the status and the body of the first response; status 0 means that there is none."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT) as client:
        try:
            for chunk in chunks:
                client.sendall(chunk)
            if half_close:
                client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has closed the connection, and its response may still be there to read
        content = read_all(client)
    head, _, body = content.partition(b"\r\n\r\n")
    return (int(head[9:12]), body) if head.startswith(b"HTTP/1.1 ") else (0, content)


def memory_bytes(server: ServerProcess) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def post_large(server: ServerProcess) -> socket.socket:
    """Sends a request with much work on a new connection."""
    body = json.dumps(LARGE).encode()
    client = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
    client.sendall(b"POST /parse/batch HTTP/1.1\r\n" + JSON_HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return client


def test_a_small_request_overtakes_large_ones(server: ServerProcess) -> None:
    clients = [post_large(server) for _ in range(4)]
    wait_until(lambda: server.metric("treecrf_queue_sentences") > 0)
    response = httpx.post(f"{server.url}/parse", json=TWO_WORDS, timeout=TIMEOUT)
    assert response.status_code == 200
    assert server.metric("treecrf_queue_sentences") > 0
    for client in clients:
        client.close()
    wait_until(lambda: server.metric("treecrf_queue_sentences") == 0)


def test_the_drain_ends_at_its_limit_with_status_503(model: Path) -> None:
    with start_server(model, "--max-drain-seconds", "1") as server:
        client = post_large(server)
        wait_until(lambda: server.metric("treecrf_queue_sentences") > 0)
        assert server.stop() == 0
        response = client.recv(1 << 16)
        client.close()
        assert response.startswith(b"HTTP/1.1 503 ") and b"send the request again" in response
        assert "Traceback" not in "".join(server.log)


ENDLESS = {
    "lines": (b"GET /models HTTP/1.1\r\n" + HOST, b"X-Name: value\r\n" * 70_000),
    "one line": (b"GET /models HTTP/1.1\r\n" + HOST + b"X: ", b"a" * 1_000_000),
    "a name": (b"GET /models HTTP/1.1\r\n" + HOST, b"X" * 1_000_000),
    "a target": (b"GET /", b"a" * 1_000_000),
    "a query": (b"GET /models?", b"a" * 1_000_000),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_head_is_status_431(server: ServerProcess, name: str) -> None:
    before = memory_bytes(server)
    start, content = ENDLESS[name]
    status, body = exchange(server, start, *[content] * 20)
    assert status == 431 and "this server's limit is" in json.loads(body)["detail"]
    assert memory_bytes(server) < before + 50_000_000


@pytest.mark.parametrize("part", [b"0\r\n" + b"X: %s\r\n" % (b"a" * 100) * 1000, b"1;" + b"a" * 1_000_000])
def test_endless_trailers_and_chunk_extensions_end_the_connection(server: ServerProcess, part: bytes) -> None:
    before = memory_bytes(server)
    head = b"POST /parse HTTP/1.1\r\n" + JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    status, _ = exchange(server, head, *[part] * 20)
    assert status in (0, 431)  # a client that sends for ever may be disconnected before it reads
    assert memory_bytes(server) < before + 50_000_000


def test_endless_pipelined_requests_end_the_connection(server: ServerProcess) -> None:
    before = memory_bytes(server)
    with post_large(server) as client:
        request = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
        with pytest.raises(OSError):
            for _ in range(1000):
                client.sendall(request * 1000)
    wait_until(lambda: server.metric("treecrf_queue_sentences") == 0)
    assert memory_bytes(server) < before + 100_000_000


@pytest.mark.parametrize("size", [1_000_001, 20_000_000])
@pytest.mark.parametrize("path", ["/parse", "/nowhere"])
def test_a_client_that_sends_too_much_reads_its_error(server: ServerProcess, size: int, path: str) -> None:
    request = urllib.request.Request(
        f"{server.url}{path}", b" " * size, {"Content-Type": "application/json", "Connection": "close"}
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=TIMEOUT)
    assert error.value.code == (413 if path == "/parse" else 404)
    error.value.close()


def test_exhausted_connections_leave_room_for_health_checks_and_other_clients(model: Path) -> None:
    with start_server(model, "--max-connections", "20") as server:
        sockets = [socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT) for _ in range(200)]
        assert httpx.get(f"{server.url}/health", timeout=TIMEOUT).status_code == 200
        transport = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=transport, timeout=TIMEOUT) as client:
            assert client.post(f"{server.url}/parse", json=TWO_WORDS).status_code == 200
        # also from the address of the idle connections
        assert httpx.post(f"{server.url}/parse", json=TWO_WORDS, timeout=TIMEOUT).status_code == 200
        for one in sockets:
            one.close()
        assert server.stop() == 0


def send_long_split(server: ServerProcess, *lines: bytes, after: bytes = b"") -> socket.socket:
    """Sends a request with a response of several megabytes on a new connection, which holds little unread data."""
    body = json.dumps({"text": "ab " * 300_000}).encode()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(TIMEOUT)
    client.connect(("127.0.0.1", server.port))
    head = b"POST /sentences HTTP/1.1\r\n" + JSON_HEAD + b"".join(lines) + b"Content-Length: %d\r\n\r\n" % len(body)
    client.sendall(head + body + after)
    return client


def test_clients_that_do_not_read_their_responses_are_disconnected(server: ServerProcess) -> None:
    request = b"GET /models HTTP/1.1\r\n" + HOST + b"\r\n"  # its response waits for the first one
    with send_long_split(server, after=request) as client, send_long_split(server) as other:
        wait_until(lambda: not is_connected(server, client) and not is_connected(server, other))


def is_connected(server: ServerProcess, client: socket.socket) -> bool:
    """Whether a connection is established in the table of the system."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    established = [(local, remote) for _, local, remote, state, *_ in rows if state == "01"]
    server_port, client_port = f":{server.port:04X}", f":{client.getsockname()[1]:04X}"
    return any(local.endswith(server_port) and remote.endswith(client_port) for local, remote in established)


def test_a_client_that_reads_slowly_gets_its_whole_response(server: ServerProcess) -> None:
    content = b""
    with send_long_split(server, b"Connection: close\r\n") as client:
        while data := client.recv(1 << 16):
            content += data
            time.sleep(len(data) / 1_500_000)
    assert len(json.loads(content.partition(b"\r\n\r\n")[2])["sentences"][0]["words"]) == 300_000


def test_long_words_are_not_kept_in_memory(server: ServerProcess) -> None:
    before = memory_bytes(server)
    with httpx.Client(timeout=TIMEOUT) as client:
        for number in range(80):
            body = {"tokens": [f"{number}" + "w" * 980_000, "a"], "tags": ["T" * 1000, f"{number}"]}
            assert client.post(f"{server.url}/parse", json=body).status_code == 200
    wait_until(lambda: memory_bytes(server) < before + 60_000_000)


BAD_REQUESTS = {
    "two Host headers": b"GET /models HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "no Host header": b"GET /models HTTP/1.1\r\n\r\n",
    "a foreign target": b"GET http://evil.example/models HTTP/1.1\r\n" + HOST + b"\r\n",
    "a foreign target for the health check": b"GET http://evil.example/health HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a line that is folded": b"GET /models HTTP/1.1\r\n" + HOST + b" folded\r\n\r\n",
    "a space in a name": b"GET /models HTTP/1.1\r\n" + HOST + b"a b: c\r\n\r\n",
    "two lengths": b"POST /parse HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length and chunks": b"POST /parse HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    **{
        f"the encoding {encoding.decode()}": b"POST /parse HTTP/1.1\r\n"
        + JSON_HEAD
        + b"Transfer-Encoding: %s\r\n\r\n16\r\n%s\r\n0\r\n\r\n" % (encoding, SHORT_BODY)
        for encoding in (b"xchunked", b"gzip, chunked", b"identity, chunked", b"chunked, identity")
    },
    **{
        f"the chunks {chunks.decode()!r}": b"POST /parse HTTP/1.1\r\n"
        + JSON_HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + chunks
        for chunks in (
            b"16\n%s\n0\n\n" % SHORT_BODY,
            b"0x16\r\n%s\r\n0\r\n\r\n" % SHORT_BODY,
            b"-16\r\n%s\r\n0\r\n\r\n" % SHORT_BODY,
            b"10000000000000016\r\n%s\r\n0\r\n\r\n" % SHORT_BODY,
            b"16\r\n%sXX0\r\n\r\n" % SHORT_BODY,
            b"16;a\n\r\n%s\r\n0\r\n\r\n" % SHORT_BODY,
            b"16\r\n%s\r\n0\r\nContent-Length: 5\r\n\r\n" % SHORT_BODY,
        )
    },
    "a body that another protocol might read": b"POST /parse HTTP/1.1\r\n"
    + JSON_HEAD
    + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 22\r\n\r\n"
    + SHORT_BODY,
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_bad_request_is_status_400_with_a_json_error(server: ServerProcess, name: str) -> None:
    status, body = exchange(server, BAD_REQUESTS[name])
    assert status == 400
    assert set(json.loads(body)) == {"detail", "request_id"}


def test_a_target_on_this_host_is_answered(server: ServerProcess) -> None:
    status, _ = exchange(server, b"GET http://localhost/models HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    assert status == 200


def test_a_foreign_host_in_target_and_header_is_status_421(server: ServerProcess) -> None:
    request = b"GET http://evil.example/models HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert exchange(server, request)[0] == 421


def test_an_upgrade_is_ignored(server: ServerProcess) -> None:
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    request = b"GET /models HTTP/1.1\r\n" + HOST + upgrade + b"\r\n"
    assert exchange(server, request, half_close=True)[0] in (0, 200)
    assert exchange(server, request)[0] == 200


def test_a_client_that_closes_its_side_gets_its_answer(server: ServerProcess) -> None:
    body = json.dumps(TWO_WORDS).encode()
    head = b"POST /parse HTTP/1.1\r\n" + JSON_HEAD + b"Content-Length: %d\r\n\r\n" % len(body)
    status, content = exchange(server, head + body, half_close=True)
    assert status == 200 and json.loads(content)["sentences"]


HEADS = st.lists(
    st.sampled_from([b"GET", b"POST", b"HEAD", b" ", b"/parse", b"/health", b"HTTP/1.1", b"\r\n", b"\n", b":", HOST])
    | st.sampled_from([b"Content-Length: 5", b"Transfer-Encoding: chunked", b"5\r\nabcde\r\n0\r\n\r\n", b"\0", b"{}"])
    | st.binary(max_size=10),
    max_size=25,
).map(b"".join)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(HEADS)
def test_random_requests_get_an_error_or_an_answer(server: ServerProcess, request_bytes: bytes) -> None:
    status, body = exchange(server, request_bytes, half_close=True)
    assert status < 500
    if status >= 400 and not request_bytes.startswith(b"HEAD") and b"HTTP/1.1 " not in body:
        assert set(json.loads(body)) == {"detail", "request_id"}
