"""Searches that take too long: when they end, how much memory they need, and how others fare meanwhile.

    python benchmarks/attack_search.py limits [--seconds 2]
    python benchmarks/attack_search.py others [--model en] [--connections 25] [--attack-seconds 60]

`limits` searches a tree that is 20,000 constituents deep and a tree with 300,000 children, in Python, on the command
line and in a server, with patterns that try every pair of nodes. The table has the largest number of seconds after the
limit, which is 10 s in the server, and the memory above that of a process that searches nothing. On the command line,
the start of the interpreter is not counted.

`others` sends slow patterns on many connections, while a client with another address searches a short sentence.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx

from common import command_line, print_head, print_row
from server_process import start_server
from treecrf.server.limits import SEARCH_SECONDS

DEPTH, CHILDREN = 20_000, 300_000
TREES = {
    "20,000 deep": "(A (X x) " * DEPTH + "(X x)" + " (Y y))" * DEPTH,
    "300,000 children": "(S " + "(X x)" * CHILDREN + ")",
}
PATTERNS = ("__ .. (__ .. NONE)", "__ << (__ !== __)", "__ $.. (__ $.. NONE)", "__ !.. NONE", "__ .+(__) (__ .. NONE)")
PATTERNS += ("__ : (__ : NONE)", "__ >50000 (__ !== __)", "__=a .. __=b", "/^(X|X|x)+$/ .. (/(Y|y)+/ .. NONE)")
SLOW, SLOW_TEXT = r"/^(\w|\w\w)+!$/", "a" * 40
ATTACKER, OTHER = "127.0.0.1", "127.0.0.2"
IN_PYTHON = """
import sys, time
from treecrf.trees.search import Forest, Pattern, time_limit
forest = Forest.parse(open(sys.argv[1]).read())
start = time.monotonic()
try:
    with time_limit(float(sys.argv[2])):
        for _ in Pattern(sys.argv[3]).find(forest):
            pass
except TimeoutError:
    pass
print(time.monotonic() - start)
"""


def measure(command: list[str]) -> tuple[float, float, str]:
    """The seconds and the largest memory of a command in MB, and what it prints."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read(10_000)
        while process.stdout.read(1 << 20):
            pass
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, usage.ru_maxrss / 1024, output


def measure_processes(seconds: float, paths: dict[str, Path]) -> None:
    """Searches in Python and on the command line."""
    in_python = [sys.executable, "-c", IN_PYTHON]
    in_shell = [sys.executable, "-m", "treecrf", "search", "--max-seconds", str(seconds)]
    paths["one word"].write_text("(S (X x))")
    _, python_base, _ = measure([*in_python, str(paths["one word"]), "60", "NONE"])
    starts = [measure([*in_shell, "NONE", str(paths["one word"])]) for _ in range(5)]
    shell_start, shell_base = (statistics.median(values[number] for values in starts) for number in (0, 1))
    for name in TREES:
        found = [measure([*in_python, str(paths[name]), str(seconds), pattern]) for pattern in PATTERNS]
        print_result("Python", name, [(float(output) - seconds, peak - python_base) for _, peak, output in found])
        found = [measure([*in_shell, pattern, str(paths[name])]) for pattern in PATTERNS]
        print_result(
            "command line", name, [(wall - shell_start - seconds, peak - shell_base) for wall, peak, _ in found]
        )


def print_result(where: str, tree: str, results: list[tuple[float, float]]) -> None:
    late, memory = (max(values) for values in zip(*results, strict=True))
    print_row(where, tree, len(results), f"{late:+.2f} s", f"{memory:.0f} MB")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def peak_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


class Peaks:
    """The largest memory of the child processes of a server, which it kills after a search that takes too long."""

    def __init__(self, pid: int) -> None:
        self.pid, self.most, self._is_stopped = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._is_stopped.wait(0.02):
            with suppress(OSError):  # a process has ended
                self.most = max(self.most, *map(peak_megabytes, children(self.pid)))

    def stop(self) -> float:
        self._is_stopped.set()
        self._thread.join()
        return self.most


def measure_server(model: str) -> None:
    for name, tree in TREES.items():
        with start_server(model, "--max-body-bytes", "3000000") as server:
            post(server.url, "NONE", ["(S (X x))"])
            base = max(map(peak_megabytes, children(server.process.pid)))
            peaks = Peaks(server.process.pid)
            seconds = [post(server.url, pattern, [tree]) for pattern in PATTERNS]
            memory = peaks.stop() - base
        print_result("server", name, [(each - SEARCH_SECONDS, memory) for each in seconds])


def post(url: str, pattern: str, trees: list[str]) -> float:
    """The seconds of a search of trees."""
    body = json.dumps({"pattern": pattern, "trees": trees})
    start = time.monotonic()
    response = httpx.post(f"{url}/search", content=body, headers={"content-type": "application/json"}, timeout=300)
    seconds = time.monotonic() - start
    assert response.status_code in (200, 422) or "too busy for the search" in response.text, response.text
    return seconds


def measure_others(model: str, connections: int, seconds: float) -> None:
    with start_server(model, "--corenlp") as server:
        end, statuses, waits = time.monotonic() + seconds, [], []

        def attack() -> None:
            while time.monotonic() < end:
                statuses.append(send(server.url, SLOW, SLOW_TEXT, ATTACKER))

        def send(url: str, pattern: str, text: str, address: str) -> int:
            with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=300) as client:
                headers = {"content-type": "text/plain"}
                return client.post(
                    f"{url}/tregex", params={"pattern": pattern}, content=text, headers=headers
                ).status_code

        send(server.url, "NP", "We sing.", OTHER)
        threads = [threading.Thread(target=attack) for _ in range(connections)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        while time.monotonic() < end:
            start = time.monotonic()
            assert send(server.url, "NP", "We sing.", OTHER) == 200
            waits.append(time.monotonic() - start)
            time.sleep(0.1)
        for thread in threads:
            thread.join()
    answers = {status: statuses.count(status) for status in sorted(set(statuses))}
    print(
        f"{len(waits)} searches of another address: median {statistics.median(waits):.2f} s, at most {max(waits):.2f} s"
    )
    print(f"answers to {connections} connections of the attacker: {answers}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("part", choices=["limits", "others"])
    parser.add_argument("--model", default="en", help="a model's name or folder")
    parser.add_argument("--seconds", type=float, default=2.0, help="the limit in Python and on the command line")
    parser.add_argument("--connections", type=int, default=25)
    parser.add_argument("--attack-seconds", type=float, default=60.0)
    args = parser.parse_args()
    if args.part == "others":
        measure_others(args.model, args.connections, args.attack_seconds)
        return
    print_head("where", "tree", "patterns", "after the limit", "memory")
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, f"{number}.mrg") for number, name in enumerate([*TREES, "one word"])}
        for name, tree in TREES.items():
            paths[name].write_text(tree)
        measure_processes(args.seconds, paths)
    measure_server(args.model)


if __name__ == "__main__":
    main()
