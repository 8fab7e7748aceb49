"""Measures a server with many clients, with and without batching, and with a single client.

    python benchmarks/serve.py --model en --clients 64 --requests 2000

The server runs in its own process; all clients run in this one. Every response is compared with the parse of the same
sentence without a server. The sentences come from the toy grammar of the tests, or from a file with one tokenized
sentence per line. The server's CPU time shows how much work batching saves, even on a busy machine.
"""

import asyncio
import json
import os
import statistics
import time
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from common import command_line
from server_process import start_server
from toygrammar import toy_trees
from treecrf import Parser


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


def read_sentences(file: Path | None, count: int) -> list[list[str]]:
    if file is not None:
        return [line.split() for line in islice(file.open(encoding="utf-8"), count) if line.strip()]
    return [tree.words for tree in toy_trees(count, seed=1)]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--model", default="en", help="a model's name or folder")
    parser.add_argument("--sentences", type=Path, help="a file with one tokenized sentence per line")
    parser.add_argument("--count", type=int, default=500, help="number of different sentences")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--probabilities", action="store_true", help="request probabilities too")
    args = parser.parse_args()

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
        with start_server(args.model, *options) as server:
            settings = {"clients": clients, "probabilities": args.probabilities}
            asyncio.run(run_load(server.port, examples, requests=4 * clients + 50, **settings))  # warm-up
            requests = args.requests if options == () and clients > 1 else args.requests // 4
            cpu_seconds = server.metric("process_cpu_seconds_total")
            result = asyncio.run(run_load(server.port, examples, requests=requests, **settings))
            cpu_milliseconds = 1000 * (server.metric("process_cpu_seconds_total") - cpu_seconds) / requests
        rates[name] = result.requests_per_second
        print(f"{name:30} {result}   server's CPU {cpu_milliseconds:6.2f} ms/request", flush=True)
    single, unbatched, batched = rates.values()
    print(f"in batches: {batched / single:.1f} x one client, {batched / unbatched:.1f} x one at a time")


if __name__ == "__main__":
    main()
