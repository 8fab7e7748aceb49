"""Returns freed memory to the system, which Python and the C library otherwise keep for later allocations."""

import asyncio
import ctypes
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

_ALLOCATOR = "PYTHONMALLOC"  # the variable that selects Python's allocator
# glibc returns larger blocks at once; by default, it raises this limit to 32 MB
_BLOCK_LIMIT = ("MALLOC_MMAP_THRESHOLD_", str(1 << 18))
_PERIOD_SECONDS = 3.0
_CHANGED_PAGES = 256  # 1 MB: a smaller change is not worth a system call
_TRIALS = 5  # after a change: memory is often freed some seconds after it
_STATM = Path("/proc/self/statm")  # sizes of this process, in pages; the second one is the resident memory


def restart_with_system_allocator() -> None:
    """Starts `treecrf serve` again, in the same process, with the allocator of the C library.

    Python's own allocator keeps a megabyte for each small object that outlives a large request. Nothing happens if the
    user has chosen an allocator, without glibc, or in a program that has another command line.
    """
    if _malloc_trim() is None or _ALLOCATOR in os.environ or sys.argv[1:2] != ["serve"] or not sys.executable:
        return
    environment = dict([_BLOCK_LIMIT]) | os.environ | {_ALLOCATOR: "malloc"}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


async def release_memory_periodically() -> None:
    """Returns freed memory to the system while the process is larger than it was. Does nothing without glibc."""
    trim = _malloc_trim()
    if trim is None or not _STATM.exists():
        return
    gc.collect()
    gc.freeze()  # the models stay, so that later collections need not look at their objects
    smallest = last = _resident_pages()
    trials = _TRIALS
    while True:
        await asyncio.sleep(_PERIOD_SECONDS)
        pages = _resident_pages()
        if abs(pages - last) > _CHANGED_PAGES:
            trials = _TRIALS
        if pages > smallest + _CHANGED_PAGES and trials:
            trials -= 1
            gc.collect()  # requests of closed connections may be in reference cycles
            await asyncio.to_thread(trim, 0)
        last = _resident_pages()
        smallest = min(smallest, last)


def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def _resident_pages() -> int:
    return int(_STATM.read_text().split()[1])
