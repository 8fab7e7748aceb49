"""Servers in processes of their own."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 120.0  # seconds, on a machine that has much else to do


class Served:
    """A server's process, and what it logs."""

    def __init__(self, model: Path, *options: str, token: str | None = None) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "TREECRF_TOKEN"}
        command = [sys.executable, "-m", "treecrf", "serve", "--model", str(model), "--port", "0", "--device", "cpu"]
        self.process = subprocess.Popen(
            [*command, *options],
            stderr=subprocess.PIPE,
            text=True,
            env=environment | ({"TREECRF_TOKEN": token} if token else {}),
        )
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_until(lambda: self._port() or self.process.poll() is not None)
        assert self.process.poll() is None, "".join(self.log)
        self.port = self._port()
        self.url = f"http://127.0.0.1:{self.port}"

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)

    def _port(self) -> int:
        found = re.search(r"running on http://127.0.0.1:(\d+)", "".join(self.log))
        return int(found[1]) if found else 0

    def number(self, name: str) -> float:
        """One of its metrics."""
        text = httpx.get(f"{self.url}/metrics", timeout=PATIENCE).text
        found = re.search(rf"^{re.escape(name)} (\S+)", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def end(self) -> int:
        """Its status after a SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


def wait_until(is_so: Callable[[], object]) -> None:
    limit = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < limit, "this never came to be"
        time.sleep(0.02)


@contextmanager
def serving(model: Path, *options: str, token: str | None = None) -> Iterator[Served]:
    server = Served(model, *options, token=token)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.end()
