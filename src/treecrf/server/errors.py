"""What a request is refused with."""

import json
from collections.abc import Mapping

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException


class Refusal(HTTPException):
    """A request that is not answered as it asked: its status, and a message for whoever sent it."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, dict(headers or {}))


def problem(request_id: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal as JSON, in ASCII, since a message may quote what is no Unicode."""
    content = json.dumps({"detail": message, "request_id": request_id})
    return Response(content, status, headers=dict(headers or {}), media_type="application/json")


async def on_refusal(request: Request, error: Exception) -> Response:
    """The answer to a request that was refused, by us or by the router."""
    assert isinstance(error, HTTPException)
    return problem(request.scope["request_id"], error.status_code, str(error.detail), error.headers)


async def on_invalid(request: Request, error: Exception) -> Response:
    """The answer to JSON that is no request; what was sent is not repeated."""
    assert isinstance(error, RequestValidationError)
    messages = [_message(found["loc"], found["msg"]) for found in error.errors()[:5]]
    return problem(request.scope["request_id"], 422, "; ".join(messages))


def _message(place: tuple[str | int, ...], message: str) -> str:
    names = [str(name)[:80] for name in place if name != "body"]
    text = message.removeprefix("Value error, ")
    return f"{'.'.join(names)}: {text}" if names else text
