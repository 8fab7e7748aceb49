"""Request bodies: receives them within the limits, parses strict JSON, and notices that a client disconnects."""

import asyncio
import codecs
import json
import re
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator
from email.message import Message
from functools import partial
from itertools import count
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from treecrf.files import refuse_constant
from treecrf.server.errors import ApiError
from treecrf.server.limits import JSON_NAMES, JSON_OBJECTS, Limits

T = TypeVar("T")

JSON = "application/json"
_CHARSETS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "iso8859-1", "cp1252", "gb18030", "big5")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


async def receive_body(request: Request, limits: Limits, *, media_types: Iterable[str] = (JSON,)) -> bytes:
    """Receives the body of a request; checks its media type, its size and its arrival time."""
    _check_headers(request, limits, tuple(media_types))
    try:
        return await asyncio.wait_for(_receive(request, limits), limits.body_seconds)
    except asyncio.TimeoutError:
        raise ApiError(408, f"the body took more than {limits.body_seconds} seconds to arrive") from None
    except ClientDisconnect:
        raise ApiError(400, "the client disconnected before the end of the body") from None


async def await_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Awaits work, and cancels it if the client disconnects."""
    task = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ApiError(499, "the client disconnected before the response")
        return task.result()
    finally:
        task.cancel()
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody waits for its error
        disconnect.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _check_headers(request: Request, limits: Limits, media_types: tuple[str, ...]) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in media_types:
        expected = f"expected Content-Type: {' or '.join(media_types)}"
        raise ApiError(415, f"the body's media type is {media_type!r:.80}; {expected}")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise ApiError(415, f"the body is compressed ({encoding!r:.40}); expected an uncompressed body")
    if request.headers.get("content-length", "").isdecimal():
        _check_size(int(request.headers["content-length"][:20]), limits)


async def _receive(request: Request, limits: Limits) -> bytes:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        _check_size(len(content), limits)
    return bytes(content)


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.body_bytes:
        raise ApiError(
            413, f"the body is too long; this server's limit is {limits.body_bytes:,} bytes; send several requests"
        )


def body_charset(request: Request) -> str:
    """The charset in the Content-Type of a text; UTF-8 if it has none."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    return str(header.get_param("charset", "UTF-8"))


def decode(data: bytes, charset: str = "UTF-8") -> str:
    try:
        if codecs.lookup(charset).name not in _CHARSETS:
            raise LookupError
        return data.decode(charset)
    except LookupError:
        raise ApiError(415, f"the body's charset is {charset!r:.40}; expected {', '.join(_CHARSETS)}") from None
    except UnicodeDecodeError as error:
        raise ApiError(400, f"byte {error.start + 1} of the body is not {charset} ({error.reason})") from None


def parse_json(data: bytes) -> Any:
    """Parses UTF-8 JSON. Repeated names, NaN, infinity and lone surrogates are errors."""
    if not data:
        raise ApiError(400, "the body is empty; expected JSON")
    text = decode(data)
    try:
        read_object = partial(_read_object, count(1))
        value = json.loads(text, object_pairs_hook=read_object, parse_constant=refuse_constant)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise ApiError(400, "the body is not valid JSON: a surrogate has no partner") from None
    except json.JSONDecodeError as error:
        raise ApiError(400, f"the body is not valid JSON: {error.msg} (character {error.pos + 1})") from None
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise ApiError(400, f"the body is not valid JSON: {error}") from None


def _read_object(numbers: Iterator[int], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Checks the names of an object, and its number among the objects of the body."""
    value = dict(pairs)
    if len(value) < len(pairs):
        ((repeated, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the name {repeated!r:.80} twice")
    if len(value) > JSON_NAMES:
        raise ApiError(422, f"an object has {len(value):,} names; expected at most {JSON_NAMES}")
    if next(numbers) > JSON_OBJECTS:
        raise ApiError(422, f"the body has more than {JSON_OBJECTS:,} objects; send several requests")
    return value
