"""The process of a server: connections that may not dawdle, and an end that loses nothing."""

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from treecrf.server.journal import JsonFormatter
from treecrf.server.limits import Limits

_LINGER = 0.5  # seconds in which requests that are on their way still arrive after the end was announced
_Protocol: Any = AutoHTTPProtocol


class PatientProtocol(_Protocol):  # type: ignore[misc]
    """A connection that ends where no request comes, or only the beginning of one, for as long as bodies may take.

    Uvicorn itself waits for the head of a request for ever.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._idle_since: Any = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watcher.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._idle_since == (self.cycle,):
            self.transport.close()
        self._idle_since = (self.cycle,) if is_idle else None
        seconds = self.config.app.state.limits.body_seconds
        self._watcher = self.loop.call_later(seconds, self._watch)


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
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.body_seconds),
        timeout_graceful_shutdown=int(limits.drain_seconds),
    )
    Server(config).run()
