"""Fair queues: every client gets the same share of what the server does.

`FairQueue` orders items by cost. `FairThreads` runs functions in that order: reading, writing and searching.
"""

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue of items with costs. Each client gets the same share of the cost of all items that leave the queue.

    This is self-clocked fair queueing (Golestani, 1994) on two levels: between clients, and between the jobs of each
    client. Each item has a virtual finish time: its cost after the finish time of the item before it in its job. The
    item with the earliest finish time comes first. So a small job does not wait for the large jobs before it, and a
    large job is not starved by small ones.
    """

    def __init__(self) -> None:
        self._clients: dict[str, _ClientQueue[T]] = {}
        self._virtual_time = 0.0  # finish time of the last item that left the queue
        self._charged_until: dict[str, float] = {}  # virtual time before which a client's items do not start

    def __len__(self) -> int:
        return sum(len(queue.heap) for queue in self._clients.values())

    @property
    def cost(self) -> float:
        return sum(queue.cost for queue in self._clients.values())

    def push(self, client: str, job: Iterable[tuple[T, float]]) -> None:
        """Adds the items of one job, each with its cost, in their order."""
        start_time = max(self._virtual_time, self._charged_until.get(client, 0.0))
        self._clients.setdefault(client, _ClientQueue(start_time)).push(job)
        self._drop_if_empty(client)

    def charge(self, client: str, cost: float) -> None:
        """Charges a client for cost that was not known when its item was added; its later items wait longer."""
        charged_until = self._charged_until.items()
        self._charged_until = {name: until for name, until in charged_until if until > self._virtual_time}
        self._charged_until[client] = max(self._virtual_time, self._charged_until.get(client, 0.0)) + cost
        if client in self._clients:
            self._clients[client].start_time += cost

    def forgive(self) -> None:
        """Forgets all charges: nobody else waits."""
        self._charged_until.clear()

    def pop(self) -> T:
        client = min(self._clients, key=lambda name: self._clients[name].finish_time)
        queue = self._clients[client]
        self._virtual_time = queue.start_time = queue.finish_time
        item = queue.pop()
        self._drop_if_empty(client)
        return item

    def remove(self, client: str, is_removed: Callable[[T], bool]) -> list[T]:
        removed = self._clients[client].remove(is_removed) if client in self._clients else []
        self._drop_if_empty(client)
        return removed

    def _drop_if_empty(self, client: str) -> None:
        if client in self._clients and not self._clients[client].heap:
            del self._clients[client]


class _ClientQueue(Generic[T]):
    """The items of one client; the next item is the first of the heap."""

    def __init__(self, start_time: float) -> None:
        self.start_time = start_time  # virtual time from which the client's next item counts
        self.heap: list[tuple[float, int, T, float]] = []  # finish time in this queue, number, item, cost
        self.cost = 0.0
        self._virtual_time = 0.0
        self._numbers = count()  # equal finish times keep the order of arrival

    @property
    def finish_time(self) -> float:
        """The virtual finish time of the next item among the items of all clients."""
        return self.start_time + self.heap[0][3]

    def push(self, job: Iterable[tuple[T, float]]) -> None:
        finish_time = self._virtual_time
        for item, cost in job:
            finish_time += cost
            heapq.heappush(self.heap, (finish_time, next(self._numbers), item, cost))
            self.cost += cost

    def pop(self) -> T:
        self._virtual_time, _, item, cost = heapq.heappop(self.heap)
        self.cost -= cost
        return item

    def remove(self, is_removed: Callable[[T], bool]) -> list[T]:
        removed = [item for _, _, item, _ in self.heap if is_removed(item)]
        self.heap = [row for row in self.heap if not is_removed(row[2])]
        self.cost = sum(row[3] for row in self.heap)
        heapq.heapify(self.heap)
        return removed


class FairThreads:
    """Runs at most `threads` functions at a time. The functions that wait are in a fair queue."""

    def __init__(self, threads: int) -> None:
        self._threads = self._free_threads = threads
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    async def run(self, client: str, cost: float, function: Callable[[], T]) -> T:
        """Runs a function in a thread, once it is its turn, and returns its result.

        Cancellation removes a function that waits. A function that runs occupies its thread to its end.
        """
        await self._acquire(client, cost)
        work = asyncio.ensure_future(asyncio.to_thread(function))
        work.add_done_callback(self._finish)
        return await asyncio.shield(work)

    @asynccontextmanager
    async def reserve(self, client: str) -> AsyncIterator[None]:
        """Occupies a thread for the block, which may do its work elsewhere, and charges the client for its seconds."""
        await self._acquire(client, 0.0)
        start = time.monotonic()
        try:
            yield
        finally:
            self._waiting.charge(client, time.monotonic() - start)
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
            if turn.cancelled():
                self._waiting.remove(client, lambda other: other is turn)
            else:
                self._release()  # its turn had come
            raise

    def _release(self) -> None:
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():  # a canceled waiter stays in the queue until the event loop resumes it
                turn.set_result(None)
                return
        self._free_threads += 1
        if self._free_threads == self._threads:
            self._waiting.forgive()
