import asyncio
import threading

from treecrf.server.fair_threads import FairThreads

TIMEOUT = 60.0


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


def test_a_cancelled_function_does_not_run_and_frees_its_place() -> None:
    async def run() -> list[int]:
        threads = FairThreads(1)
        may_finish = threading.Event()
        first = asyncio.ensure_future(threads.run("a", 1, lambda: may_finish.wait(TIMEOUT)))
        await asyncio.sleep(0)
        cancelled = asyncio.ensure_future(threads.run("a", 1, lambda: 1 / 0))
        await asyncio.sleep(0)
        cancelled.cancel()
        may_finish.set()
        await asyncio.wait({first, cancelled})
        return await asyncio.gather(*(threads.run("a", 1, lambda: 7) for _ in range(3)))

    assert asyncio.run(run()) == [7, 7, 7]


def test_a_cancelled_function_that_runs_keeps_its_place_to_its_end() -> None:
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
