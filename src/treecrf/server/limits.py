"""Limits on the load of a server: the settings of `treecrf serve`, the fixed limits, and the estimate of work."""

import math
from dataclasses import dataclass, field, fields
from typing import Any

# requests
PIECE_BYTES = 4096  # received data is parsed in pieces of this size, so that an endless request head is noticed
CHUNK_OVERHEAD = 8  # bytes that a chunked body may have beside each byte of content
PIPELINED_REQUESTS = 20  # requests per connection that wait for their responses; more of them end the connection
DRAIN_FACTOR = 100  # an unread body is discarded up to this many times the limit on bodies
JSON_NAMES = 100  # names per object; no object of the schema has so many, and each unknown name would be an error
JSON_OBJECTS = 50_000  # objects per body; with the shortest useful object, a span, they are about a megabyte
CONSTRAINT_SPANS = 1000  # required spans per sentence, and forbidden spans per sentence
CHECKED_SENTENCES = 100  # sentences per input whose language is checked
# connections
EXTRA_CONNECTIONS = 100  # connections above the limit: for health checks, and for clients with few connections
HALF_CLOSED_SECONDS = 4.0  # a client that sends no more may read its response within this time
REJECTED_SECONDS = 2.0  # a client that still sends data may read its error response within this time
UNREAD_SHARE = 7 / 8  # a client that leaves more of its response unread between two checks does not read it
# threads
LOOP_BYTES = 2000  # longer bodies are read in a thread, so that the event loop is not blocked,
LOOP_CHARACTERS = 1_000_000  # and longer responses are joined in a thread
READER_THREADS = 2
SEARCH_PROCESSES = 3
# queue
LARGE_WORK = 1000  # a sentence with more work is parsed in the second thread
BATCH_SECONDS = 0.25  # a batch is limited to about this much time: other requests wait for its end
MIN_BATCH_WORK = 100  # even if it takes longer, because the machine may have been busy
SMALL_SHARE = 0.01  # a job that takes this share of the queue or less is small,
RESERVE_SHARE = 0.1  # and may exceed the limits of the queue by this share, so that large jobs do not lock it out
STOP_SECONDS = 1.0  # time that a stopped thread has to end; only a search for alternatives can be interrupted
# Tregex
PROPERTY_CHARACTERS = 10_000  # characters per `properties` of a CoreNLP request
PATTERN_CHARACTERS = 1000
WAITING_SEARCHES = 10  # searches per client that wait for its turn
SEARCH_START_SECONDS = 30.0
SEARCH_SECONDS = 10.0  # after the process has started
SEARCH_MEMORY_BYTES = 1 << 28  # more than the process has at its start
SEARCH_NICENESS = 10
SEARCH_ANSWER_BYTES = 10_000_000
ANSWER_PIECE_BYTES = 1 << 16  # an answer is sent in pieces, so that a slow reader has few unread bytes
# work
_CUBIC_WORDS = 100  # sentence length at which the cubic part of parsing takes as long as the linear part
_KBEST_FACTOR = 10  # a search for alternatives takes this much longer than a parse
_ALTERNATIVE_WORK = 5  # work per alternative, even in the shortest sentence


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
        for name, queue_name, unit in (("sentences", "queue", "sentences"), ("work", "queue_work", "units of work")):
            value, queued = getattr(self, name), getattr(self, queue_name)
            if value > queued:
                raise ValueError(
                    f"a request may have {value} {unit}, but the queue holds {queued}; expected {name} <= {queue_name}"
                )


def sentence_work(words: int, *, k: int = 0, marginals: bool = False) -> float:
    """Estimates the work of parsing a sentence, in units of one word of a short sentence.

    The work is linear in short sentences, cubic in long ones, and more for k-best trees and marginals.

    >>> [round(sentence_work(words)) for words in (1, 10, 100, 300)]
    [1, 10, 200, 3000]
    >>> round(sentence_work(100, k=20))
    6300
    """
    passes = 1 + marginals + (_KBEST_FACTOR + k if k else 0)
    return words * (1 + (words / _CUBIC_WORDS) ** 2) * passes + _ALTERNATIVE_WORK * k
