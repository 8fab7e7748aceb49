"""Error responses: the exception that request handlers raise, and its JSON."""

import json
from collections.abc import Mapping

from fastapi import Request, Response
from pydantic import ValidationError
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


def validation_error(error: ValidationError) -> ApiError:
    """The error for JSON that does not match the schema, which does not repeat the input."""
    details = error.errors(include_url=False, include_input=False)[:_MAX_MESSAGES]
    return ApiError(422, "; ".join(_format_message(detail["loc"], detail["msg"]) for detail in details))


def _format_message(location: tuple[str | int, ...], message: str) -> str:
    names = [str(name)[:80] for name in location]
    text = message.removeprefix("Value error, ")
    return f"{'.'.join(names)}: {text}" if names else text
