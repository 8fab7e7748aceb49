"""The open connections by client, and which of them is closed when there are too many."""

from typing import Protocol

_EXTRA_CONNECTIONS = 100  # connections above the limit: for health checks, and for clients with few connections


class Connection(Protocol):
    """An open connection."""

    client_name: str

    @property
    def is_waiting_for_client(self) -> bool:
        """Whether no complete request is being answered, or the client does not read its response."""

    def abort(self) -> None:
        """Closes the connection at once."""


class Connections:
    """The connections of each client, in the order in which they began to wait for the client.

    Above the limit, a request is answered in place of a connection that waits: the one that has waited longest of the
    client with most connections. So idle connections make way for requests, also for those of the same client. If no
    connection of that client waits, the requests of other clients are answered in addition, and its own are not.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._clients: dict[str, dict[Connection, None]] = {}  # client to connections, the longest wait first

    def add(self, connection: Connection) -> None:
        """Adds a new connection; far above the limit, another one is closed."""
        self._clients.setdefault(connection.client_name, {})[connection] = None
        self._count += 1
        if self._count > self._limit + _EXTRA_CONNECTIONS:
            self._close_idle(connection)

    def make_room(self, connection: Connection) -> bool:
        """Makes room for a request of a connection; returns False if too many connections have requests in work."""
        if self._count <= self._limit or self._close_idle(connection):
            return True
        is_smaller_client = len(self._clients.get(connection.client_name, ())) < len(self._largest_client())
        return is_smaller_client and self._count <= self._limit + _EXTRA_CONNECTIONS

    def restart_wait(self, connection: Connection) -> None:
        """Notes that a connection begins to wait for its client now."""
        connections = self._clients.get(connection.client_name, {})
        if connection in connections:
            del connections[connection]
            connections[connection] = None

    def discard(self, connection: Connection) -> None:
        """Removes a connection, if it is there."""
        connections = self._clients.get(connection.client_name, {})
        if connection in connections:
            del connections[connection]
            self._count -= 1
        if not connections:
            self._clients.pop(connection.client_name, None)

    def _close_idle(self, newcomer: Connection) -> bool:
        """Closes the connection that has waited longest of the client that has most connections, if one waits."""
        waiting = (one for one in self._largest_client() if one is not newcomer and one.is_waiting_for_client)
        oldest = next(waiting, None)
        if oldest is None:
            return False
        self.discard(oldest)
        oldest.abort()
        return True

    def _largest_client(self) -> dict[Connection, None]:
        return max(self._clients.values(), key=len)
