from hypothesis import given
from hypothesis import strategies as st

from treecrf.server.fair_queue import FairQueue

costs = st.floats(min_value=0.1, max_value=1000)


def pop_all(queue: FairQueue[str]) -> list[str]:
    items = []
    while queue:
        items.append(queue.pop())
    return items


def test_a_small_job_does_not_wait_for_large_jobs_of_its_client() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(5):
        queue.push("client", [(f"large{number}-{index}", 100.0) for index in range(10)])
    queue.push("client", [("small", 1.0)])
    assert queue.pop() == "small"


def test_large_jobs_of_a_client_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("client", [(f"a{index}", 10.0) for index in range(3)])
    queue.push("client", [(f"b{index}", 10.0) for index in range(3)])
    assert pop_all(queue) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_small_jobs_do_not_starve_a_large_job() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("client", [("large", 10.0)])
    order = []
    for number in range(20):
        queue.push("client", [(f"small{number}", 1.0)])
        order.append(queue.pop())
    assert "large" in order[:10]


def test_a_client_with_many_jobs_gets_the_share_of_one_client() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(50):
        queue.push("greedy", [(f"greedy{number}", 5.0)])
    queue.push("modest", [(f"modest{index}", 5.0) for index in range(4)])
    assert sum(item.startswith("modest") for item in (queue.pop() for _ in range(8))) == 4


@given(st.lists(st.tuples(st.sampled_from("abc"), st.lists(costs, max_size=5)), max_size=20), st.data())
def test_every_item_leaves_once_and_the_items_of_a_job_keep_their_order(
    jobs: list[tuple[str, list[float]]], data: st.DataObject
) -> None:
    queue: FairQueue[tuple[int, int]] = FairQueue()
    for number, (client, job_costs) in enumerate(jobs):
        queue.push(client, [((number, index), cost) for index, cost in enumerate(job_costs)])
    removed_job = data.draw(st.sampled_from(range(len(jobs)))) if jobs else -1
    removed = queue.remove(jobs[removed_job][0], lambda item: item[0] == removed_job) if jobs else []
    items = []
    while queue:
        items.append(queue.pop())
    assert sorted(items + removed) == [
        (number, index) for number, job in enumerate(jobs) for index in range(len(job[1]))
    ]
    assert all(item[0] != removed_job for item in items)
    for number in range(len(jobs)):
        indices = [index for job, index in items if job == number]
        assert indices == sorted(indices)


@given(st.lists(st.lists(costs, min_size=30, max_size=30), min_size=2, max_size=4))
def test_busy_clients_have_equal_shares_of_the_cost(clients: list[list[float]]) -> None:
    queue: FairQueue[tuple[int, float]] = FairQueue()
    for number, client_costs in enumerate(clients):
        for cost in client_costs:
            queue.push(str(number), [((number, cost), cost)])
    shares = [0.0] * len(clients)
    remaining = [30] * len(clients)
    while min(remaining):
        number, cost = queue.pop()
        shares[number] += cost
        remaining[number] -= 1
    assert max(shares) - min(shares) <= 2 * max(max(client_costs) for client_costs in clients)
