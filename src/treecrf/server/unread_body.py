"""Request bodies that the server does not need: the client gets its response, and the rest of the body is discarded.

A server that closes a connection with unread data resets it, and many clients then lose the response. So the response
is sent at once, and the connection is closed when the body has arrived, within limits.
"""

import asyncio
import contextlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treecrf.server.limits import Limits

_DRAIN_FACTOR = 100  # a body is discarded up to this many times the limit on bodies


class DrainUnreadBody:
    """Middleware that discards the rest of a request's body after the response."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self.app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        is_complete = False

        async def receive_counted() -> Message:
            nonlocal is_complete
            message = await receive()
            is_complete = is_complete or not message.get("more_body", False)  # also after a disconnect
            return message

        async def send_then_drain(message: Message) -> None:
            if is_complete:
                await send(message)
            elif message["type"] == "http.response.start":
                MutableHeaders(scope=message)["connection"] = "close"
                await send(message)
            elif message.get("more_body", False):
                await send(message)
            else:
                await send({**message, "more_body": True})
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._discard(receive), self._limits.body_seconds)
                await send({"type": "http.response.body", "body": b""})

        await self.app(scope, receive_counted, send_then_drain)

    async def _discard(self, receive: Receive) -> None:
        size = 0
        while size < _DRAIN_FACTOR * self._limits.body_bytes:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                return


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
