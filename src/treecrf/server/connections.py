"""The clients of a server, their open connections, and the choice of a connection to close if there are too many."""

from ipaddress import IPv6Address, ip_address
from typing import Protocol

from starlette.types import Scope

from treecrf.server.limits import EXTRA_CONNECTIONS


def client_name(scope: Scope) -> str:
    """The address of the client; for IPv6, its network of 64 bits, which providers give to one customer.

    >>> client_name({"client": ("192.0.2.7", 1234)}), client_name({"client": ("2001:db8::7", 1234)})
    ('192.0.2.7', '2001:db8::')
    """
    host = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(host)


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

    Above the limit, a request closes a connection that waits: the longest-waiting connection of the client with most
    connections. So idle connections make way for requests, also for requests of the same client. If no connection of
    that client waits, the requests of other clients are answered in addition, and its own requests are not.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._clients: dict[str, dict[Connection, None]] = {}  # client to connections, the longest wait first

    def add(self, connection: Connection) -> None:
        """Adds a new connection; far above the limit, another one is closed."""
        self._clients.setdefault(connection.client_name, {})[connection] = None
        self._count += 1
        if self._count > self._limit + EXTRA_CONNECTIONS:
            self._close_idle(connection)

    def make_room(self, connection: Connection) -> bool:
        """Makes room for a request of a connection; returns False if too many connections have requests in work."""
        if self._count <= self._limit or self._close_idle(connection):
            return True
        is_smaller_client = len(self._clients.get(connection.client_name, ())) < len(self._largest_client())
        return is_smaller_client and self._count <= self._limit + EXTRA_CONNECTIONS

    def restart_wait(self, connection: Connection) -> None:
        """Notes that a connection begins to wait for its client now."""
        connections = self._clients.get(connection.client_name, {})
        if connection in connections:
            connections[connection] = connections.pop(connection)

    def discard(self, connection: Connection) -> None:
        connections = self._clients.get(connection.client_name, {})
        if connection in connections:
            del connections[connection]
            self._count -= 1
        if not connections:
            self._clients.pop(connection.client_name, None)

    def _close_idle(self, newcomer: Connection) -> bool:
        """Closes the longest-waiting connection of the client with most connections, if there is one."""
        others = (connection for connection in self._largest_client() if connection is not newcomer)
        oldest = next((connection for connection in others if connection.is_waiting_for_client), None)
        if oldest is None:
            return False
        self.discard(oldest)
        oldest.abort()
        return True

    def _largest_client(self) -> dict[Connection, None]:
        return max(self._clients.values(), key=len)
