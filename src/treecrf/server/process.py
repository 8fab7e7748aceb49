"""The process of a server: connections that may not dawdle, and an end that loses nothing."""

import asyncio
import logging
import math
import signal
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from treecrf.server.access_log import JsonFormatter
from treecrf.server.errors import problem
from treecrf.server.limits import Limits

_LINGER = 0.5  # seconds in which requests that are on their way still arrive after the end was announced
_Protocol: Any = AutoHTTPProtocol


class PatientProtocol(_Protocol):  # type: ignore[misc]
    """A connection with an end to its patience, and a refusal where there are too many of them.

    Uvicorn itself waits for ever for the head of a request, and for its answer to be read. Here both may take as long
    as a body, twice at most.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.config.app.state.limits.connections:
            self.app = _crowded
        self._idle_since: Any = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watcher.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if self.transport.is_closing():
            self.transport.abort()  # what was written to it is never read
        elif is_idle and self._idle_since == (self.cycle,):
            self.transport.close()
        self._idle_since = (self.cycle,) if is_idle else None
        seconds = self.config.app.state.limits.body_seconds
        self._watcher = self.loop.call_later(seconds, self._watch)


async def _crowded(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"retry-after": "1", "connection": "close"}
    answer = problem(uuid.uuid4().hex, 503, "too many connections; try again in 1 s", headers)
    await answer(scope, receive, send)


class Server(uvicorn.Server):
    """A server that at SIGTERM or SIGINT accepts no more, answers what it accepted, and ends well."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.is_closing = True  # type: ignore[union-attr]
        for server in self.servers:
            server.close()
        await asyncio.sleep(_LINGER)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(app: FastAPI, *, host: str, port: int) -> None:
    """Run an app until a signal ends it."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    limits: Limits = app.state.limits
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=math.ceil(limits.body_seconds),
        timeout_graceful_shutdown=math.ceil(limits.drain_seconds),
    )
    Server(config).run()
