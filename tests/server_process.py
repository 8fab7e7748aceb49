"""Starts servers in their own processes."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

TIMEOUT = 120.0  # seconds, enough for a busy machine


class ServerProcess:
    """A running server and its log."""

    def __init__(
        self,
        model: Path,
        *options: str,
        verb: Sequence[str] = ("serve",),
        token: str | None = None,
        folder: Path | None = None,
    ) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "TREECRF_TOKEN"}
        # the program of the command, with which the current folder is not on the import path
        program = "import sys; sys.path.remove(''); from treecrf.cli import main; main()"
        command = [sys.executable, "-c", program, *verb, "--model", str(model), "--port", "0", "--device", "cpu"]
        self.process = subprocess.Popen(
            [*command, *options],
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment | ({"TREECRF_TOKEN": token} if token else {}),
        )
        self.log: list[str] = []
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._log_reader.start()
        wait_until(lambda: self._logged_port() or self.process.poll() is not None)
        assert self.process.poll() is None, "".join(self.log)
        self.port = self._logged_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)

    def _logged_port(self) -> int:
        match = re.search(r"running on http://127.0.0.1:(\d+)", "".join(self.log))
        return int(match[1]) if match else 0

    def metric(self, name: str) -> float:
        """The value of a metric, or 0 if it has none yet."""
        text = httpx.get(f"{self.url}/metrics", timeout=TIMEOUT).text
        match = re.search(rf"^{re.escape(name)} (\S+)", text, re.MULTILINE)
        return float(match[1]) if match else 0.0

    def stop(self) -> int:
        """Sends SIGTERM, and returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(TIMEOUT)
        self._log_reader.join(TIMEOUT)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.02)


@contextmanager
def start_server(
    model: Path, *options: str, token: str | None = None, folder: Path | None = None
) -> Iterator[ServerProcess]:
    """A server in a current folder, which is killed at the end of the block if it still runs."""
    server = ServerProcess(model, *options, token=token, folder=folder)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.stop()


@contextmanager
def start_checked_server(model: Path) -> Iterator[ServerProcess]:
    """A server with short timeouts, which at the end of the block stops with status 0 and has logged no traceback."""
    with start_server(model, "--max-body-seconds", "2") as server:
        yield server
        assert server.stop() == 0
        assert "Traceback" not in "".join(server.log)


def read_all(client: socket.socket) -> bytes:
    """Reads until the server closes the connection."""
    content = b""
    try:
        while chunk := client.recv(1 << 16):
            content += chunk
    except ConnectionResetError:
        pass
    return content
