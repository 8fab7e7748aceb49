import pytest

from treecrf.server import connections
from treecrf.server.connections import Connections


class StubConnection:
    """A connection that records whether it was closed."""

    def __init__(self, client: str) -> None:
        self.client_name = client
        self.is_waiting_for_client = True
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [0.0]
    monkeypatch.setattr(connections.time, "monotonic", lambda: seconds[0])
    return seconds


def test_connections_within_the_limit_stay(clock: list[float]) -> None:
    table = Connections(limit=3)
    stubs = [StubConnection("a") for _ in range(3)]
    assert all(table.add(stub) for stub in stubs)
    assert not any(stub.is_aborted for stub in stubs)


def test_a_client_with_fewer_connections_takes_the_place_of_one_with_more(clock: list[float]) -> None:
    table = Connections(limit=3)
    stubs = [StubConnection("a") for _ in range(3)]
    for stub in stubs:
        table.add(stub)
    assert table.add(StubConnection("b"))
    assert [stub.is_aborted for stub in stubs] == [True, False, False]


def test_the_longest_wait_ends_first_after_a_second(clock: list[float]) -> None:
    table = Connections(limit=3)
    stubs = [StubConnection("a") for _ in range(3)]
    for stub in stubs:
        table.add(stub)
    assert not table.add(StubConnection("a"))
    clock[0] = 1.5
    table.restart_wait(stubs[0])
    assert table.add(StubConnection("a"))
    assert [stub.is_aborted for stub in stubs] == [False, True, False]


def test_a_connection_with_a_request_in_work_is_never_closed(clock: list[float]) -> None:
    table = Connections(limit=2)
    stubs = [StubConnection("a") for _ in range(2)]
    for stub in stubs:
        table.add(stub)
        stub.is_waiting_for_client = False
    clock[0] = 100.0
    assert not table.add(StubConnection("b"))
    assert not any(stub.is_aborted for stub in stubs)


def test_the_number_of_connections_above_the_limit_is_bounded(clock: list[float]) -> None:
    table = Connections(limit=3)
    stubs = [StubConnection("a") for _ in range(500)]
    for stub in stubs:
        table.add(stub)
    assert sum(not stub.is_aborted for stub in stubs) == 103


def test_closed_connections_make_room(clock: list[float]) -> None:
    table = Connections(limit=1)
    first = StubConnection("a")
    table.add(first)
    table.discard(first)
    table.discard(first)
    assert table.add(StubConnection("a"))
