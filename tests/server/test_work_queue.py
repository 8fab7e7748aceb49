import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.parser.formats import Formatter
from treecrf.server.errors import ApiError
from treecrf.server.limits import Limits
from treecrf.server.monitoring import Metrics
from treecrf.server.request_parsing import RequestOptions, SentenceInput
from treecrf.server.work_queue import Batcher, FairQueue, FairThreads, Job, ParseSentences, SentenceResult

OPTIONS = RequestOptions(model="small", formatter=Formatter())
TIMEOUT = 60.0  # seconds
COSTS = st.floats(min_value=0.1, max_value=1000)


def pop_all(queue: FairQueue[str]) -> list[str]:
    items = []
    while queue:
        items.append(queue.pop())
    return items


def test_a_small_job_does_not_wait_for_large_jobs_of_its_client() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(5):
        queue.push("client", [(f"large{number}-{index}", 100.0) for index in range(10)])
    queue.push("client", [("small", 1.0)])
    assert queue.pop() == "small"


def test_large_jobs_of_a_client_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("client", [(f"a{index}", 10.0) for index in range(3)])
    queue.push("client", [(f"b{index}", 10.0) for index in range(3)])
    assert pop_all(queue) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_small_jobs_do_not_starve_a_large_job() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("client", [("large", 10.0)])
    order = []
    for number in range(20):
        queue.push("client", [(f"small{number}", 1.0)])
        order.append(queue.pop())
    assert "large" in order[:10]


def test_a_client_with_many_jobs_gets_the_share_of_one_client() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(50):
        queue.push("greedy", [(f"greedy{number}", 5.0)])
    queue.push("modest", [(f"modest{index}", 5.0) for index in range(4)])
    assert sum(item.startswith("modest") for item in (queue.pop() for _ in range(8))) == 4


@given(st.lists(st.tuples(st.sampled_from("abc"), st.lists(COSTS, max_size=5)), max_size=20), st.data())
def test_every_item_leaves_once_and_the_items_of_a_job_keep_their_order(
    jobs: list[tuple[str, list[float]]], data: st.DataObject
) -> None:
    queue: FairQueue[tuple[int, int]] = FairQueue()
    for number, (client, job_costs) in enumerate(jobs):
        queue.push(client, [((number, index), cost) for index, cost in enumerate(job_costs)])
    removed_job = data.draw(st.sampled_from(range(len(jobs)))) if jobs else -1
    removed = queue.remove(jobs[removed_job][0], lambda item: item[0] == removed_job) if jobs else []
    items = []
    while queue:
        items.append(queue.pop())
    assert sorted(items + removed) == [
        (number, index) for number, job in enumerate(jobs) for index in range(len(job[1]))
    ]
    assert all(item[0] != removed_job for item in items)
    for number in range(len(jobs)):
        indices = [index for job, index in items if job == number]
        assert indices == sorted(indices)


@given(st.lists(st.lists(COSTS, min_size=30, max_size=30), min_size=2, max_size=4))
def test_busy_clients_have_equal_shares_of_the_cost(clients: list[list[float]]) -> None:
    queue: FairQueue[tuple[int, float]] = FairQueue()
    for number, client_costs in enumerate(clients):
        for cost in client_costs:
            queue.push(str(number), [((number, cost), cost)])
    shares = [0.0] * len(clients)
    remaining = [30] * len(clients)
    while min(remaining):
        number, cost = queue.pop()
        shares[number] += cost
        remaining[number] -= 1
    assert max(shares) - min(shares) <= 2 * max(max(client_costs) for client_costs in clients)


def test_waiting_functions_run_in_a_fair_order() -> None:
    order: list[str] = []
    may_finish = threading.Event()

    async def run() -> None:
        threads = FairThreads(1)
        first = asyncio.ensure_future(threads.run("greedy", 1, lambda: may_finish.wait(TIMEOUT)))
        await asyncio.sleep(0)
        names = [("greedy", "a"), ("greedy", "b"), ("modest", "c")]
        others = [
            asyncio.ensure_future(threads.run(client, 10, lambda name=name: order.append(name)))
            for client, name in names
        ]
        await asyncio.sleep(0)
        may_finish.set()
        await asyncio.gather(first, *others)

    asyncio.run(run())
    assert order == ["a", "c", "b"]


def test_a_canceled_function_does_not_run_and_frees_its_thread() -> None:
    async def run() -> list[int]:
        threads = FairThreads(1)
        may_finish = threading.Event()
        first = asyncio.ensure_future(threads.run("a", 1, lambda: may_finish.wait(TIMEOUT)))
        await asyncio.sleep(0)
        canceled = asyncio.ensure_future(threads.run("a", 1, lambda: 1 / 0))
        await asyncio.sleep(0)
        canceled.cancel()
        may_finish.set()
        await asyncio.wait({first, canceled})
        return await asyncio.gather(*(threads.run("a", 1, lambda: 7) for _ in range(3)))

    assert asyncio.run(run()) == [7, 7, 7]


def test_a_canceled_function_that_runs_keeps_its_thread_to_its_end() -> None:
    async def run() -> list[str]:
        threads, order = FairThreads(1), []
        is_running, may_finish = threading.Event(), threading.Event()

        def wait() -> None:
            is_running.set()
            may_finish.wait(TIMEOUT)
            order.append("first")
            raise ValueError

        first = asyncio.ensure_future(threads.run("a", 1, wait))
        await asyncio.to_thread(is_running.wait, TIMEOUT)
        first.cancel()
        second = asyncio.ensure_future(threads.run("a", 1, lambda: order.append("second")))
        await asyncio.sleep(0.05)
        may_finish.set()
        await second
        return order

    assert asyncio.run(run()) == ["first", "second"]


def test_a_waiter_canceled_together_with_a_release_does_not_disturb_others() -> None:
    async def run() -> list[int]:
        threads = FairThreads(1)
        async with threads.reserve("a", 1):
            canceled = asyncio.ensure_future(threads.run("b", 1, lambda: 1 / 0))
            other = asyncio.ensure_future(threads.run("c", 1, lambda: 7))
            await asyncio.sleep(0)
            canceled.cancel()  # the release below comes before the event loop resumes this waiter
        await asyncio.wait({canceled, other})
        return [other.result(), await asyncio.wait_for(threads.run("a", 1, lambda: 8), TIMEOUT)]

    assert asyncio.run(run()) == [7, 8]


def test_a_waiter_canceled_after_its_turn_has_come_passes_its_turn_on() -> None:
    async def run() -> int:
        threads = FairThreads(1)
        async with threads.reserve("a", 1):
            canceled = asyncio.ensure_future(threads.run("b", 1, lambda: 1 / 0))
            await asyncio.sleep(0)
        canceled.cancel()  # its turn has come, but the event loop has not resumed it
        await asyncio.wait({canceled})
        return await asyncio.wait_for(threads.run("a", 1, lambda: 8), TIMEOUT)

    assert asyncio.run(run()) == 8


def test_the_length_and_the_cost_of_a_queue_follow_its_items() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("a", [("a0", 1.0), ("a1", 2.0)])
    queue.push("b", [("b0", 4.0)])
    assert (len(queue), queue.cost) == (3, 7.0)
    assert queue.pop() == "a0"
    assert queue.remove("b", lambda item: True) == ["b0"]
    assert (len(queue), queue.cost) == (1, 2.0)
    queue.pop()
    assert (len(queue), queue.cost) == (0, 0.0) and not queue


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
