"""Thread pools: one compiled kernel on several threads, or a function applied to several items in parallel."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier
from typing import Any, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


@cache
def _kernel_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="treecrf")


@cache
def _map_pool(threads: int) -> ThreadPoolExecutor:
    """A pool whose threads run each torch operation on one thread."""
    pool = ThreadPoolExecutor(threads, "treecrf-map", _use_one_torch_thread)
    barrier = Barrier(threads)
    list(pool.map(lambda _: barrier.wait(), range(threads)))  # waits until all threads have started
    torch.set_num_threads(threads)  # the pool's threads have also changed the number for threads that start later
    return pool


def _use_one_torch_thread() -> None:
    torch.set_num_threads(1)
    torch.get_num_threads()  # a thread adopts the number at its first query


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_kernel_pool.cache_clear)
    os.register_at_fork(after_in_child=_map_pool.cache_clear)


def run_on_threads(kernel: Callable[..., None], threads: int, *arguments: Any) -> None:
    """Calls `kernel(thread, threads, *arguments)` on each thread; the kernel divides the work among the threads.

    The calling thread is one of them, so the work is completed even if no other thread is free.
    """
    futures = [_kernel_pool().submit(kernel, thread, threads, *arguments) for thread in range(1, threads)]
    try:
        kernel(0, threads, *arguments)
    finally:
        for future in futures:
            if not future.cancel():
                future.result()


def parallel_map(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The function's result for each item, in order; computes as many items at once as torch has threads.

    This is faster than running the operations of one item on several threads, which wait for each other.
    """
    return _map_pool(torch.get_num_threads()).map(function, items)
