"""Mixed traffic against a server, with every answer compared: `make soak`.

    python tests/adversarial/soak_server.py [--minutes 60] [--model en] [--clients 8] [--seed 1]

Clients with several addresses send texts, words, batches, trees to search and convert, errors and requests of CoreNLP's
protocol, on kept and new connections; others leave before their answer, send broken requests, or do not read. The same
app answers each request once in this process, and the server's answers must be the same. Prints the right, wrong and
lost answers, the latencies by kind of request, and the memory of the server and its search processes each minute. An
answer with status 503 that says when to send the request again is neither right nor wrong: a busy machine may make the
server give it.
"""

import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx
from fastapi.testclient import TestClient

from server_process import start_server
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.server.app import create_app

HEADERS = {"x-request-id": "soak"}
JSON = {**HEADERS, "content-type": "application/json"}
PLAIN = {**HEADERS, "content-type": "text/plain"}
PATTERNS = ("NP", "NP < DT=d", "S << /e/", "VP > S", "__ .. (NP=x < NN)", "(", "NP <")
BAD_BODIES = ('{"text":', '{"tokens": [1]}', '{"k": 99, "text": "a"}')
MAX_GROWTH = 20  # megabytes
TIMEOUT = 600.0  # seconds, enough for a machine that is busy with other work


class Exchange(NamedTuple):
    """A request and its right answer."""

    kind: str
    path: str
    body: str
    headers: dict[str, str]
    status: int = 0
    answer: bytes = b""

    @property
    def method(self) -> str:
        return "POST" if self.body else "GET"


def make_requests(generator: random.Random, number: int) -> list[Exchange]:
    trees = toy_trees(300, seed=generator.randrange(1 << 30))
    requests = []
    for _ in range(number):
        sample = [generator.choice(trees) for _ in range(generator.randint(1, 6))]
        words, brackets = [tree.words for tree in sample], list(map(str, sample))
        text = " ".join(" ".join(sentence).capitalize() + "." for sentence in words)
        options: dict[str, object] = {"k": generator.choice([0, 0, 0, 3])}
        options |= {name: generator.random() < 0.3 for name in ("probabilities", "functions", "empties")}
        pattern = generator.choice(PATTERNS)
        requests += [
            Exchange("words", "/parse", json.dumps({"tokens": words[0], **options}), JSON),
            Exchange("text", "/parse", json.dumps({"text": text, "format": "pretty"}), JSON),
            Exchange("batch", "/parse/batch", json.dumps({"inputs": [{"tokens": w} for w in words], **options}), JSON),
            Exchange("split", "/sentences", json.dumps({"text": text * 20}), JSON),
            Exchange("error", "/parse", generator.choice(BAD_BODIES), JSON),
            Exchange("corenlp", "/", text, PLAIN),
            Exchange("tregex", f"/tregex?{httpx.QueryParams(pattern=pattern)}", text, PLAIN),
            Exchange("search", "/search", json.dumps({"pattern": pattern, "trees": brackets}), JSON),
            Exchange("relations", "/dependencies", json.dumps({"trees": brackets}), JSON),
            Exchange("labels", "/labels", "", HEADERS),
        ]
    return requests


def with_answers(requests: list[Exchange], model: str) -> list[Exchange]:
    app = create_app({Path(model).name: Parser.load(model, "cpu")}, corenlp=True)
    answered = []
    with TestClient(app) as client:
        for request in requests:
            response = client.request(request.method, request.path, content=request.body, headers=request.headers)
            answered.append(request._replace(status=response.status_code, answer=response.content))
    return answered


class Soak:
    """The clients of a server, and what became of their requests."""

    def __init__(self, port: int, requests: list[Exchange], seconds: float) -> None:
        self.port = port
        self.requests = requests
        self.deadline = time.monotonic() + seconds
        self.results: Counter[str] = Counter()
        self.latencies: dict[str, list[float]] = defaultdict(list)
        self.wrong: list[str] = []

    def send_requests(self, number: int) -> None:
        generator = random.Random(number)
        transport = httpx.HTTPTransport(local_address=f"127.0.0.{2 + number}")
        with httpx.Client(transport=transport, timeout=TIMEOUT, base_url=f"http://127.0.0.1:{self.port}") as client:
            while time.monotonic() < self.deadline:
                request = generator.choice(self.requests)
                close = {"connection": "close"} if generator.random() < 0.1 else {}
                started = time.monotonic()
                try:
                    headers = request.headers | close
                    response = client.request(request.method, request.path, content=request.body, headers=headers)
                except httpx.HTTPError as error:
                    self.results[f"lost: {type(error).__name__}"] += 1
                    continue
                self.latencies[request.kind].append(time.monotonic() - started)
                if response.status_code == 503 and "retry-after" in response.headers:
                    self.results["sent back"] += 1
                    time.sleep(float(response.headers["retry-after"]))
                    continue
                is_right = (response.status_code, response.content) == (request.status, request.answer)
                self.results["right" if is_right else "wrong"] += 1
                if not is_right:
                    self.wrong.append(f"{request.kind} {response.status_code}: {response.text[:200]}")

    def disturb(self, number: int) -> None:
        """Leaves before answers, sends broken requests, and does not read."""
        generator = random.Random(number)
        while time.monotonic() < self.deadline:
            request = generator.choice(self.requests)
            kind = request.headers.get("content-type", "")
            head = f"{request.method} {request.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            content = f"{head}Content-Length: {len(request.body.encode())}\r\n\r\n{request.body}".encode()
            address = ("127.0.0.1", self.port)
            with (
                suppress(OSError),  # the server may close the connection at any time
                socket.create_connection(address, TIMEOUT, source_address=("127.0.0.99", 0)) as client,
            ):
                client.sendall(content[: generator.randrange(len(content))] if generator.random() < 0.5 else content)
                if generator.random() < 0.2:
                    client.sendall(os.urandom(generator.randrange(1000)))
                time.sleep(generator.choice([0, 0.01, 0.5]))
            self.results["left before the answer"] += 1


def resident_megabytes(pid: int) -> tuple[float, float]:
    """The memory of a process, and of its child processes together."""
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    sizes = []
    for process in (str(pid), *children):
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
        sizes.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
    return sizes[0], sum(sizes[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description="Soaks a server in mixed traffic.")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--model", default="en")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    requests = with_answers(make_requests(random.Random(args.seed), 60), args.model)
    with start_server(args.model, "--corenlp") as server:
        warm_up = Soak(server.port, requests, 10.0)
        warm_up.send_requests(0)
        soak = Soak(server.port, requests, 60 * args.minutes)
        base, _ = resident_megabytes(server.process.pid)
        threads = [threading.Thread(target=soak.send_requests, args=(number,)) for number in range(args.clients)]
        threads += [threading.Thread(target=soak.disturb, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for minute in count(1):
            while any(thread.is_alive() for thread in threads) and time.monotonic() < soak.deadline - 60 * (
                args.minutes - minute
            ):
                time.sleep(0.2)
            memory, searches = resident_megabytes(server.process.pid)
            print(
                f"minute {minute}: {memory:.0f} MB, search processes {searches:.0f} MB, {dict(soak.results)}",
                flush=True,
            )
            if not any(thread.is_alive() for thread in threads):
                break
        time.sleep(20)
        end, _ = resident_megabytes(server.process.pid)
        status = server.stop()
        tracebacks = [line for line in server.log if "Traceback" in line]
    for kind, seconds in sorted(soak.latencies.items()):
        p50, p99 = statistics.quantiles(seconds, n=100)[49], statistics.quantiles(seconds, n=100)[98]
        print(f"{kind:9} {len(seconds):8,} answers, p50 {p50:.3f} s, p99 {p99:.3f} s, slowest {max(seconds):.3f} s")
    lost = sum(number for name, number in soak.results.items() if name.startswith("lost"))
    print(f"right {soak.results['right']:,}, wrong {soak.results['wrong']:,}, lost {lost:,}", end=", ")
    print(f"sent back {soak.results['sent back']:,}")
    print(f"memory {base:.0f} MB before, {end:.0f} MB after; exit status {status}, {len(tracebacks)} tracebacks")
    print(*soak.wrong[:5], *tracebacks[:5], sep="\n")
    sys.exit(bool(soak.results["wrong"] or lost or status or tracebacks or end > base + MAX_GROWTH))


if __name__ == "__main__":
    main()
