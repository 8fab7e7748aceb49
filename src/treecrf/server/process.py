"""The server process: timeouts for idle connections, and graceful shutdown."""

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
from treecrf.server.errors import error_response
from treecrf.server.limits import Limits

_SHUTDOWN_DELAY = 0.5  # seconds after the listening sockets close, in which requests in transit still arrive
_Protocol: Any = AutoHTTPProtocol


class TimeoutProtocol(_Protocol):  # type: ignore[misc]
    """The HTTP protocol with timeouts, and with an error response above the limit on connections.

    Uvicorn has no timeout for the headers of a request, or for a client that does not read its response. Here both
    have the timeout of a body; since it is checked periodically, closing the connection may take twice as long.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.config.app.state.limits.connections:
            self.app = _too_many_connections
        self._idle_cycle: Any = None  # the request cycle of the last check, in a tuple, if it was idle
        self._check_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle_timer.cancel()
        super().connection_lost(exc)

    def _check_idle(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if self.transport.is_closing():
            self.transport.abort()  # the client does not read the rest of its response
        elif is_idle and self._idle_cycle == (self.cycle,):
            self.transport.close()
        self._idle_cycle = (self.cycle,) if is_idle else None
        seconds = self.config.app.state.limits.body_seconds
        self._idle_timer = self.loop.call_later(seconds, self._check_idle)


async def _too_many_connections(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"retry-after": "1", "connection": "close"}
    response = error_response(uuid.uuid4().hex, 503, "too many connections; try again in 1 s", headers)
    await response(scope, receive, send)


class Server(uvicorn.Server):
    """A server that, at SIGTERM or SIGINT, stops listening, answers all accepted requests, and exits with status 0."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.is_closing = True  # type: ignore[union-attr]
        for server in self.servers:
            server.close()
        await asyncio.sleep(_SHUTDOWN_DELAY)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles signals as Uvicorn does, but without raising them again at the end."""
        handlers = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def serve(app: FastAPI, *, host: str, port: int) -> None:
    """Runs an app until SIGTERM or SIGINT."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    limits: Limits = app.state.limits
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=TimeoutProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=math.ceil(limits.body_seconds),
        timeout_graceful_shutdown=math.ceil(limits.drain_seconds),
    )
    Server(config).run()
