"""Middleware: access control, HEAD requests, and request bodies that are not read."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treecrf.server.errors import error_response
from treecrf.server.limits import DRAIN_FACTOR, Limits

PUBLIC_PATH = "/health"  # needs neither the token nor an allowed Host header
_SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


class AuthMiddleware:
    """Checks the Host header, the origin and the token of each request, and adds security headers to each response.

    A token of None allows requests without a token. Empty `hosts` allow every Host header. A server on the local
    machine should list its hosts: a web page can reach such a server by DNS rebinding, but with its own Host header.
    """

    def __init__(self, app: ASGIApp, *, token: str | None = None, hosts: Sequence[str] = ()) -> None:
        if token is not None and not token.strip():
            raise ValueError("the token is empty; expected a non-empty token, or None for a server without a token")
        self.app = app
        self._token_digest = None if token is None else _digest(token.encode())
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._rejection(scope) or self.app
        await app(scope, receive, send_with_headers)

    def _rejection(self, scope: Scope) -> ASGIApp | None:
        """The error response to a request without access, or None for a request with access."""
        headers = Headers(scope=scope)
        if scope["path"] == PUBLIC_PATH:
            return None
        if not self._is_host_allowed(headers):
            message = "the Host header is not a name of this server; start the server with --allow-host to allow it"
            return error_response(scope["request_id"], 421, message)
        if _is_from_other_origin(scope["method"], headers):
            message = "the request is from a web page of another origin; expected this server's page or a program"
            return error_response(scope["request_id"], 403, message)
        if not self._is_token_correct(headers):
            message = "the token is missing or wrong; expected Authorization: Bearer TOKEN"
            response = error_response(scope["request_id"], 401, message)
            for scheme in ("Bearer", "Basic"):
                response.headers.append("www-authenticate", f'{scheme} realm="treecrf", charset="UTF-8"')
            return response
        return None

    def _is_host_allowed(self, headers: Headers) -> bool:
        if not self._hosts:
            return True
        host, _, port = headers.get("host", "").lower().rpartition(":")
        name = host if port.isdecimal() and host else headers.get("host", "").lower()
        return name in self._hosts

    def _is_token_correct(self, headers: Headers) -> bool:
        if self._token_digest is None:
            return True
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return hmac.compare_digest(_digest(credentials.strip().encode("latin-1")), self._token_digest)
        if scheme.lower() == "basic":  # browsers ask for a user name, which may be anything, and a password
            return hmac.compare_digest(_digest(_basic_password(credentials)), self._token_digest)
        return False


def _is_from_other_origin(method: str, headers: Headers) -> bool:
    """Whether a browser sends the request for a page of another origin. Links to this server's page are allowed.

    A page can send a text without asking the server first, and a local server is often reachable for every page. Older
    browsers do not send Sec-Fetch-Site. Then the host of the page, which is in Origin, must be the host of the request.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        is_page = headers.get("sec-fetch-dest", "document") == "document"  # no frame or embedded object
        is_link = method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate" and is_page
        return site not in ("same-origin", "none") and not is_link
    origin = headers.get("origin")
    return origin is not None and origin.lower().partition("://")[2] != headers.get("host", "").lower()


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()  # its length is fixed: the comparison time tells nothing about the token's


def _basic_password(credentials: str) -> bytes:
    try:
        return base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""


class HeadMethod:
    """Middleware that lets every route for GET answer HEAD, with the same headers; Uvicorn leaves the body out."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app({**scope, "method": "GET"} if scope.get("method") == "HEAD" else scope, receive, send)


class DrainUnreadBody:
    """Middleware that discards the rest of a request's body after the response.

    A server that closes a connection with unread data resets it, and many clients then lose the response. So the
    response is sent at once, and the connection is closed when the body has arrived, within limits.
    """

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
            if message["type"] == "http.response.start" and not is_complete:
                MutableHeaders(scope=message)["connection"] = "close"
            elif not (is_complete or message.get("more_body", False)):
                await send({**message, "more_body": True})
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._discard(receive), self._limits.body_seconds)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await self.app(scope, receive_counted, send_then_drain)

    async def _discard(self, receive: Receive) -> None:
        size = 0
        while size < DRAIN_FACTOR * self._limits.body_bytes:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                return


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
