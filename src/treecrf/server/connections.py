"""The open connections by client, and which of them is closed when there are too many."""

import time
from typing import Protocol

_EVICTION_SECONDS = 1.0  # above the limit, a connection that has waited this long for its client may be closed
_EXTRA_CONNECTIONS = 100  # connections above the limit, which get an error response or the health check


class Connection(Protocol):
    """An open connection."""

    client_name: str

    @property
    def is_waiting_for_client(self) -> bool:
        """Whether no complete request is being answered."""

    def abort(self) -> None:
        """Closes the connection at once."""


class Connections:
    """The connections of each client, in the order in which they began to wait for the client."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._clients: dict[str, dict[Connection, float]] = {}  # client to connection to time

    def add(self, connection: Connection) -> bool:
        """Adds a new connection; returns False if there are too many, and none can be closed for this one."""
        self._clients.setdefault(connection.client_name, {})[connection] = time.monotonic()
        self._count += 1
        return self._count <= self._limit or self._evict(connection)

    def restart_wait(self, connection: Connection) -> None:
        """Notes that a connection begins to wait for its client now."""
        connections = self._clients.get(connection.client_name, {})
        if connections.pop(connection, None) is not None:
            connections[connection] = time.monotonic()

    def discard(self, connection: Connection) -> None:
        """Removes a connection, if it is there."""
        connections = self._clients.get(connection.client_name, {})
        if connections.pop(connection, None) is not None:
            self._count -= 1
        if not connections:
            self._clients.pop(connection.client_name, None)

    def _evict(self, newcomer: Connection) -> bool:
        """Closes a connection of the client that has most.

        A client with fewer connections takes the place at once. Otherwise, the connection must have waited for some
        time; if there are too many above the limit, it is closed all the same, but leaves no place.
        """
        client = max(self._clients, key=lambda name: len(self._clients[name]))
        connections = self._clients[client]
        oldest = next((one for one in connections if one is not newcomer and one.is_waiting_for_client), None)
        if oldest is None:
            return False
        is_smaller_client = len(self._clients[newcomer.client_name]) < len(connections)
        is_overdue = time.monotonic() - connections[oldest] > _EVICTION_SECONDS
        if is_smaller_client or is_overdue or self._count > self._limit + _EXTRA_CONNECTIONS:
            self.discard(oldest)
            oldest.abort()
        return is_smaller_client or is_overdue
