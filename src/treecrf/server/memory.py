"""Returns freed memory to the system, which the C library otherwise keeps for later allocations."""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path

_PERIOD_SECONDS = 3.0
_GROWTH_PAGES = 4000  # about 16 MB: smaller growth is not worth a system call
_STATM = Path("/proc/self/statm")  # sizes of this process, in pages; the second one is the resident memory


async def release_memory_periodically() -> None:
    """Returns freed memory to the system while the process is larger than it was. Does nothing without glibc."""
    trim = _malloc_trim()
    if trim is None or not _STATM.exists():
        return
    gc.collect()
    gc.freeze()  # the models stay, so that later collections need not look at their objects
    released_pages = _resident_pages()
    while True:
        await asyncio.sleep(_PERIOD_SECONDS)
        if _resident_pages() > released_pages + _GROWTH_PAGES:
            gc.collect()  # requests of closed connections may be in reference cycles
            await asyncio.to_thread(trim, 0)
            released_pages = min(released_pages, _resident_pages())


def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def _resident_pages() -> int:
    return int(_STATM.read_text().split()[1])
