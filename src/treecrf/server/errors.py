"""Error responses: the exception that request handlers raise, and its JSON."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import Request, Response
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

Model = TypeVar("Model", bound=BaseModel)

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
    assert isinstance(error, HTTPException)
    return error_response(request.scope["request_id"], error.status_code, str(error.detail), error.headers)


def validate(model: type[Model], value: Any) -> Model:
    """Reads parsed JSON as a model. The error for other JSON does not repeat the input."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[:_MAX_MESSAGES]
        message = "; ".join(_format_message(detail["loc"], detail["msg"]) for detail in details)
        raise ApiError(422, message) from None


def _format_message(location: tuple[str | int, ...], message: str) -> str:
    names = [str(name)[:80] for name in location]
    text = message.removeprefix("Value error, ")
    return f"{'.'.join(names)}: {text}" if names else text
