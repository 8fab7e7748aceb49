import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.server.fair_queue import FairQueue, FairThreads

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
        async with threads.reserve("a"):
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
        async with threads.reserve("a"):
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


def test_charged_clients_come_after_the_others_until_they_have_waited_as_long() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("slow", [("slow0", 0.0)])
    queue.charge("slow", 10.0)
    for number in range(4):
        queue.push("quick", [(f"quick{number}", 4.0)])
    assert pop_all(queue) == ["quick0", "quick1", "slow0", "quick2", "quick3"]
    queue.push("slow", [("slow1", 0.0)])
    queue.push("new", [("new0", 5.0)])
    assert pop_all(queue) == ["slow1", "new0"]


def test_charges_are_kept_while_a_client_has_no_items() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.charge("slow", 10.0)
    queue.push("slow", [("slow", 0.0)])
    queue.push("quick", [("quick", 1.0)])
    assert pop_all(queue) == ["quick", "slow"]
    queue.charge("slow", 10.0)
    queue.forgive()
    queue.push("slow", [("slow", 0.0)])
    queue.push("quick", [("quick", 1.0)])
    assert pop_all(queue) == ["slow", "quick"]


def test_reserved_places_are_charged_by_their_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    order = []

    async def occupy(client: str, seconds: float) -> None:
        async with threads.reserve(client):
            for _ in range(5):  # the others wait meanwhile
                await asyncio.sleep(0)
            clock[0] += seconds
            order.append(client)

    async def run() -> None:
        first = asyncio.ensure_future(occupy("slow", 10.0))
        await asyncio.sleep(0)
        searches = [asyncio.ensure_future(occupy(client, 1.0)) for client in ("slow", "quick", "quick")]
        await asyncio.gather(first, *searches)

    threads = FairThreads(1)
    asyncio.run(run())
    assert order == ["slow", "quick", "quick", "slow"]
