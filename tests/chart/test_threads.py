"""parallel_map: results in order, and torch's number of threads unchanged."""

import threading

import pytest
import torch

from treecrf.chart.threads import parallel_map


def test_results_are_in_the_order_of_the_items():
    assert list(parallel_map(lambda number: number * number, range(100))) == [n * n for n in range(100)]


def test_torch_uses_one_thread_in_the_pool_and_as_many_as_before_elsewhere():
    before = torch.get_num_threads()
    assert set(parallel_map(lambda _: torch.get_num_threads(), range(20))) == {1}
    numbers = []
    new_thread = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
    new_thread.start()
    new_thread.join()
    assert [torch.get_num_threads(), *numbers] == [before, before]


def test_an_error_is_raised_at_its_result():
    results = parallel_map(lambda number: 1 // number, [1, 0])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
