"""Request bodies: reads them within the limits and parses strict JSON."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from treecrf.server.errors import ApiError
from treecrf.server.limits import Limits

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonRoute(APIRoute):
    """A route whose requests have a JSON body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


class JsonRequest(Request):
    """A request whose body is checked: its media type, its size, its arrival time and its JSON."""

    async def body(self) -> bytes:
        if not hasattr(self, "_content"):
            self._content = await self._read(self.app.state.limits)
        return self._content

    async def json(self) -> Any:
        return parse_json(await self.body())

    async def _read(self, limits: Limits) -> bytes:
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise ApiError(415, f"the body's media type is {media_type!r}; expected Content-Type: application/json")
        encoding = self.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            raise ApiError(415, f"the body is compressed ({encoding!r:.40}); expected an uncompressed body")
        if self.headers.get("content-length", "").isdecimal():
            _check_size(int(self.headers["content-length"][:20]), limits)
        try:
            return await asyncio.wait_for(self._receive_body(limits), limits.body_seconds)
        except asyncio.TimeoutError:
            raise ApiError(408, f"the body took more than {limits.body_seconds} seconds to arrive") from None
        except ClientDisconnect:
            raise ApiError(400, "the client disconnected before the end of the body") from None

    async def _receive_body(self, limits: Limits) -> bytes:
        content = bytearray()
        async for chunk in self.stream():
            content += chunk
            _check_size(len(content), limits)
        if not content:
            raise ApiError(400, "the body is empty; expected JSON")
        return bytes(content)


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.body_bytes:
        raise ApiError(
            413, f"the body is too long; this server's limit is {limits.body_bytes:,} bytes; send several requests"
        )


def parse_json(data: bytes) -> Any:
    """Parses UTF-8 JSON. Repeated names, NaN, infinity and lone surrogates are errors."""
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_unique_names, parse_constant=_reject_constant)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise ApiError(400, "the body is not valid JSON: a surrogate has no partner") from None
    except UnicodeDecodeError as error:
        raise ApiError(400, f"byte {error.start + 1} of the body is not UTF-8 ({error.reason})") from None
    except json.JSONDecodeError as error:
        raise ApiError(400, f"the body is not valid JSON: {error.msg} (character {error.pos + 1})") from None
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise ApiError(400, f"the body is not valid JSON: {error}") from None


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for index, name in enumerate(names) if name in names[:index])
        raise ValueError(f"an object has the name {repeated!r:.80} twice")
    return value


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
