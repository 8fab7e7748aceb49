"""Attacks on the searches of a server: code in its folder, slow patterns, long answers and slow readers."""

import os
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from server_process import TIMEOUT, ServerProcess, start_server, wait_until

SLOW = r"/^(\w|\w\w)+!$/"
SLOW_TEXT = "a" * 40
PLAIN = {"content-type": "text/plain"}


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[ServerProcess]:
    with start_server(model, "--corenlp") as server:
        yield server
        assert server.stop() == 0
        assert "Traceback" not in "".join(server.log)


def search(server: ServerProcess, pattern: str, text: str, address: str = "127.0.0.1") -> httpx.Response:
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(transport=transport, timeout=TIMEOUT) as client:
        return client.post(f"{server.url}/tregex", params={"pattern": pattern}, content=text, headers=PLAIN)


def test_a_search_runs_no_code_from_the_current_folder(model: Path, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    for name in ("resource", "json", "numpy", "encodings", "treecrf", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').write({name!r})\n")
    with start_server(model, "--corenlp", folder=tmp_path) as server:
        response = search(server, "__", "We sing.")
        assert response.status_code == 200 and response.json()["sentences"]
        assert server.stop() == 0
    assert not mark.exists(), mark.read_text()


def test_searches_of_another_client_do_not_wait_for_slow_ones(server: ServerProcess) -> None:
    attackers = [send_search(server, SLOW, SLOW_TEXT) for _ in range(20)]
    try:
        # the attacker may let only some searches wait
        wait_until(lambda: any(is_readable(attacker) for attacker in attackers))
        seconds = []
        for _ in range(10):
            start = time.monotonic()
            assert search(server, "__", "We sing.", address="127.0.0.2").status_code == 200
            seconds.append(time.monotonic() - start)
        print(f"searches of another client: {max(seconds):.2f} s at most")
        waiting = [attacker for attacker in attackers if not is_readable(attacker)]
        refused = [attacker for attacker in attackers if attacker not in waiting]
        assert waiting and {attacker.recv(1 << 16)[:12] for attacker in refused} <= {b"HTTP/1.1 503", b"HTTP/1.1 422"}
    finally:
        for attacker in attackers:
            attacker.close()


def is_readable(client: socket.socket) -> bool:
    return bool(select.select([client], [], [], 0)[0])


def test_answers_are_within_their_limit_and_slow_readers_of_a_client_hold_one_of_them(server: ServerProcess) -> None:
    text = "a " * 290
    whole = search(server, "__=a .. __=b", "a " * 110, address="127.0.0.3")
    assert whole.status_code == 422 and "more than 10,000,000 bytes" in whole.json()["detail"]
    pattern = "/a/=a .. /a/=b"
    answer = search(server, pattern, text, address="127.0.0.3")
    assert answer.status_code == 200 and 1_000_000 < len(answer.content) < 10_000_000
    base = memory_bytes(server)
    clients = [send_search(server, pattern, text) for _ in range(9)]
    time.sleep(3)
    peak = memory_bytes(server)
    for client in clients:
        client.close()
    assert peak < base + 3 * len(answer.content) + 20_000_000


def memory_bytes(server: ServerProcess) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def send_search(server: ServerProcess, pattern: str, text: str) -> socket.socket:
    """Sends a search on a connection that holds little unread data, and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(TIMEOUT)
    client.connect(("127.0.0.1", server.port))
    head = f"POST /tregex?{urlencode({'pattern': pattern})} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    client.sendall(f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode())
    return client


def test_a_pattern_with_endless_matches_is_an_error(server: ServerProcess) -> None:
    pattern = "__" + "".join(f" .. __=a{number}" for number in range(40))
    response = search(server, pattern, "a b c d e f g.", address="127.0.0.4")
    assert response.status_code == 422 and response.json()["detail"], response.text[:200]
