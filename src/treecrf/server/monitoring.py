"""The access log, one line of JSON per request or event, and the metrics for Prometheus."""

import json
import logging
import re
import time
import uuid
from collections.abc import Collection
from datetime import datetime, timezone
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treecrf.server.errors import error_response

log = logging.getLogger(__name__)

_METHODS = ("GET", "HEAD", "POST")  # other methods are counted as "other"
_POLLED_PATHS = ("/health", "/metrics")
_REQUEST_ID = re.compile(r"[\w.:/+=-]{1,64}", re.ASCII)
_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_SECONDS_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)


class JsonFormatter(logging.Formatter):
    """Formats log records as JSON, one per line. The records never contain text or tokens of users."""

    def format(self, record: logging.LogRecord) -> str:
        timestamp = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = {"time": timestamp, "level": record.levelname.lower(), "message": record.getMessage()}
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class TextFormatter(logging.Formatter):
    """Formats log records for people: the time, the message, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        timestamp = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        fields = getattr(record, "fields", {})
        if record.getMessage() == "request":
            words = f", {fields['words']} words" if "words" in fields else ""
            line = f"{fields['method']} {fields['path']} {fields['status']}, {fields['milliseconds']} ms{words}"
        else:
            line = " ".join([record.getMessage(), *(f"{name}={value}" for name, value in fields.items())])
        traceback = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{timestamp} {line.encode('unicode_escape').decode()}{traceback}"


class Metrics:
    """The metrics of one app, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        sizes = partial(Histogram, buckets=_SIZE_BUCKETS, registry=registry)
        seconds = partial(Histogram, buckets=_SECONDS_BUCKETS, registry=registry)
        self._requests = counter("treecrf_requests", "Requests by path and status.", ("method", "path", "status"))
        description = "Seconds from a request's headers to its response."
        self._request_seconds = seconds("treecrf_request_seconds", description, ("path",))
        self._sentences = counter("treecrf_sentences", "Parsed sentences.")
        self._batch_sentences = sizes("treecrf_batch_sentences", "Sentences per batch.")
        self._batch_requests = sizes("treecrf_batch_requests", "Requests per batch.")
        self._batch_seconds = seconds("treecrf_batch_seconds", "Seconds per batch.")
        self.queue = gauge("treecrf_queue_sentences", "Queued sentences.")
        self.queue_work = gauge("treecrf_queue_work", "Estimated work of the queued sentences.")
        self.dropped = counter("treecrf_dropped_sentences", "Queued sentences whose client disconnected.")

    def record_request(self, method: str, path: str, status: int, seconds: float) -> None:
        self._requests.labels(method, path, str(status)).inc()
        self._request_seconds.labels(path).observe(seconds)

    def record_batch(self, sentences: int, requests: int, seconds: float) -> None:
        self._sentences.inc(sentences)
        self._batch_sentences.observe(sentences)
        self._batch_requests.observe(requests)
        self._batch_seconds.observe(seconds)


class AccessLog:
    """Middleware that gives each request an id, and logs and counts its response.

    Requests to other paths than `paths` are counted as "other": clients must not be able to add metrics. Handlers add
    fields to the log line through `scope["log_fields"]`.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self._metrics = metrics
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0
        client_id = Headers(scope=scope).get("x-request-id", "")
        scope["request_id"] = client_id if _REQUEST_ID.fullmatch(client_id) else uuid.uuid4().hex

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = scope["request_id"]
                if scope["app"].state.is_closing:
                    headers["connection"] = "close"
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except Exception:
            log.exception("request failed", extra={"fields": {"request_id": scope["request_id"]}})
            if not status:
                message = "internal server error; the server's log has more under this request_id"
                response = error_response(scope["request_id"], 500, message)
                await response(scope, receive, send_with_id)
        self._record(scope, status, time.perf_counter() - start)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.record_request(method, path, status, seconds)
        if path in _POLLED_PATHS and status == 200:
            return  # monitoring polls these every few seconds
        client = scope.get("client") or ("",)
        fields = {
            "request_id": scope["request_id"],
            "client": client[0],
            "method": scope["method"][:20],
            "path": scope["path"][:200],
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
            **scope.get("log_fields", {}),
        }
        log.info("request", extra={"fields": fields})
