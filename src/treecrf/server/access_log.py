"""What a server says about its work: a line of JSON for each request and event."""

import json
import logging
import re
import time
import uuid
from datetime import datetime, timezone
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treecrf.server.errors import problem
from treecrf.server.metrics import Metrics

log = logging.getLogger(__name__)

_PATHS = ("/parse", "/parse/batch", "/models", "/health", "/metrics", "/docs", "/openapi.json")
_METHODS = ("GET", "HEAD", "POST")
_REQUEST_ID = re.compile(r"[\w.:/+=-]{1,64}", re.ASCII)


class JsonFormatter(logging.Formatter):
    """Log records as JSON, one a line; texts and tokens of users are never in them."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        found: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "message": record.getMessage()}
        found |= getattr(record, "fields", {})
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found)


class Journal:
    """Gives each request an id, and writes down how it was answered."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0
        given = Headers(scope=scope).get("x-request-id", "")
        scope["request_id"] = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = scope["request_id"]
                if scope["app"].state.is_closing:
                    headers["connection"] = "close"
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        except Exception:
            log.exception("a request failed", extra={"fields": {"request_id": scope["request_id"]}})
            if not status:
                answer = problem(scope["request_id"], 500, "the server failed; its log says more under this request_id")
                await answer(scope, receive, send_noted)
        self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in _PATHS else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.record_request(method, path, status, seconds)
        if path in ("/health", "/metrics") and status == 200:
            return  # which are asked every few seconds
        client = scope.get("client") or ("",)
        fields = {
            "request_id": scope["request_id"],
            "client": client[0],
            "method": scope["method"][:20],
            "path": scope["path"][:200],
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
            **scope.get("noted", {}),
        }
        log.info("request", extra={"fields": fields})
