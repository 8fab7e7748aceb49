"""Threads for parsing on a CPU: their number, a compiled kernel on several of them, and a parallel map over items."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_VARIABLES = ("TREECRF_NUM_THREADS", "OMP_NUM_THREADS")


class _ThisThread(threading.local):
    """Whether the current thread is one of `parallel_map`, whose kernels run on that thread alone."""

    is_mapping = False


_this_thread = _ThisThread()
_chosen_count: int | None = None


def num_threads() -> int:
    """The number of threads that parse on a CPU; 1 in a thread that `parallel_map` has started.

    `set_num_threads` sets it, else the variables TREECRF_NUM_THREADS or OMP_NUM_THREADS; the default is the number of
    processors that this process may use.
    """
    return 1 if _this_thread.is_mapping else _chosen_count or _default_count()


def set_num_threads(count: int) -> None:
    """Sets the number of threads that parse on a CPU."""
    global _chosen_count
    if count < 1:
        raise ValueError(f"the number of threads is {count}; expected 1 or more")
    _chosen_count = count


def _default_count() -> int:
    for name in _VARIABLES:
        if value := os.environ.get(name, "").split(",")[0].strip():  # OpenMP has one number for each nesting level
            if not value.isdecimal() or not int(value):
                raise ValueError(f"{name} is {value!r}; expected a number of threads, 1 or more")
            return int(value)
    return available_processors()


def available_processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _kernel_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="treecrf")


@cache
def _map_pool(threads: int, initialize: Callable[[], None] | None) -> ThreadPoolExecutor:
    def start() -> None:
        _this_thread.is_mapping = True
        if initialize is not None:
            initialize()

    return ThreadPoolExecutor(threads, "treecrf-map", start)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_kernel_pool.cache_clear)
    os.register_at_fork(after_in_child=_map_pool.cache_clear)


def run_on_threads(kernel: Callable[..., None], threads: int, *arguments: Any) -> None:
    """Calls `kernel(thread, threads, *arguments)` on each thread; the kernel divides the work among the threads.

    The calling thread is one of them, so the work is completed even if no other thread is free.
    """
    futures = []
    with suppress(RuntimeError):  # there are no other threads when the interpreter ends
        for thread in range(1, threads):
            futures.append(_kernel_pool().submit(kernel, thread, threads, *arguments))
    try:
        kernel(0, threads, *arguments)
    finally:
        for future in futures:
            if not future.cancel():
                future.result()


def parallel_map(
    function: Callable[[T], R], items: Iterable[T], *, initialize: Callable[[], None] | None = None
) -> Iterator[R]:
    """The function's result for each item, in order; computes as many items at once as there are threads.

    This is faster than running the operations of one item on several threads, which wait for each other. Each thread
    calls `initialize` once, before its first item.
    """
    items = list(items)
    try:
        return _map_pool(num_threads(), initialize).map(function, items)
    except RuntimeError:  # there are no other threads when the interpreter ends
        if initialize is not None:
            initialize()
        return map(function, items)
