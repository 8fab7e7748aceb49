"""Work side by side: results in order, and torch's own threads left as they were."""

import threading

import pytest
import torch

from treecrf.chart.threads import parallel_map


def test_results_come_in_the_order_of_things():
    assert list(parallel_map(lambda number: number * number, range(100))) == [n * n for n in range(100)]


def test_torch_shares_out_nothing_there_and_as_much_as_before_elsewhere():
    before = torch.get_num_threads()
    assert set(parallel_map(lambda _: torch.get_num_threads(), range(20))) == {1}
    found = []
    later = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert [torch.get_num_threads(), *found] == [before, before]


def test_an_error_reaches_who_asks_for_the_result():
    results = parallel_map(lambda number: 1 // number, [1, 0])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
