import asyncio
import signal
from typing import Any

import pytest

from treecrf.server.tregex import find_in_process, find_pattern


def test_the_search_of_a_client_that_has_left_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.server.limits.SEARCH_SECONDS", 1000.0)
    create, processes = asyncio.create_subprocess_exec, []

    async def record(*arguments: Any, **options: Any) -> Any:
        processes.append(await create(*arguments, **options))
        return processes[0]

    async def run() -> None:
        monkeypatch.setattr(asyncio, "create_subprocess_exec", record)
        search = asyncio.ensure_future(find_in_process("/^(a+)+$/", [f"(S (NN {'a' * 40}b))"]))
        while not processes:
            await asyncio.sleep(0.01)
        search.cancel()
        await asyncio.wait({search})

    asyncio.run(run())
    assert processes[0].returncode == -signal.SIGKILL


def test_a_tregex_pattern_with_too_many_matches_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.server.limits.SEARCH_ANSWER_CHARACTERS", 1000)
    tree = f"(S {'(NN a) ' * 30})"
    assert find_pattern("__=a .. (__=b .. __=c)", [tree]) == {"error": "its matches have more than 1,000 characters"}
    assert "sentences" in find_pattern("S", [tree])
