import asyncio
import json
import math
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from treecrf.server.errors import ApiError
from treecrf.server.search_pool import SearchPool, _processor_seconds

TREE = "(S (NN a))"
SLOW = ("/^(a+)+$/", [f"(S (NN {'a' * 40}b))"])

WITHOUT_MEMORY = """
import atexit, time
from treecrf.server import tree_process

def find(brackets, pattern):
    if pattern == "bomb":
        raise MemoryError
    yield '{"sentences": []}'

tree_process._FUNCTIONS["find_pattern"] = find
atexit.register(time.sleep, 1)  # the process ends slowly
tree_process.main()
"""


def run_with_pool(test: Callable[[SearchPool], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        pool = SearchPool()
        try:
            await test(pool)
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_process_answers_several_searches() -> None:
    async def test(pool: SearchPool) -> None:
        for _ in range(3):
            answer = json.loads(await pool.search("client", "find_pattern", "NN", [TREE]))
            assert answer["sentences"][0]["0"]["match"] == "(NN a)\n"
        assert len(pool._processes) <= 2

    run_with_pool(test)


def test_the_search_of_a_client_that_has_left_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.server.limits.SEARCH_SECONDS", 1000.0)

    async def test(pool: SearchPool) -> None:
        await pool.search("client", "find_pattern", "NN", [TREE])
        (process,) = [process for process in pool._processes if process in pool._ready._queue]  # type: ignore[attr-defined]
        search = asyncio.ensure_future(pool.search("client", "find_pattern", *SLOW))
        while process in pool._ready._queue:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        search.cancel()
        await asyncio.wait({search})
        await process.wait()
        assert process.returncode == -signal.SIGKILL
        assert b"sentences" in await pool.search("client", "find_pattern", "NN", [TREE])

    run_with_pool(test)


@pytest.mark.parametrize(
    ("seconds", "error"),
    [(math.nan, "422: the search took more than 1 seconds"), (0.1, "503: the machine is too busy for the search")],
)
def test_the_clock_of_a_search_starts_when_its_process_is_ready(
    monkeypatch: pytest.MonkeyPatch, seconds: float, error: str
) -> None:
    """A search that the machine had no time for is no fault of its pattern."""
    monkeypatch.setattr("treecrf.server.search_pool._processor_seconds", lambda process: seconds)
    start = "import time; time.sleep(1.5); "
    monkeypatch.setattr("treecrf.server.search_pool._PROGRAM", f"{start}{SearchPool.search.__globals__['_PROGRAM']}")
    monkeypatch.setattr("treecrf.server.limits.SEARCH_SECONDS", 1.0)

    async def test(pool: SearchPool) -> None:
        assert b"sentences" in await pool.search("client", "find_pattern", "NN", [TREE])
        with pytest.raises(ApiError, match=error):
            await pool.search("client", "find_pattern", *SLOW)

    run_with_pool(test)


@pytest.mark.parametrize("program", ["import time; time.sleep(1000)", "raise SystemExit(3)"])
def test_a_process_that_does_not_start_in_time_is_status_503(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr("treecrf.server.search_pool._PROGRAM", program)
    monkeypatch.setattr("treecrf.server.limits.SEARCH_START_SECONDS", 0.5)

    async def test(pool: SearchPool) -> None:
        with pytest.raises(ApiError) as error:
            await pool.search("client", "find_pattern", "NN", [TREE])
        assert (error.value.status_code, error.value.headers) == (503, {"retry-after": "1"})

    run_with_pool(test)


def test_a_process_without_memory_answers_no_other_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.server.search_pool._PROGRAM", WITHOUT_MEMORY)

    async def test(pool: SearchPool) -> None:
        with pytest.raises(ApiError, match="422: the search failed or needs too much memory"):
            await pool.search("client", "find_pattern", "bomb", [TREE])
        for _ in range(3):
            assert b"sentences" in await pool.search("other", "find_pattern", "NN", [TREE])

    run_with_pool(test)


def test_a_client_has_one_search_at_a_time_and_few_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.server.limits.WAITING_SEARCHES", 2)
    order = []

    async def take_turn(pool: SearchPool, client: str, name: str) -> None:
        async with pool.turn(client):
            order.append(name)
            await asyncio.sleep(0.01)
            order.append(name)

    async def test(pool: SearchPool) -> None:
        tasks = [asyncio.ensure_future(take_turn(pool, "many", f"search {number}")) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="503: too many of your searches wait"):
            await take_turn(pool, "many", "refused")
        await asyncio.gather(take_turn(pool, "other", "other"), *tasks)
        assert [name for name in order if name != "other"] == [f"search {number // 2}" for number in range(6)]
        assert order.index("other") < 3 and not pool._turns

    run_with_pool(test)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long a process has computed")
def test_the_seconds_of_a_process_that_waits_stay_the_same() -> None:
    async def test(pool: SearchPool) -> None:
        process = await pool._take()
        start = _processor_seconds(process)
        await asyncio.sleep(0.1)
        assert 0 < start == _processor_seconds(process)

    run_with_pool(test)
