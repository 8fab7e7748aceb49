"""Limits on the load of a server."""

import math
from dataclasses import dataclass, field, fields
from typing import Any


def _limit(default: float, description: str, *, minimum: float = 1) -> Any:
    return field(default=default, metadata={"description": description, "minimum": minimum})


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits per request and for all requests together. A request beyond a limit is an error; nothing is truncated."""

    head_bytes: int = _limit(32_768, "bytes per request head: the request line and the header fields")
    head_fields: int = _limit(100, "header fields per request")
    body_bytes: int = _limit(1_000_000, "bytes per request body")
    body_seconds: float = _limit(10.0, "seconds to receive a request", minimum=0.1)
    words: int = _limit(300, "words per sentence; parsing time grows with the cube of this number")
    sentences: int = _limit(1000, "sentences per request")
    k: int = _limit(20, "alternative trees per sentence", minimum=0)
    work: int = _limit(2_000_000, "estimated work per request, in words of short sentences")
    marginal_words: int = _limit(100, "words per sentence in requests for marginals", minimum=0)
    queue: int = _limit(2000, "queued sentences; further requests get status 503")
    queue_work: int = _limit(4_000_000, "estimated work of all queued sentences; further requests get status 503")
    batch_words: int = _limit(2000, "words per batch; a word of a long sentence counts more")
    wait_seconds: float = _limit(0.003, "seconds that a batch waits for more requests under load", minimum=0)
    connections: int = _limit(500, "open connections")
    drain_seconds: float = _limit(120.0, "seconds to finish accepted requests at shutdown", minimum=0)

    def __post_init__(self) -> None:
        for limit in fields(self):
            value, minimum = getattr(self, limit.name), limit.metadata["minimum"]
            if not minimum <= value < math.inf:
                raise ValueError(
                    f"{limit.name} is {value}; expected at least {minimum} ({limit.metadata['description']})"
                )
        if self.sentences > self.queue:
            raise ValueError(
                f"a request may have {self.sentences} sentences, but the queue holds {self.queue}; "
                "expected sentences <= queue"
            )
        if self.work > self.queue_work:
            raise ValueError(
                f"a request may have {self.work} units of work, but the queue holds {self.queue_work}; "
                "expected work <= queue_work"
            )
