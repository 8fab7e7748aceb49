"""Error responses: the exception that request handlers raise, and its JSON."""

import json
from collections.abc import Mapping

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

_MAX_MESSAGES = 5


class ApiError(HTTPException):
    """An error with an HTTP status and a message for the client."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, dict(headers or {}))


def error_response(request_id: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The JSON response for an error. It is ASCII because a message may quote invalid Unicode."""
    content = json.dumps({"detail": message, "request_id": request_id})
    return Response(content, status, headers=dict(headers or {}), media_type="application/json")


async def handle_http_error(request: Request, error: Exception) -> Response:
    """Responds to an error that a handler or the router raised."""
    assert isinstance(error, HTTPException)
    return error_response(request.scope["request_id"], error.status_code, str(error.detail), error.headers)


async def handle_validation_error(request: Request, error: Exception) -> Response:
    """Responds to JSON that does not match the schema, without repeating the input."""
    assert isinstance(error, RequestValidationError)
    messages = [_format_message(detail["loc"], detail["msg"]) for detail in error.errors()[:_MAX_MESSAGES]]
    return error_response(request.scope["request_id"], 422, "; ".join(messages))


def _format_message(location: tuple[str | int, ...], message: str) -> str:
    names = [str(name)[:80] for name in location if name != "body"]
    text = message.removeprefix("Value error, ")
    return f"{'.'.join(names)}: {text}" if names else text
