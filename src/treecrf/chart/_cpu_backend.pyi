# inside, outside and cky take the same arguments, the last seven as addresses of memory: see `Batch` in cpu_backend.c

def inside(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    wide: int,
    scores: int,
    lengths: int,
    order: int,
    counters: int,
    charts: int,
    scratch: int,
    out: int,
    /,
) -> None: ...

outside = inside
cky = inside

def plane(words: int, /) -> int: ...
