"""The number of threads, and functions that run on several of them."""

import subprocess
import sys
import threading

import pytest

from treecrf import threads
from treecrf.threads import num_threads, parallel_map, set_num_threads


@pytest.fixture(autouse=True)
def unchanged_number(monkeypatch):
    monkeypatch.setattr(threads, "_chosen_count", threads._chosen_count)


def test_results_are_in_the_order_of_the_items():
    assert list(parallel_map(lambda number: number * number, range(100))) == [n * n for n in range(100)]


def test_a_mapped_function_runs_its_kernels_on_one_thread():
    set_num_threads(3)
    assert set(parallel_map(lambda _: num_threads(), range(20))) == {1} and num_threads() == 3


def test_each_thread_is_initialized_once():
    set_num_threads(3)
    initialized = []
    names = set(
        parallel_map(
            lambda _: threading.current_thread().name,
            range(50),
            initialize=lambda: initialized.append(threading.current_thread().name),
        )
    )
    assert names <= set(initialized) and len(set(initialized)) == len(initialized) <= 3


@pytest.mark.parametrize(
    ("variables", "count"),
    [({"TREECRF_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "4,2"}, 4), ({"TREECRF_NUM_THREADS": " "}, None)],
)
def test_the_number_of_threads_comes_from_variables_or_processors(variables, count, monkeypatch):
    monkeypatch.setattr(threads, "_chosen_count", None)
    for name in ("TREECRF_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert num_threads() == count or (count is None and num_threads() >= 1)


def test_a_number_of_threads_that_is_none_is_an_error(monkeypatch):
    monkeypatch.setattr(threads, "_chosen_count", None)
    monkeypatch.setenv("TREECRF_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="TREECRF_NUM_THREADS is 'many'; expected a number of threads"):
        num_threads()
    with pytest.raises(ValueError, match="the number of threads is 0; expected 1 or more"):
        set_num_threads(0)


def test_an_error_is_raised_at_its_result():
    results = parallel_map(lambda number: 1 // number, [1, 0])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize("is_daemon", [True, False])
def test_threads_that_parse_when_the_program_ends_print_nothing(is_daemon, tmp_path):
    program = f"""
import threading, time
from treecrf.threads import parallel_map, run_on_threads, set_num_threads
set_num_threads(2)
deadline = time.monotonic() + 1.0
def work():
    while {is_daemon} or time.monotonic() < deadline:
        assert list(parallel_map(lambda number: number + 1, iter(range(20)), initialize=int)) == list(range(1, 21))
        run_on_threads(lambda thread, threads: None, 2)
for _ in range(4):
    threading.Thread(target=work, daemon={is_daemon}).start()
time.sleep(0.3)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, b"")
