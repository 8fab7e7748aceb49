"""A server under the load of many clients, beside the same server asked one request at a time.

    python benchmarks/serve.py --model en --clients 64 --requests 2000

The server is a process of its own, and so are the clients. Every answer is compared with the parse of the same sentence
without a server. Sentences are the toy grammar's of the tests, or lines of words in a file. The server's own CPU time
tells how much work batches save, also on a machine that is busy with other things.
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


class Load(NamedTuple):
    """What clients saw."""

    seconds: float
    latencies: list[float]
    wrong: int

    def __str__(self) -> str:
        p50, p99 = (1000 * cut for cut in (statistics.quantiles(self.latencies, n=100)[place] for place in (49, 98)))
        rate = len(self.latencies) / self.seconds
        return f"{rate:8.1f} requests/s   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms   wrong or lost: {self.wrong}"

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: list[str], *, probabilities: bool
) -> dict[str, object]:
    body = json.dumps({"tokens": words, "probabilities": probabilities}).encode()
    head = ("POST /parse HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}")
    writer.write("\r\n".join([*head, "", ""]).encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    size = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
    answer = json.loads(await reader.readexactly(size))
    assert b" 200 " in lines[0], answer
    return dict(answer["sentences"][0])


async def load(
    port: int, work: list[tuple[list[str], str]], *, clients: int, requests: int, probabilities: bool
) -> Load:
    """Let clients send a number of requests in all, each its next one when it has the answer to the last."""
    left = islice(cycle(work), requests)
    latencies: list[float] = []
    wrong = 0

    async def client() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for words, tree in left:
            began = time.perf_counter()
            answer = await ask(reader, writer, words, probabilities=probabilities)
            latencies.append(time.perf_counter() - began)
            wrong += answer["tree"] != tree or answer["words"] != words
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    seconds = time.perf_counter() - began
    return Load(seconds, latencies, wrong + requests - len(latencies))


class Served:
    """A server, while it is needed."""

    def __init__(self, model: str, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
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
            raise RuntimeError(f"the server ended with status {self.process.returncode}")


def cpu_seconds(port: int) -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().split("\n")
    return next(float(line.split(" ")[1]) for line in lines if line.startswith("process_cpu_seconds_total "))


def sentences(file: Path | None, count: int) -> list[list[str]]:
    if file is not None:
        return [line.split() for line in islice(file.open(encoding="utf-8"), count) if line.strip()]
    sys.path.insert(0, str(ROOT / "tests"))
    from toygrammar import toy_trees

    return [tree.words for tree in toy_trees(count, seed=1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en", help="a model's name or folder")
    parser.add_argument("--sentences", type=Path, help="a file with a sentence a line, words between spaces")
    parser.add_argument("--count", type=int, default=500, help="how many different sentences")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--probabilities", action="store_true", help="ask for them as well")
    args = parser.parse_args()

    from treecrf import Parser

    every = sentences(args.sentences, args.count)
    trees = Parser.load(args.model, "cpu").parse_many(every)
    work = [(words, str(tree)) for words, tree in zip(every, trees, strict=True)]
    mean = sum(map(len, every)) / len(every)
    print(f"{len(every)} sentences of {mean:.1f} words on average, {os.cpu_count()} cores, both processes on them")
    rates = {}
    for name, clients, options in (
        ("one client", 1, ()),
        (f"{args.clients} clients, one at a time", args.clients, ("--max-batch-words", "1")),
        (f"{args.clients} clients, in batches", args.clients, ()),
    ):
        with Served(args.model, "--device", "cpu", *options) as port:
            run = {"clients": clients, "probabilities": args.probabilities}
            asyncio.run(load(port, work, requests=4 * clients + 50, **run))  # to warm up
            requests = args.requests if options == () and clients > 1 else args.requests // 4
            before = cpu_seconds(port)
            seen = asyncio.run(load(port, work, requests=requests, **run))
            cost = 1000 * (cpu_seconds(port) - before) / requests
        rates[name] = seen.rate
        print(f"{name:30} {seen}   server's CPU {cost:6.2f} ms/request", flush=True)
    slow, middle, fast = rates.values()
    print(f"in batches: {fast / slow:.1f} x one client, {fast / middle:.1f} x one at a time")


if __name__ == "__main__":
    main()
