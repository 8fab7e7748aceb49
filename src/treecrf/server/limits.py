"""How much a server takes on."""

import math
from dataclasses import dataclass, field, fields
from typing import Any


def _limit(default: float, about: str, *, least: float = 1) -> Any:
    return field(default=default, metadata={"about": about, "least": least})


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may ask for, and what all of them together; what is beyond is refused, not cut."""

    body_bytes: int = _limit(1_000_000, "bytes of a request's body")
    body_seconds: float = _limit(10.0, "seconds for a request to arrive", least=0.1)
    words: int = _limit(300, "words of a sentence; time grows with their cube")
    sentences: int = _limit(1000, "sentences of a request")
    k: int = _limit(20, "alternatives of a sentence", least=0)
    marginal_words: int = _limit(100, "words of a sentence whose marginals are asked for", least=0)
    queue: int = _limit(2000, "sentences that wait; when as many do, requests are answered 503")
    batch_words: int = _limit(2000, "words that are parsed together")
    wait_seconds: float = _limit(0.003, "seconds that a batch waits for more requests while many come", least=0)
    connections: int = _limit(500, "connections at a time")
    drain_seconds: float = _limit(120.0, "seconds for a shutdown to finish what was accepted", least=0)

    def __post_init__(self) -> None:
        for limit in fields(self):
            value, least = getattr(self, limit.name), limit.metadata["least"]
            if not least <= value < math.inf:
                raise ValueError(f"{limit.name} is {value}; expected {least} or more {limit.metadata['about']}")
        if self.sentences > self.queue:
            raise ValueError(
                f"a request may have {self.sentences} sentences but only {self.queue} may wait; "
                "expected sentences <= queue"
            )
