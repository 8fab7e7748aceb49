"""Bodies of requests: read within limits, and taken for JSON only if they are."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from treecrf.server.errors import Refusal
from treecrf.server.limits import Limits

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonRoute(APIRoute):
    """A route whose requests have a body of JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


class JsonRequest(Request):
    """A request that is refused where its body is too long, too slow, or not what it should be."""

    async def body(self) -> bytes:
        if not hasattr(self, "_content"):
            self._content = await self._read(self.app.state.limits)
        return self._content

    async def json(self) -> Any:
        return parse_json(await self.body())

    async def _read(self, limits: Limits) -> bytes:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, f"the body is {kind or 'of no type'!r}; expected Content-Type: application/json")
        coding = self.headers.get("content-encoding", "identity").lower()
        if coding != "identity":
            raise Refusal(415, f"the body is compressed ({coding!r:.40}); expected it as it is")
        if self.headers.get("content-length", "").isdecimal():
            _check_size(int(self.headers["content-length"][:20]), limits)
        try:
            return await asyncio.wait_for(self._collect(limits), limits.body_seconds)
        except asyncio.TimeoutError:
            raise Refusal(408, f"the body took more than {limits.body_seconds} seconds to arrive") from None
        except ClientDisconnect:
            raise Refusal(400, "the client left before its body had arrived") from None

    async def _collect(self, limits: Limits) -> bytes:
        content = bytearray()
        async for part in self.stream():
            content += part
            _check_size(len(content), limits)
        if not content:
            raise Refusal(400, "the body is empty; expected JSON")
        return bytes(content)


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.body_bytes:
        raise Refusal(
            413,
            f"the body has more than {limits.body_bytes:,} bytes, the limit of this server; expected several requests",
        )


def parse_json(data: bytes) -> Any:
    """The value that bytes are the JSON of, and nothing that only some readers take for JSON."""
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise Refusal(400, "the body has half of a surrogate pair, which is no character") from None
    except UnicodeDecodeError as error:
        raise Refusal(400, f"byte {error.start + 1} of the body is not UTF-8 ({error.reason})") from None
    except json.JSONDecodeError as error:
        raise Refusal(400, f"the body is no JSON: {error.msg} (character {error.pos + 1})") from None
    except RecursionError:
        raise Refusal(400, "the body nests too deeply") from None
    except ValueError as error:
        raise Refusal(400, f"the body is no JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"the name {twice!r:.80} stands twice in one object")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
