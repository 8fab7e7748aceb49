"""The server process: start, log, and graceful shutdown."""

import asyncio
import gc
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from treecrf.server.access_log import JsonFormatter
from treecrf.server.limits import Limits
from treecrf.server.protocol import ServerProtocol

_SHUTDOWN_DELAY = 0.5  # seconds after the listening sockets close, in which requests in transit still arrive
_STOP_SECONDS = 2  # after the limit on the drain, in which unfinished requests get their error responses

_SWITCH_SECONDS = 0.001  # the event loop waits this long for a thread that runs Python code


class Server(uvicorn.Server):
    """A server that, at SIGTERM or SIGINT, stops listening, answers all accepted requests, and exits with status 0.

    Requests that take longer than the limit on the drain get status 503.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.config.app.state  # type: ignore[union-attr]
        state.is_closing = True
        for server in self.servers:
            server.close()
        deadline = asyncio.get_running_loop().call_later(state.limits.drain_seconds, state.batcher.stop)
        await asyncio.sleep(min(_SHUTDOWN_DELAY, state.limits.drain_seconds))
        await super().shutdown(sockets)
        deadline.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles signals until the process ends; a second one must not change the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield


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
        http=ServerProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=math.ceil(limits.body_seconds),
        timeout_graceful_shutdown=math.ceil(limits.drain_seconds) + _STOP_SECONDS,
    )
    gc.freeze()  # the models stay: repeated garbage collection over them would block requests
    sys.setswitchinterval(_SWITCH_SECONDS)
    Server(config).run()
    if app.state.batcher.is_running:  # the drain's limit was reached inside the parser, which cannot be interrupted
        logging.shutdown()
        os._exit(0)
