import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from treecrf.parser.formats import Style
from treecrf.server.batcher import Batcher, FullError, Job
from treecrf.server.limits import Limits
from treecrf.server.metrics import Metrics
from treecrf.server.parse_batch import Answer, Item, Wish

WISH = Wish(model="small", style=Style())
_PATIENCE = 60.0


class Stub:
    """Answers a sentence with its words, when it may."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_go = threading.Event()
        self.has_begun = threading.Event()
        self.may_go.set()

    def __call__(self, wish: Wish, items: Sequence[Item]) -> list[Answer]:
        self.batches.append(["".join(map(str, item.words)) for item in items])
        self.has_begun.set()
        assert self.may_go.wait(_PATIENCE)
        return list(self.batches[-1])


def job(*sentences: str, wish: Wish = WISH) -> Job:
    return Job(wish, [Item(list(sentence), []) for sentence in sentences])


def with_batcher(
    parse: Callable[[Wish, Sequence[Item]], Sequence[Answer]],
    test: Callable[[Batcher], Coroutine[Any, Any, None]],
    **limits: Any,
) -> Metrics:
    metrics = Metrics()
    batcher = Batcher(parse, Limits(**limits), metrics)

    async def run() -> None:
        batcher.start()
        try:
            await asyncio.wait_for(test(batcher), _PATIENCE)
        finally:
            await asyncio.to_thread(batcher.close)

    asyncio.run(run())
    return metrics


async def held(stub: Stub, batcher: Batcher) -> "asyncio.Task[list[Answer]]":
    """A job that the thread works on until the stub may go."""
    stub.may_go.clear()
    first = asyncio.ensure_future(batcher.run(job("first")))
    assert await asyncio.to_thread(stub.has_begun.wait, _PATIENCE)
    return first


async def queued(*jobs: Coroutine[Any, Any, list[Answer]]) -> "list[asyncio.Task[list[Answer]]]":
    tasks = [asyncio.ensure_future(job) for job in jobs]
    await asyncio.sleep(0)
    return tasks


def test_every_job_gets_its_own_answers_in_order() -> None:
    async def test(batcher: Batcher) -> None:
        jobs = [job(*(f"{number}-{place}" for place in range(number % 5))) for number in range(200)]
        answers = await asyncio.gather(*map(batcher.run, jobs))
        assert answers == [[f"{number}-{place}" for place in range(number % 5)] for number in range(200)]

    with_batcher(Stub(), test)


def test_what_came_meanwhile_is_parsed_together() -> None:
    stub = Stub()

    async def test(batcher: Batcher) -> None:
        first = await held(stub, batcher)
        tasks = await queued(*(batcher.run(job(name)) for name in "abc"))
        stub.may_go.set()
        assert await asyncio.gather(first, *tasks) == [["first"], ["a"], ["b"], ["c"]]

    with_batcher(stub, test)
    assert stub.batches == [["first"], ["a", "b", "c"]]


def test_a_long_job_shares_each_batch_with_short_ones() -> None:
    stub = Stub()

    async def test(batcher: Batcher) -> None:
        await held(stub, batcher)
        tasks = await queued(batcher.run(job(*"abcdef")), batcher.run(job("x")), batcher.run(job("y")))
        stub.may_go.set()
        await asyncio.gather(*tasks)

    with_batcher(stub, test, batch_words=4)
    assert stub.batches == [["first"], ["a", "x", "y", "b"], ["c", "d", "e", "f"]]


def test_a_full_queue_refuses_and_recovers() -> None:
    stub = Stub()

    async def test(batcher: Batcher) -> None:
        await held(stub, batcher)
        tasks = await queued(batcher.run(job("a", "b")), batcher.run(job("c")))
        with pytest.raises(FullError) as full:
            await batcher.run(job("d", "e"))
        assert 1 <= full.value.seconds <= 60
        tasks += await queued(batcher.run(job("f")))
        stub.may_go.set()
        assert await asyncio.gather(*tasks) == [["a", "b"], ["c"], ["f"]]
        assert await batcher.run(job("d", "e")) == ["d", "e"]

    with_batcher(stub, test, queue=4, sentences=4)


def test_who_leaves_is_not_parsed() -> None:
    stub = Stub()

    async def test(batcher: Batcher) -> None:
        await held(stub, batcher)
        gone, stays = await queued(batcher.run(job("a", "b")), batcher.run(job("c")))
        gone.cancel()
        await asyncio.wait({gone})
        stub.may_go.set()
        assert await stays == ["c"]

    metrics = with_batcher(stub, test)
    assert stub.batches == [["first"], ["c"]]
    assert metrics.registry.get_sample_value("treecrf_dropped_sentences_total") == 2
    assert metrics.registry.get_sample_value("treecrf_queue_sentences") == 0


def test_a_failed_batch_leaves_the_others_alone() -> None:
    def parse(wish: Wish, items: Sequence[Item]) -> list[Answer]:
        if not wish.mbr:
            raise RuntimeError("no")
        return ["yes"] * len(items)

    async def test(batcher: Batcher) -> None:
        bad = Wish(model="small", style=Style(), mbr=False)
        (failed,), good = await asyncio.gather(batcher.run(job("a", wish=bad)), batcher.run(job("b")))
        assert isinstance(failed, RuntimeError) and good == ["yes"]
        assert await batcher.run(job("c")) == ["yes"]

    with_batcher(parse, test)


def test_closing_finishes_what_waits() -> None:
    stub = Stub()

    async def test(batcher: Batcher) -> None:
        first = await held(stub, batcher)
        tasks = await queued(*(batcher.run(job(name)) for name in "abc"))
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        stub.may_go.set()
        await closing
        assert await asyncio.gather(first, *tasks) == [["first"], ["a"], ["b"], ["c"]]

    with_batcher(stub, test)


def test_batches_are_counted() -> None:
    async def test(batcher: Batcher) -> None:
        await batcher.run(job("a", "b", "c"))

    metrics = with_batcher(Stub(), test)
    value = metrics.registry.get_sample_value
    assert value("treecrf_sentences_total") == value("treecrf_batch_sentences_sum") == 3
    assert value("treecrf_batch_requests_sum") == value("treecrf_batch_seconds_count") == 1
