"""Prometheus metrics of the server."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector

_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_SECONDS_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)


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
