"""Compiled code on several threads at once."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="treecrf")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


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
