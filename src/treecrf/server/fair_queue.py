"""Fair queueing by cost: between clients, and between the jobs of each client.

This is self-clocked fair queueing (Golestani, 1994) on two levels. Each item has a virtual finish time: its cost after
the finish time of the item before it in its job. The item with the earliest finish time comes first. So a small job
does not wait for the large jobs before it, and a large job is not starved by small ones.
"""

import heapq
from collections.abc import Callable, Iterable
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue of items with costs. Each client gets the same share of the cost of all items that leave the queue."""

    def __init__(self) -> None:
        self._clients: dict[str, _ClientQueue[T]] = {}
        self._virtual_time = 0.0  # finish time of the last item that left the queue

    def __bool__(self) -> bool:
        return bool(self._clients)

    def push(self, client: str, job: Iterable[tuple[T, float]]) -> None:
        """Adds the items of one job, each with its cost, in their order."""
        if client not in self._clients:
            self._clients[client] = _ClientQueue(self._virtual_time)
        self._clients[client].push(job)
        self._drop_if_empty(client)

    def pop(self) -> T:
        """Removes and returns the next item."""
        client = min(self._clients, key=lambda name: self._clients[name].finish_time)
        queue = self._clients[client]
        self._virtual_time = queue.start_time = queue.finish_time
        item = queue.pop()
        self._drop_if_empty(client)
        return item

    def remove(self, client: str, is_removed: Callable[[T], bool]) -> list[T]:
        """Removes items of a client, and returns them."""
        removed = self._clients[client].remove(is_removed) if client in self._clients else []
        self._drop_if_empty(client)
        return removed

    def _drop_if_empty(self, client: str) -> None:
        if client in self._clients and not self._clients[client].heap:
            del self._clients[client]


class _ClientQueue(Generic[T]):
    """The items of one client. The first one of the heap is the next."""

    def __init__(self, start_time: float) -> None:
        self.start_time = start_time  # virtual time from which the client's next item counts
        self.heap: list[tuple[float, int, T, float]] = []  # finish time in this queue, number, item, cost
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

    def pop(self) -> T:
        self._virtual_time, _, item, _ = heapq.heappop(self.heap)
        return item

    def remove(self, is_removed: Callable[[T], bool]) -> list[T]:
        removed = [entry[2] for entry in self.heap if is_removed(entry[2])]
        self.heap = [entry for entry in self.heap if not is_removed(entry[2])]
        heapq.heapify(self.heap)
        return removed
