"""The adapter to Uvicorn: all that this server takes from Uvicorn's private classes.

`ServerProtocol` adds the limits, timeouts and strictness that Uvicorn's HTTP protocol does not have; `Server` adds a
graceful shutdown. A test lists the attributes of Uvicorn that they use.
"""

import asyncio
import signal
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httptools
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from treecrf.server import limits
from treecrf.server.connections import Connections, client_name
from treecrf.server.errors import ApiError, error_response
from treecrf.server.middleware import PUBLIC_PATH

_SHUTDOWN_DELAY = 0.5  # seconds after the listening sockets close, in which requests in transit still arrive


class ServerProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits on request heads and connections, and with timeouts.

    Uvicorn has no timeout for the head of a request, or for a client that does not read its response. Here both have
    the timeout of a body; since it is checked periodically, closing the connection may take twice as long. A client
    that reads a long response slowly has more time, as long as it reads an eighth of the rest within the timeout.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        state = self.config.app.state  # type: ignore[union-attr]
        self._limits: limits.Limits = state.limits
        self._connections: Connections = state.connections
        self.client_name = client_name({"client": self.client})
        self._is_rejected = False
        self._framing_bytes = 0  # bytes of the current request that are not content of its body
        self._body_bytes = 0
        self._cycles: list[RequestResponseCycle] = []  # requests without a complete response
        self._events = 0  # beginnings of requests and ends of responses
        self._checked_events = -1  # at the last check of whether the connection is idle
        self._unread_bytes = 0  # response bytes that the client had not read at the last check
        self._check_idle()
        self._connections.add(self)
        self.app = self._answer

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle_timer.cancel()
        self._connections.discard(self)
        super().connection_lost(exc)
        for cycle in self._cycles:  # Uvicorn tells only the last of several pipelined requests
            cycle.disconnected = cycle.disconnected or not cycle.response_complete
            cycle.message_event.set()

    @property
    def is_waiting_for_client(self) -> bool:
        """Whether no complete request is being answered, or the client does not read its response."""
        return self._has_no_request or self.cycle.more_body or self.flow.write_paused

    @property
    def _has_no_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def abort(self) -> None:
        self.transport.abort()

    def _check_idle(self) -> None:
        """Closes the connection if its client has sent no request and read no response since the last check."""
        unread_bytes = self.transport.get_write_buffer_size()
        if self._events == self._checked_events:
            if unread_bytes > limits.UNREAD_SHARE * self._unread_bytes > 0:
                self.transport.abort()
            elif self._has_no_request and not unread_bytes:
                self.transport.close()
        self._checked_events, self._unread_bytes = self._events, unread_bytes
        self._idle_timer = self.loop.call_later(self._limits.body_seconds, self._check_idle)

    def _note_event(self) -> None:
        self._events += 1
        self._connections.restart_wait(self)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keeps the connection open for the response if the client has only ended its own side of the connection.

        A client that has disconnected looks the same, so the response has limited time.
        """
        if self._is_rejected or self.is_waiting_for_client:
            return False
        self.cycle.keep_alive = False
        self.loop.call_later(min(limits.HALF_CLOSED_SECONDS, self._limits.body_seconds), self.transport.abort)
        return True

    def on_response_complete(self) -> None:
        self._note_event()
        super().on_response_complete()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request; with too many connections, only the health check."""
        app: ASGIApp = self.config.loaded_app
        if scope["path"] != PUBLIC_PATH and not self._connections.make_room(self):
            headers = {"retry-after": "1", "connection": "close"}
            app = error_response(uuid.uuid4().hex, 503, "too many connections; try again in 1 s", headers)
        await app(scope, receive, send)

    def data_received(self, data: bytes) -> None:
        if self._is_rejected:
            self._framing_bytes += len(data)
            if self._framing_bytes > self._limits.body_bytes:
                self.transport.abort()
            return
        self._unset_keepalive_if_required()
        try:
            for start in range(0, len(data), limits.PIECE_BYTES):
                piece = data[start : start + limits.PIECE_BYTES]
                self._framing_bytes += len(piece)
                self._feed(piece)
                self._check_framing()
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._reject(cause if isinstance(cause, ApiError) else ApiError(400, "the request is not valid HTTP"))
        except httptools.HttpParserError as error:
            self._reject(ApiError(400, f"the request is not valid HTTP: {error}"))
        except ApiError as error:
            self._reject(error)

    def _feed(self, piece: bytes) -> None:
        while piece:
            try:
                self.parser.feed_data(piece)
                return
            except httptools.HttpParserUpgrade as upgrade:
                piece = piece[upgrade.args[0] :]  # there is no other protocol here: the request is answered as usual

    def _check_framing(self) -> None:
        allowance = self._limits.head_bytes + limits.PIECE_BYTES + limits.CHUNK_OVERHEAD * self._body_bytes
        if self._framing_bytes - self._body_bytes > allowance:
            raise ApiError(
                431, f"the request head is too long; this server's limit is {self._limits.head_bytes:,} bytes"
            )

    def _reject(self, error: ApiError) -> None:
        """Ends the connection, after an error response if no other response is due."""
        self._is_rejected = True
        if not self._has_no_request:
            self.cycle.keep_alive = False  # the connection is closed after the responses to earlier requests
            if not self.cycle.more_body:
                return
            if self.pipeline or self.cycle.response_started:
                self.transport.abort()
                return
            self.cycle.disconnected = True  # the error response replaces the app's response
            self.cycle.message_event.set()
        response = error_response(uuid.uuid4().hex, error.status_code, error.detail, {"connection": "close"})
        headers = [*self.server_state.default_headers, *response.raw_headers]
        lines = [b"%s: %s\r\n" % header for header in headers]
        self.transport.write(b"".join([STATUS_LINE[error.status_code], *lines, b"\r\n", bytes(response.body)]))
        self.transport.write_eof()
        self.loop.call_later(limits.REJECTED_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._note_event()
        self._framing_bytes = self._body_bytes = 0
        if len(self.pipeline) >= limits.PIPELINED_REQUESTS:
            raise ApiError(400, "too many requests on this connection wait for their responses")

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > self._limits.head_fields:
            raise ApiError(
                431, f"the request has too many header fields; this server's limit is {self._limits.head_fields}"
            )

    def on_headers_complete(self) -> None:
        self._check_host()
        self._check_body_headers()
        super().on_headers_complete()
        self._cycles = [cycle for cycle in self._cycles if not cycle.response_complete] + [self.cycle]

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def _check_host(self) -> None:
        """Rejects a request without one clear host: several Host headers, or a target on another host."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) != 1 and (hosts or self.parser.get_http_version() == "1.1"):
            raise ApiError(400, f"the request has {len(hosts)} Host headers; expected one")
        if self.url.startswith(b"/") or self.url == b"*":
            return
        authority = self.url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
        if b"://" not in self.url or [authority.lower()] != [host.lower() for host in hosts]:
            raise ApiError(400, "the request's target is on another host than its Host header")

    def _check_body_headers(self) -> None:
        """Rejects a request whose body the parser and a proxy might delimit in different ways."""
        encodings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        if encodings and encodings != [b"chunked"]:
            raise ApiError(400, "the request has another Transfer-Encoding than chunked")
        lengths = [value for name, value in self.headers if name == b"content-length"]
        if self.parser.should_upgrade() and (encodings or lengths not in ([], [b"0"])):
            raise ApiError(400, "the request has a body and asks for another protocol; remove its Upgrade header")


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
