from treecrf.server.connections import Connections


class StubConnection:
    """A connection that records whether it was closed."""

    def __init__(self, client: str) -> None:
        self.client_name = client
        self.is_waiting_for_client = True
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


def fill(table: Connections, count: int, *, client: str = "a") -> list[StubConnection]:
    stubs = [StubConnection(client) for _ in range(count)]
    for stub in stubs:
        table.add(stub)
    return stubs


def test_connections_within_the_limit_stay() -> None:
    table = Connections(limit=3)
    stubs = fill(table, 3)
    assert all(table.make_room(stub) for stub in stubs)
    assert not any(stub.is_aborted for stub in stubs)


def test_a_request_takes_the_place_of_an_idle_connection_of_the_client_with_most() -> None:
    table = Connections(limit=3)
    stubs = fill(table, 3)
    (other,) = fill(table, 1, client="b")
    assert table.make_room(other)
    assert [stub.is_aborted for stub in (*stubs, other)] == [True, False, False, False]


def test_a_request_takes_the_place_of_an_idle_connection_of_the_same_client() -> None:
    table = Connections(limit=3)
    stubs = fill(table, 4)
    table.restart_wait(stubs[0])
    assert table.make_room(stubs[3])
    assert [stub.is_aborted for stub in stubs] == [False, True, False, False]


def test_a_connection_with_a_request_in_work_is_never_closed() -> None:
    table = Connections(limit=2)
    stubs = fill(table, 3)
    for stub in stubs:
        stub.is_waiting_for_client = False
    assert not table.make_room(stubs[2])
    assert not any(stub.is_aborted for stub in stubs)


def test_a_client_with_fewer_connections_is_answered_beside_requests_in_work() -> None:
    table = Connections(limit=3)
    for stub in fill(table, 3):
        stub.is_waiting_for_client = False
    (other,) = fill(table, 1, client="b")
    assert table.make_room(other)
    others = [fill(table, 1, client=str(number))[0] for number in range(200)]
    for stub in others:
        stub.is_waiting_for_client = False
    assert not table.make_room(others[-1])


def test_the_number_of_connections_above_the_limit_is_bounded() -> None:
    stubs = fill(Connections(limit=3), 500)
    assert sum(not stub.is_aborted for stub in stubs) == 103


def test_closed_connections_make_room() -> None:
    table = Connections(limit=1)
    (first,) = fill(table, 1)
    table.discard(first)
    table.discard(first)
    (second,) = fill(table, 1)
    assert table.make_room(second) and not second.is_aborted


def test_requests_of_smaller_clients_are_answered_up_to_a_hundred_connections_above_the_limit() -> None:
    table = Connections(limit=3)
    stubs = fill(table, 3) + [fill(table, 1, client=str(number))[0] for number in range(100)]
    for stub in stubs:
        stub.is_waiting_for_client = False
    assert table.make_room(stubs[-1])
    (extra,) = fill(table, 1, client="x")
    extra.is_waiting_for_client = False
    assert not table.make_room(extra)
