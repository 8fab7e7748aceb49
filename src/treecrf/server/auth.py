"""Who may ask: the token, the Host header, and what a browser may do with an answer."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treecrf.server.errors import problem

OPEN = "/health"  # which anyone may ask
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Lets in who has the token, if there is one, and names the server by one of its names, if it has any.

    A browser can be made to ask a server on its own machine under a stranger's name; so a server on the local machine
    wants to be called by a local name.
    """

    def __init__(self, app: ASGIApp, *, token: str | None = None, hosts: Sequence[str] = ()) -> None:
        if token is not None and not token.strip():
            raise ValueError("the token is empty; expected some characters, or None for no token at all")
        self.app = app
        self._token = None if token is None else _digest(token.encode())
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        app = self.app
        if scope["path"] != OPEN and not self._is_named(headers):
            app = problem(
                scope["request_id"], 421, "the Host header names another server; --allow-host lets its name in"
            )
        elif scope["path"] != OPEN and not self._is_known(headers):
            app = answer = problem(
                scope["request_id"], 401, "the token is missing or wrong; expected Authorization: Bearer TOKEN"
            )
            for scheme in ("Bearer", "Basic"):
                answer.headers.append("www-authenticate", f'{scheme} realm="treecrf", charset="UTF-8"')
        await app(scope, receive, send_guarded)

    def _is_named(self, headers: Headers) -> bool:
        if not self._hosts:
            return True
        host, _, port = headers.get("host", "").lower().rpartition(":")
        name = host if port.isdecimal() and host else headers.get("host", "").lower()
        return name in self._hosts

    def _is_known(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return hmac.compare_digest(_digest(given.strip().encode("latin-1")), self._token)
        if scheme.lower() == "basic":  # how a browser asks its user, under any name
            return hmac.compare_digest(_digest(_password(given)), self._token)
        return False


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()  # of one length, so that the time of a comparison tells nothing


def _password(given: str) -> bytes:
    try:
        return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""
