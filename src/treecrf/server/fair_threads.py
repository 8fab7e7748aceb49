"""Runs functions in a few threads, and shares the threads fairly between clients."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from treecrf.server.fair_queue import FairQueue

T = TypeVar("T")


class FairThreads:
    """Runs at most `threads` functions at a time. The functions that wait are in a fair queue."""

    def __init__(self, threads: int) -> None:
        self._free_threads = threads
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    async def run(self, client: str, cost: float, function: Callable[[], T]) -> T:
        """Runs a function in a thread, once it is its turn, and returns its result.

        Cancellation removes a function that waits. One that runs keeps its place to its end, as its thread does.
        """
        await self._acquire(client, cost)
        work = asyncio.ensure_future(asyncio.to_thread(function))
        work.add_done_callback(self._finish)
        return await asyncio.shield(work)

    @asynccontextmanager
    async def place(self, client: str, cost: float) -> AsyncIterator[None]:
        """Waits like a function, and takes the place of one for the block."""
        await self._acquire(client, cost)
        try:
            yield
        finally:
            self._release()

    def _finish(self, work: "asyncio.Future[T]") -> None:
        self._release()
        if not work.cancelled():
            work.exception()  # nobody may wait for it

    async def _acquire(self, client: str, cost: float) -> None:
        if self._free_threads:
            self._free_threads -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.push(client, [(turn, cost)])
        try:
            await turn
        except asyncio.CancelledError:
            if not self._waiting.remove(client, lambda other: other is turn):
                self._release()  # its turn had come
            raise

    def _release(self) -> None:
        if self._waiting:
            self._waiting.pop().set_result(None)
        else:
            self._free_threads += 1
