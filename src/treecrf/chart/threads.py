"""Work on several threads at once: the parts of one compiled loop, or whole things side by side."""

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
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="treecrf")


@cache
def _crew(threads: int) -> ThreadPoolExecutor:
    """So many threads, none of which lets torch share out its work to others."""
    crew = ThreadPoolExecutor(threads, "treecrf-crew", _work_alone)
    barrier = Barrier(threads)
    list(crew.map(lambda _: barrier.wait(), range(threads)))  # until all are there
    torch.set_num_threads(threads)  # each has set it for threads to come as well
    return crew


def _work_alone() -> None:
    torch.set_num_threads(1)
    torch.get_num_threads()  # a thread takes the number over when it first asks for it


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_crew.cache_clear)


def on_threads(kernel: Callable[..., None], threads: int, *arguments: Any) -> None:
    """Call `kernel(thread, threads, *arguments)` for each thread; they share out the work themselves.

    This thread is one of them, so all work gets done even where no other is free.
    """
    helpers = [_pool().submit(kernel, thread, threads, *arguments) for thread in range(1, threads)]
    try:
        kernel(0, threads, *arguments)
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()


def parallel_map(function: Callable[[T], R], things: Iterable[T]) -> Iterator[R]:
    """What `function` gives for each thing, in their order, while torch's threads work on as many things.

    Threads then never wait for each other, as they do where they share out each operation.
    """
    return _crew(torch.get_num_threads()).map(function, things)
