"""What a server counts, for Prometheus."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)


class Metrics:
    """The numbers of one app."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        PlatformCollector(registry=own)
        self._requests = Counter(
            "treecrf_requests", "Requests by path and status.", ("method", "path", "status"), registry=own
        )
        self._seconds = Histogram(
            "treecrf_request_seconds", "From a request's head to its answer.", ("path",), buckets=_SECONDS, registry=own
        )
        self._sentences = Counter("treecrf_sentences", "Sentences that were parsed.", registry=own)
        self._batch_sentences = Histogram(
            "treecrf_batch_sentences", "Sentences parsed together.", buckets=_SIZES, registry=own
        )
        self._batch_requests = Histogram(
            "treecrf_batch_requests", "Requests answered together.", buckets=_SIZES, registry=own
        )
        self._batch_seconds = Histogram(
            "treecrf_batch_seconds", "How long a batch takes.", buckets=_SECONDS, registry=own
        )
        self.queue = Gauge("treecrf_queue_sentences", "Sentences that wait.", registry=own)
        self.dropped = Counter("treecrf_dropped_sentences", "Sentences whose client left first.", registry=own)

    def record_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def record_batch(self, sentences: int, requests: int, seconds: float) -> None:
        """Count what was parsed together."""
        self._sentences.inc(sentences)
        self._batch_sentences.observe(sentences)
        self._batch_requests.observe(requests)
        self._batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """All numbers, in the format of Prometheus."""
        return generate_latest(self.registry)
