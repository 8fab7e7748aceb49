"""Measures a server with many clients, with and without batching, and with a single client.

    python benchmarks/serve.py --model en --clients 64 --requests 2000

The server runs in its own process; all clients run in this one. Every response is compared with the parse of the same
sentence without a server. The sentences come from the toy grammar of the tests, or from a file with one tokenized
sentence per line. The server's CPU time shows how much work batching saves, even on a busy machine.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent


class LoadResult(NamedTuple):
    """Latencies of a load test, and how many responses were wrong or missing."""

    seconds: float
    latencies: list[float]
    errors: int

    def __str__(self) -> str:
        percentiles = statistics.quantiles(self.latencies, n=100)
        p50, p99 = 1000 * percentiles[49], 1000 * percentiles[98]
        return (
            f"{self.requests_per_second:8.1f} requests/s   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms   "
            f"wrong or lost: {self.errors}"
        )

    @property
    def requests_per_second(self) -> float:
        return len(self.latencies) / self.seconds


async def send_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: list[str], *, probabilities: bool
) -> dict[str, object]:
    """Sends one request on an open connection, and returns the parsed sentence."""
    body = json.dumps({"tokens": words, "probabilities": probabilities}).encode()
    head = ("POST /parse HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}")
    writer.write("\r\n".join([*head, "", ""]).encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    size = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
    content = json.loads(await reader.readexactly(size))
    assert b" 200 " in lines[0], content
    return dict(content["sentences"][0])


async def run_load(
    port: int, examples: list[tuple[list[str], str]], *, clients: int, requests: int, probabilities: bool
) -> LoadResult:
    """Sends a number of requests from concurrent clients; each client waits for a response before its next request."""
    remaining = islice(cycle(examples), requests)
    latencies: list[float] = []
    errors = 0

    async def run_client() -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for words, tree in remaining:
            start = time.perf_counter()
            sentence = await send_request(reader, writer, words, probabilities=probabilities)
            latencies.append(time.perf_counter() - start)
            errors += sentence["tree"] != tree or sentence["words"] != words
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(run_client() for _ in range(clients)))
    seconds = time.perf_counter() - start
    return LoadResult(seconds, latencies, errors + requests - len(latencies))


class ServerProcess:
    """A context manager that starts a server, returns its port, and stops it."""

    def __init__(self, model: str, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-m", "treecrf", "serve", "--model", model, "--port", str(self.port), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ})

    def __enter__(self) -> int:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self.port
            except OSError:
                time.sleep(0.1)
        raise TimeoutError("the server did not start within a minute")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        if self.process.wait():
            raise RuntimeError(f"the server exited with status {self.process.returncode}")


def read_cpu_seconds(port: int) -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        lines = response.read().decode().split("\n")
    return next(float(line.split(" ")[1]) for line in lines if line.startswith("process_cpu_seconds_total "))


def read_sentences(file: Path | None, count: int) -> list[list[str]]:
    if file is not None:
        return [line.split() for line in islice(file.open(encoding="utf-8"), count) if line.strip()]
    sys.path.insert(0, str(ROOT / "tests"))
    from toygrammar import toy_trees

    return [tree.words for tree in toy_trees(count, seed=1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en", help="a model's name or folder")
    parser.add_argument("--sentences", type=Path, help="a file with one tokenized sentence per line")
    parser.add_argument("--count", type=int, default=500, help="number of different sentences")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--probabilities", action="store_true", help="request probabilities too")
    args = parser.parse_args()

    from treecrf import Parser

    sentences = read_sentences(args.sentences, args.count)
    trees = Parser.load(args.model, "cpu").parse_many(sentences)
    examples = [(words, str(tree)) for words, tree in zip(sentences, trees, strict=True)]
    mean_words = sum(map(len, sentences)) / len(sentences)
    print(f"{len(sentences)} sentences of {mean_words:.1f} words on average, {os.cpu_count()} cores for both processes")
    rates = {}
    for name, clients, options in (
        ("one client", 1, ()),
        (f"{args.clients} clients, one at a time", args.clients, ("--max-batch-words", "1")),
        (f"{args.clients} clients, in batches", args.clients, ()),
    ):
        with ServerProcess(args.model, "--device", "cpu", *options) as port:
            settings = {"clients": clients, "probabilities": args.probabilities}
            asyncio.run(run_load(port, examples, requests=4 * clients + 50, **settings))  # warm-up
            requests = args.requests if options == () and clients > 1 else args.requests // 4
            cpu_seconds = read_cpu_seconds(port)
            result = asyncio.run(run_load(port, examples, requests=requests, **settings))
            cpu_milliseconds = 1000 * (read_cpu_seconds(port) - cpu_seconds) / requests
        rates[name] = result.requests_per_second
        print(f"{name:30} {result}   server's CPU {cpu_milliseconds:6.2f} ms/request", flush=True)
    single, unbatched, batched = rates.values()
    print(f"in batches: {batched / single:.1f} x one client, {batched / unbatched:.1f} x one at a time")


if __name__ == "__main__":
    main()
