"""Attacks a server, and measures how other clients fare meanwhile.

    python benchmarks/attack_server.py --model en
    python benchmarks/attack_server.py --model en --attacks kbest headers --same-address

Each attack runs against a fresh server. While it runs, one prober sends `GET /health` and another one parses two words,
each on a new connection. The probers have another address than the attacker (127.0.0.2), unless `--same-address` is
given. The table has the worst seconds of both probers, the server's memory before the attack, at its peak, and ten
seconds after it, and how the attacker was answered.
"""

import http.client
import json
import os
import socket
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from common import command_line, resident_megabytes
from server_process import start_server

ATTACK_SECONDS = 10.0
TIMEOUT = 300.0
ATTACKER = "127.0.0.1"


def post(port: int, path: str, body: bytes, *, address: str = ATTACKER, kind: str = "application/json") -> str:
    """Sends one request, and returns the status of its response, or the name of the error."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT, source_address=(address, 0))
    try:
        headers = {"Content-Type": kind, "Connection": "close"}
        connection.request("POST" if body else "GET", path, body or None, headers)
        response = connection.getresponse()
        response.read()
        return str(response.status)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


class Probe:
    """Repeats a request until it is stopped, and keeps the seconds of each response."""

    def __init__(self, port: int, path: str, body: bytes, address: str) -> None:
        self.seconds: list[float] = []
        self.statuses: Counter[str] = Counter()
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(port, path, body, address))
        self._thread.start()

    def _run(self, port: int, path: str, body: bytes, address: str) -> None:
        while not self._is_stopped.is_set():
            start = time.perf_counter()
            self.statuses[post(port, path, body, address=address)] += 1
            self.seconds.append(time.perf_counter() - start)
            self._is_stopped.wait(0.1)

    def stop(self) -> None:
        self._is_stopped.set()
        self._thread.join()

    def __str__(self) -> str:
        refused = {status: count for status, count in self.statuses.items() if status != "200"}
        return f"{max(self.seconds):6.2f} s{f' {refused}' if refused else ''}"


def repeat(work: Callable[[], str], *, threads: int = 1, seconds: float = ATTACK_SECONDS) -> Counter[str]:
    """Repeats work in several threads for some seconds, and counts its results."""
    deadline = time.monotonic() + seconds

    def run() -> Counter[str]:
        results: Counter[str] = Counter()
        while time.monotonic() < deadline:
            results[work()] += 1
        return results

    with ThreadPoolExecutor(threads) as pool:
        return sum((future.result() for future in [pool.submit(run) for _ in range(threads)]), Counter())


def attack_duplicate_names(port: int) -> object:
    """One body of 1 MB in which the last name of an object repeats the one before it."""
    names = ", ".join(f'"{number}": 0' for number in range(80_000))
    return post(port, "/parse", f'{{{names}, "79999": 0}}'.encode()[:999_999])


def attack_invalid_values(port: int) -> object:
    """Bodies of 1 MB whose values all have the wrong type."""
    body = b'{"tokens": [' + b"1," * 490_000 + b"1]}"
    return repeat(lambda: post(port, "/parse", body), threads=4)


def attack_many_inputs(port: int) -> object:
    """Bodies of 1 MB with as many inputs as possible."""
    body = b'{"inputs": [' + b'{"tokens":["a"]},' * 58_000 + b'{"tokens":["a"]}]}'
    return repeat(lambda: post(port, "/parse/batch", body), threads=4)


def kbest_body(sentences: int = 20, words: int = 300, k: int = 20) -> bytes:
    return json.dumps({"inputs": [{"tokens": ["very"] * words}] * sentences, "k": k}).encode()


def attack_kbest(port: int) -> object:
    """One request for 20 trees of each of 20 sentences of 300 equal words."""
    return post(port, "/parse/batch", kbest_body())


def attack_many_kbest(port: int) -> object:
    """The same from 30 connections at once, for ten seconds; then the attacker disconnects."""
    return send_and_leave(port, kbest_body(), connections=30)


def attack_short_kbest(port: int) -> object:
    """Requests for 20 trees of each of 1,000 sentences of one word, from 4 connections at once, for ten seconds."""
    body = json.dumps({"inputs": [{"tokens": ["w" * 900]}] * 1000, "k": 20}).encode()
    return send_and_leave(port, body, connections=4)


def attack_long_sentences(port: int) -> object:
    """Requests for 500 sentences of 300 words from 4 connections at once, for ten seconds."""
    body = json.dumps({"inputs": [{"tokens": ["a"] * 300}] * 500}).encode()
    return send_and_leave(port, body, connections=4)


def attack_corenlp(port: int) -> object:
    """A request of CoreNLP's protocol with 1,000 sentences of 96 words, and with all annotators."""
    properties = {"annotators": "tokenize,ssplit,pos,lemma,parse", "ssplit.eolonly": True, "tokenize.whitespace": True}
    query = urllib.parse.urlencode({"properties": json.dumps(properties)})
    return post(port, f"/?{query}", (b"the cat sees a dog . " * 16 + b"\n") * 1000, kind="text/plain")


def attack_tregex(port: int) -> object:
    """Slow Tregex patterns over 300 sentences on 20 connections; then the attacker disconnects."""
    query = urllib.parse.urlencode({"pattern": "/^(a+)+$/", "properties": '{"ssplit.eolonly": true}'})
    body = b"a" * 40 + b"b " + (b"the cat sees a dog . " * 3 + b"\n") * 300
    return send_and_leave(port, body, connections=20, target=f"/tregex?{query}", kind="text/plain")


def attack_unread_responses(port: int) -> object:
    """Requests with responses of 7 MB that are not read, each with a second request, on 20 connections."""
    body = json.dumps({"text": "ab " * 330_000}).encode()
    head = b"POST /sentences HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(body)
    sockets = []
    for _ in range(20):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", port))
        one.sendall(head + body + b"GET /models HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sockets.append(one)
    time.sleep(4 * ATTACK_SECONDS)
    for one in sockets:
        one.close()
    return "left"


def send_and_leave(
    port: int, body: bytes, *, connections: int, target: str = "/parse/batch", kind: str = "application/json"
) -> str:
    head = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
    sockets = [connect(port) for _ in range(connections)]
    for one in sockets:
        one.sendall(f"{head}\r\n\r\n".encode() + body)
    time.sleep(ATTACK_SECONDS)
    for one in sockets:
        one.close()
    return "left"


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT, source_address=(ATTACKER, 0))


def attack_headers(port: int) -> object:
    """Request heads of endless lines on 8 connections."""
    lines = b"".join(b"X-%06d: %s\r\n" % (number, b"a" * 1000) for number in range(1000))
    return repeat(lambda: flood(port, b"GET /models HTTP/1.1\r\nHost: localhost\r\n", lines), threads=8)


def attack_one_header(port: int) -> object:
    """Request heads with one endless line on 8 connections."""
    return repeat(lambda: flood(port, b"GET /models HTTP/1.1\r\nHost: localhost\r\nX: ", b"a" * 1_000_000), threads=8)


def attack_trailers(port: int) -> object:
    """Endless trailers after a chunked body on 8 connections."""
    head = b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    lines = b"".join(b"X-%06d: %s\r\n" % (number, b"a" * 1000) for number in range(1000))
    return repeat(lambda: flood(port, head + b"2\r\n{}\r\n0\r\n", lines), threads=8)


def attack_pipelining(port: int) -> object:
    """Endless pipelined requests behind a slow one on 8 connections."""
    body = kbest_body(4, 300, 20)
    head = (
        b"POST /parse/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    return repeat(
        lambda: flood(port, head % len(body) + body, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5000),
        threads=8,
    )


def flood(port: int, start: bytes, content: bytes) -> str:
    """Sends content again and again until the server stops reading, and returns the status of its response."""
    try:
        with connect(port) as client:
            client.settimeout(1.0)
            client.sendall(start)
            deadline = time.monotonic() + ATTACK_SECONDS
            try:
                while time.monotonic() < deadline:
                    client.sendall(content)
            except OSError:
                pass
            return client.recv(100)[9:12].decode() or "closed"
    except OSError as error:
        return type(error).__name__


def attack_line_breaks(port: int) -> object:
    """A text of 450,000 line breaks, and many texts of 20,000."""
    for count, threads in ((450_000, 1), (19_000, 4)):
        body = json.dumps({"text": "\n" * count}).encode()
        result = repeat(lambda body=body: post(port, "/parse", body), threads=threads, seconds=5)  # type: ignore[misc]
    return result


def attack_long_words(port: int) -> object:
    """600 requests with one word of 980 KB each."""
    numbers = iter(range(600))

    def send() -> str:
        number = next(numbers, None)
        return "" if number is None else post(port, "/parse", b'{"tokens": ["%06d%s"]}' % (number, b"w" * 980_000))

    return repeat(send, threads=4, seconds=60)[str(200)]


def attack_connections(port: int) -> object:
    """900 idle connections, which are opened again when the server closes them."""

    def check(one: socket.socket) -> None:
        one.setblocking(False)
        try:
            if one.recv(1) == b"":
                raise ConnectionResetError
        except BlockingIOError:
            pass  # still open

    return hold_connections(port, 900, check, pause=0.1)


def attack_slow_bodies(port: int) -> object:
    """600 connections that each announce a body and send a byte of it per second."""
    head = b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    return hold_connections(port, 600, lambda one: one.sendall(b" "), head=head, pause=1)


def hold_connections(
    port: int, count: int, use: Callable[[socket.socket], None], *, head: bytes = b"", pause: float
) -> str:
    """Holds connections and uses each after every pause; a connection that fails is opened again."""
    sockets = [connect(port) for _ in range(count)]
    for one in sockets:
        one.sendall(head)
    deadline = time.monotonic() + ATTACK_SECONDS
    while time.monotonic() < deadline:
        for number, one in enumerate(sockets):
            try:
                use(one)
            except OSError:
                one.close()
                sockets[number] = connect(port)
        time.sleep(pause)
    for one in sockets:
        one.close()
    return "left"


def attack_large_bodies(port: int) -> object:
    """Bodies of 20 MB, sent whole before the response is read."""
    body = b'{"text": "' + b"a" * 20_000_000 + b'"}'
    return repeat(lambda: post(port, "/parse", body), threads=4)


ATTACKS: dict[str, Callable[[int], object]] = {
    name.removeprefix("attack_").replace("_", "-"): function
    for name, function in list(globals().items())
    if name.startswith("attack_")
}


def measure(name: str, model: str, probe_address: str) -> None:
    with start_server(model, "--corenlp") as server, ThreadPoolExecutor(1) as pool:
        post(server.port, "/parse", b'{"tokens": ["a", "cat"]}')
        base = peak = resident_megabytes(server.process.pid)
        probes = [
            Probe(server.port, "/health", b"", probe_address),
            Probe(server.port, "/parse", b'{"tokens": ["a", "cat"]}', probe_address),
        ]
        attack = pool.submit(ATTACKS[name], server.port)
        while not attack.done():
            peak = max(peak, resident_megabytes(server.process.pid))
            time.sleep(0.05)
        for probe in probes:
            probe.stop()
        time.sleep(10)
        health, parse = probes
        memory = f"{base:5.0f} {peak:6.0f} {resident_megabytes(server.process.pid):6.0f} MB"
        print(f"{name:18} {health!s:>9} {parse!s:>9}   {memory}   {attack.result()}", flush=True)


def measure_drain(model: str) -> None:
    """Stops a server with a drain limit of three seconds during the k-best attack."""
    with start_server(model, "--corenlp", "--max-drain-seconds", "3") as server, ThreadPoolExecutor(1) as pool:
        post(server.port, "/parse", b'{"tokens": ["a", "cat"]}')
        attack = pool.submit(attack_kbest, server.port)
        time.sleep(2)
        start = time.perf_counter()
        status = server.stop()
        seconds = time.perf_counter() - start
        print(f"drain: exit status {status} after {seconds:.1f} s with a limit of 3 s; response {attack.result()}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--model", default="en", help="a model's name or folder")
    parser.add_argument("--attacks", nargs="+", choices=[*ATTACKS, "drain"], default=[*ATTACKS, "drain"])
    parser.add_argument("--same-address", action="store_true", help="probe from the attacker's address")
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores\n{'attack':18} {'health':>9} {'parse':>9}   base   peak  after      attacker")
    for name in args.attacks:
        if name == "drain":
            measure_drain(args.model)
        else:
            measure(name, args.model, ATTACKER if args.same_address else "127.0.0.2")


if __name__ == "__main__":
    main()
