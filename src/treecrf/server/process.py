"""The server process: listening socket, log, and start."""

import errno
import gc
import logging
import math
import os
import socket
import sys
import webbrowser

import uvicorn
from fastapi import FastAPI

from treecrf.server.limits import Limits
from treecrf.server.monitoring import JsonFormatter, TextFormatter
from treecrf.server.uvicorn_adapter import Server, ServerProtocol

_STOP_SECONDS = 2  # time after the limit on the drain, in which unfinished requests get their error responses
_BACKLOG = 2048  # connections that wait to be accepted
_SWITCH_SECONDS = 0.001  # the event loop waits this long for a thread that runs Python code


def serve(app: FastAPI, *, host: str, port: int, log_format: str = "json", opens_browser: bool = False) -> None:
    """Runs an app until SIGTERM or SIGINT. With the log format `text`, a greeting has the server's address."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    listener = listen(host, port)
    url = _url(host, listener.getsockname()[1])
    if log_format == "text":
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # the greeting says the same
        print(f"treecrf is at {url} (Ctrl-C stops it)", file=sys.stderr, flush=True)
    else:
        logging.getLogger(__name__).info("running on %s", url)
    if opens_browser:
        webbrowser.open(url)
    limits: Limits = app.state.limits
    config = uvicorn.Config(
        app,
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
    Server(config).run([listener])
    if app.state.batcher.is_running:  # the drain's limit was reached inside the parser, which cannot be interrupted
        logging.shutdown()
        os._exit(0)


def listen(host: str, port: int) -> socket.socket:
    """Opens the listening socket.

    It names its protocol, because asyncio turns off the delay of small packets only for sockets that do. Otherwise a
    client that keeps its connection would wait about 40 ms for the body of a response, which follows the head.
    """
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        advice = "choose another one with --port" if error.errno == errno.EADDRINUSE else "check --host and --port"
        raise ValueError(f"cannot listen on {host}, port {port}: {error.strerror}; {advice}") from None
    return listener


def _url(host: str, port: int) -> str:
    local_host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{local_host}:{port}"
