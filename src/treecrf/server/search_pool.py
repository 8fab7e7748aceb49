"""The processes of a server that search and convert trees of clients.

Clients share the processes by the seconds that their searches take. A client has one search at a time, from its turn to
the last byte of its answer; a few more may wait. So neither slow patterns nor slow readers of one client keep the
searches of others waiting.
"""

import asyncio
import json
import logging
import math
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from treecrf.files import isolated_python
from treecrf.server import limits
from treecrf.server.connections import client_name
from treecrf.server.errors import ApiError
from treecrf.server.fair_queue import FairThreads
from treecrf.server.request_body import await_connected
from treecrf.server.tree_process import LENGTH_BYTES

log = logging.getLogger(__name__)

_PROGRAM = "from treecrf.server.tree_process import main; main()"
_RETRY = {"retry-after": "1"}


async def _start_process() -> Process:
    """Starts `tree_process.main`, isolated from the current folder, and waits until it is ready."""
    process = await asyncio.create_subprocess_exec(
        *isolated_python(_PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(sys.executable).anchor,
        start_new_session=True,  # Ctrl-C is for the server, which ends its processes
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each of its threads reserves memory
    )
    try:
        await _read_block(process)
    except BaseException:
        await _end(process)
        raise
    return process


async def _read_block(process: Process) -> bytes:
    assert process.stdout is not None
    length = await process.stdout.readexactly(LENGTH_BYTES)
    return await process.stdout.readexactly(int.from_bytes(length, "big"))


async def _send(process: Process, request: bytes) -> bytes:
    """The answer of a process."""
    assert process.stdin is not None
    process.stdin.write(len(request).to_bytes(LENGTH_BYTES, "big") + request)
    await process.stdin.drain()
    return await _read_block(process)


def _processor_seconds(process: Process) -> float:
    """The seconds that a process has computed; NaN where the system does not tell."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()


async def _end(process: Process) -> None:
    _kill(process)
    await process.wait()


class _AnswerInPieces(Response):
    """A response of JSON that is sent in pieces; `stack` is closed after the last one."""

    def __init__(self, content: bytes, stack: AsyncExitStack) -> None:
        super().__init__(content, media_type="application/json")
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for start in range(0, len(self.body), limits.ANSWER_PIECE_BYTES):
                piece = self.body[start : start + limits.ANSWER_PIECE_BYTES]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class SearchPool:
    """Runs searches in processes, one of which is always started and ready."""

    def __init__(self) -> None:
        self._places = FairThreads(limits.SEARCH_PROCESSES)
        self._ready: asyncio.Queue[Process] = asyncio.Queue()
        self._processes: set[Process] = set()
        self._starts: set[asyncio.Task[None]] = set()
        self._turns: dict[str, tuple[asyncio.Lock, list[None]]] = {}  # by client: its turn, an element per search

    def start(self) -> None:
        """Starts a process, unless one is ready or starting."""
        if self._ready.empty() and not self._starts:
            task = asyncio.ensure_future(self._add_process())
            self._starts.add(task)
            task.add_done_callback(self._starts.discard)

    async def _add_process(self) -> None:
        try:
            process = await _start_process()
        except (OSError, EOFError):
            log.exception("a search process cannot start")
        else:
            self._processes = {process, *(other for other in self._processes if other.returncode is None)}
            self._ready.put_nowait(process)

    async def close(self) -> None:
        for task in self._starts:
            task.cancel()
        await asyncio.gather(*self._starts, return_exceptions=True)
        await asyncio.gather(*(_end(process) for process in self._processes))

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Waits for the searches that the client has sent before; too many of them are an error."""
        lock, searches = self._turns.setdefault(client, (asyncio.Lock(), []))
        if len(searches) > limits.WAITING_SEARCHES:
            raise ApiError(503, "too many of your searches wait; send the next one after an answer", _RETRY)
        searches.append(None)
        try:
            async with lock:
                yield
        finally:
            searches.pop()
            if not searches:
                self._turns.pop(client, None)

    async def respond(self, request: Request, search: Callable[[str], Coroutine[Any, Any, bytes]]) -> Response:
        """The answer of a client's search as the response; the client's next search starts after its last byte."""
        client = client_name(request.scope)
        async with AsyncExitStack() as stack:
            await await_connected(request, stack.enter_async_context(self.turn(client)))
            answer = await await_connected(request, search(client))
            return _AnswerInPieces(answer, stack.pop_all())

    async def search(self, client: str, function: str, pattern: str, trees: Sequence[str]) -> bytes:
        """The answer of `find_pattern` or `find_nodes`."""
        if not 0 < len(pattern) <= limits.PATTERN_CHARACTERS:
            raise ApiError(
                422,
                f"pattern has {len(pattern):,} characters; "
                f"expected a Tregex pattern of 1 to {limits.PATTERN_CHARACTERS:,}",
            )
        return await self.run(client, function, brackets=trees, pattern=pattern)

    async def run(self, client: str, function: str, **values: Any) -> bytes:
        """The answer of a function of `tree_process`, which is JSON."""
        request = json.dumps({"function": function, **values}).encode()
        async with self._places.reserve(client):
            answer = await self._run(request)
        if answer.startswith(b'{"error"'):
            raise ApiError(422, json.loads(answer)["error"])
        return answer

    async def _run(self, request: bytes) -> bytes:
        process = await self._take()
        start = _processor_seconds(process)
        try:
            answer = await asyncio.wait_for(_send(process, request), limits.SEARCH_SECONDS)
        except asyncio.TimeoutError:
            is_starved = _processor_seconds(process) - start < limits.SEARCH_SECONDS / 2
            _kill(process)
            if is_starved:
                raise ApiError(503, "the machine is too busy for the search; try again in 1 s", _RETRY) from None
            raise ApiError(
                422, f"the search took more than {limits.SEARCH_SECONDS:.0f} seconds; expected a simpler pattern"
            ) from None
        except (EOFError, ConnectionError):
            raise ApiError(422, "the search failed or needs too much memory; expected a simpler pattern") from None
        except BaseException:
            _kill(process)
            raise
        if self._ready.qsize() < limits.SEARCH_PROCESSES:
            self._ready.put_nowait(process)
        else:
            _kill(process)
        return answer

    async def _take(self) -> Process:
        """A process that is ready. Its clock has not started, however long it took to start."""
        self.start()
        try:
            while True:
                process = await asyncio.wait_for(self._ready.get(), limits.SEARCH_START_SECONDS)
                self.start()
                if process.returncode is None:
                    return process
        except asyncio.TimeoutError:
            raise ApiError(503, "no search process is ready; try again in 1 s", _RETRY) from None
