import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from treecrf.parser.formats import Formatter
from treecrf.server.errors import ApiError
from treecrf.server.limits import Limits
from treecrf.server.monitoring import Metrics
from treecrf.server.request_parsing import RequestOptions, SentenceInput
from treecrf.server.work_queue import Batcher, Job, ParseSentences, SentenceResult

OPTIONS = RequestOptions(model="small", formatter=Formatter())
TIMEOUT = 60.0  # seconds


class StubParser:
    """Returns the words of each sentence as its result, once `may_finish` is set."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_finish = threading.Event()
        self.has_started = threading.Event()
        self.may_finish.set()

    def __call__(
        self, options: RequestOptions, sentences: Sequence[SentenceInput], should_stop: Callable[[], bool]
    ) -> list[SentenceResult]:
        self.batches.append(["".join(map(str, sentence.words)) for sentence in sentences])
        self.has_started.set()
        assert self.may_finish.wait(TIMEOUT)
        return list(self.batches[-1])


def job(*sentences: str, options: RequestOptions = OPTIONS, client: str = "") -> Job:
    return Job(options, [SentenceInput(list(sentence), []) for sentence in sentences], client=client)


def run_with_batcher(
    parse: ParseSentences,
    test: Callable[[Batcher], Coroutine[Any, Any, None]],
    **limits: Any,
) -> Metrics:
    metrics = Metrics()
    batcher = Batcher(parse, Limits(**limits), metrics)

    async def run() -> None:
        batcher.start()
        try:
            await asyncio.wait_for(test(batcher), TIMEOUT)
        finally:
            await asyncio.to_thread(batcher.close)

    asyncio.run(run())
    return metrics


async def start_blocking_job(stub: StubParser, batcher: Batcher) -> "asyncio.Task[list[SentenceResult]]":
    """A job that occupies the thread until the stub may finish."""
    stub.may_finish.clear()
    task = asyncio.ensure_future(batcher.run(job("first")))
    assert await asyncio.to_thread(stub.has_started.wait, TIMEOUT)
    return task


async def enqueue(
    *jobs: Coroutine[Any, Any, list[SentenceResult]],
) -> "list[asyncio.Task[list[SentenceResult]]]":
    tasks = [asyncio.ensure_future(job) for job in jobs]
    await asyncio.sleep(0)
    return tasks


def test_every_job_gets_its_own_results_in_order() -> None:
    async def test(batcher: Batcher) -> None:
        jobs = [job(*(f"{number}-{index}" for index in range(number % 5))) for number in range(200)]
        results = await asyncio.gather(*map(batcher.run, jobs))
        assert results == [[f"{number}-{index}" for index in range(number % 5)] for number in range(200)]

    run_with_batcher(StubParser(), test)


def test_jobs_that_arrive_during_a_batch_are_parsed_together() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        first = await start_blocking_job(stub, batcher)
        tasks = await enqueue(*(batcher.run(job(name)) for name in "abc"))
        stub.may_finish.set()
        assert await asyncio.gather(first, *tasks) == [["first"], ["a"], ["b"], ["c"]]

    run_with_batcher(stub, test)
    assert stub.batches == [["first"], ["a", "b", "c"]]


def test_a_long_job_shares_each_batch_with_short_ones() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        await start_blocking_job(stub, batcher)
        tasks = await enqueue(batcher.run(job(*"abcdef")), batcher.run(job("x")), batcher.run(job("y")))
        stub.may_finish.set()
        await asyncio.gather(*tasks)

    run_with_batcher(stub, test, batch_words=4)
    assert stub.batches == [["first"], ["a", "x", "y", "b"], ["c", "d", "e", "f"]]


def test_a_full_queue_raises_an_error_and_recovers() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        await start_blocking_job(stub, batcher)
        tasks = await enqueue(batcher.run(job("a", "b")), batcher.run(job("c")))
        with pytest.raises(ApiError, match="too many sentences are queued") as error:
            await batcher.run(job("d", "e"))
        assert error.value.status_code == 503 and 1 <= int(error.value.headers["retry-after"]) <= 60
        tasks += await enqueue(batcher.run(job("f")))
        stub.may_finish.set()
        assert await asyncio.gather(*tasks) == [["a", "b"], ["c"], ["f"]]
        assert await batcher.run(job("d", "e")) == ["d", "e"]

    run_with_batcher(stub, test, queue=4, sentences=4)


def test_a_canceled_job_is_not_parsed() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        await start_blocking_job(stub, batcher)
        canceled, active = await enqueue(batcher.run(job("a", "b")), batcher.run(job("c")))
        canceled.cancel()
        await asyncio.wait({canceled})
        stub.may_finish.set()
        assert await active == ["c"]

    metrics = run_with_batcher(stub, test)
    assert stub.batches == [["first"], ["c"]]
    assert metrics.registry.get_sample_value("treecrf_dropped_sentences_total") == 2
    assert metrics.registry.get_sample_value("treecrf_queue_sentences") == 0


def test_an_error_in_one_group_does_not_affect_others() -> None:
    def parse(
        options: RequestOptions, sentences: Sequence[SentenceInput], should_stop: Callable[[], bool]
    ) -> list[SentenceResult]:
        if not options.mbr:
            raise RuntimeError("no")
        return ["yes"] * len(sentences)

    async def test(batcher: Batcher) -> None:
        failing = RequestOptions(model="small", formatter=Formatter(), mbr=False)
        (error,), results = await asyncio.gather(batcher.run(job("a", options=failing)), batcher.run(job("b")))
        assert isinstance(error, RuntimeError) and results == ["yes"]
        assert await batcher.run(job("c")) == ["yes"]

    run_with_batcher(parse, test)


def test_small_sentences_do_not_wait_for_a_large_one() -> None:
    stub = StubParser()

    def parse(
        options: RequestOptions, sentences: Sequence[SentenceInput], should_stop: Callable[[], bool]
    ) -> list[SentenceResult]:
        return stub(options, sentences, should_stop) if len(sentences[0].words) > 250 else ["small"] * len(sentences)

    async def test(batcher: Batcher) -> None:
        stub.may_finish.clear()
        large = asyncio.ensure_future(batcher.run(job("l" * 300, "s")))
        assert await asyncio.to_thread(stub.has_started.wait, TIMEOUT)
        assert await batcher.run(job("x")) == ["small"]
        assert not large.done()
        stub.may_finish.set()
        assert await large == ["l" * 300, "small"]

    run_with_batcher(parse, test)


def test_the_queue_is_full_by_work_but_small_jobs_have_a_reserve() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        await start_blocking_job(stub, batcher)
        tasks = await enqueue(batcher.run(job("a" * 40)), batcher.run(job("b" * 40)))
        with pytest.raises(ApiError, match="too many sentences are queued"):
            await batcher.run(job("c" * 40))
        tasks += await enqueue(batcher.run(job("x")))
        stub.may_finish.set()
        assert [len(results) for results in await asyncio.gather(*tasks)] == [1, 1, 1]

    run_with_batcher(stub, test, queue_work=110, work=100)


def test_a_canceled_job_in_work_is_told_to_stop() -> None:
    stub = StubParser()
    answers: list[bool] = []

    def parse(
        options: RequestOptions, sentences: Sequence[SentenceInput], should_stop: Callable[[], bool]
    ) -> list[SentenceResult]:
        answers.append(should_stop())
        stub(options, sentences, should_stop)
        answers.append(should_stop())
        return ["result"] * len(sentences)

    async def test(batcher: Batcher) -> None:
        task = await start_blocking_job(stub, batcher)
        task.cancel()
        await asyncio.wait({task})
        stub.may_finish.set()

    run_with_batcher(parse, test)
    assert answers == [False, True]


def test_stop_fails_unfinished_jobs_at_once() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        first = await start_blocking_job(stub, batcher)
        (queued,) = await enqueue(batcher.run(job("a")))
        batcher.stop()
        for task in (first, queued):
            with pytest.raises(ApiError, match="the server stopped"):
                await task
        with pytest.raises(ApiError, match="the server stopped"):
            await batcher.run(job("b"))
        stub.may_finish.set()

    run_with_batcher(stub, test)
    assert stub.batches == [["first"]]


def test_close_finishes_queued_jobs() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        first = await start_blocking_job(stub, batcher)
        tasks = await enqueue(*(batcher.run(job(name)) for name in "abc"))
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        stub.may_finish.set()
        await closing
        assert await asyncio.gather(first, *tasks) == [["first"], ["a"], ["b"], ["c"]]

    run_with_batcher(stub, test)


def test_a_batch_after_slow_ones_has_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.server.limits.BATCH_SECONDS", 0.0)  # every batch is slow
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        assert await batcher.run(job("a")) == ["a"]
        assert await batcher.run(job(*"b" * 250)) == ["b"] * 250

    run_with_batcher(stub, test)
    assert list(map(len, stub.batches)) == [1, 100, 100, 50]


def test_batches_are_counted() -> None:
    async def test(batcher: Batcher) -> None:
        await batcher.run(job("a", "b", "c"))

    metrics = run_with_batcher(StubParser(), test)
    value = metrics.registry.get_sample_value
    assert value("treecrf_sentences_total") == value("treecrf_batch_sentences_sum") == 3
    assert value("treecrf_batch_requests_sum") == value("treecrf_batch_seconds_count") == 1


def test_a_batch_waits_for_as_many_jobs_as_the_last_one_had() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        first = await start_blocking_job(stub, batcher)
        tasks = await enqueue(batcher.run(job("a")), batcher.run(job("b")))
        stub.may_finish.set()
        await asyncio.gather(first, *tasks)
        tasks = await enqueue(batcher.run(job("c")))
        await asyncio.sleep(0.1)
        tasks += await enqueue(batcher.run(job("d")))
        await asyncio.gather(*tasks)

    run_with_batcher(stub, test, wait_seconds=TIMEOUT)
    assert stub.batches == [["first"], ["a", "b"], ["c", "d"]]


def test_a_full_queue_estimates_its_time_from_earlier_batches() -> None:
    stub = StubParser()

    async def test(batcher: Batcher) -> None:
        await start_blocking_job(stub, batcher)
        (task,) = await enqueue(batcher.run(job("a" * 80)))
        batcher._batch_lane.past_seconds, batcher._batch_lane.past_work = 30.0, 200.0
        with pytest.raises(ApiError, match="try again in 20 s"):  # 80 words have 131 units of work
            await batcher.run(job("b" * 80))
        stub.may_finish.set()
        await task

    run_with_batcher(stub, test, queue_work=200, work=200)
