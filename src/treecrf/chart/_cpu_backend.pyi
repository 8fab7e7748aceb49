# Arrays are passed as addresses. `Batch` in cpu_backend.c gives their types and shapes.

def inside(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    score_charts: int,
    is_double: int,
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

def plane_length(words: int, /) -> int: ...
def label_sums(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    labels: int,
    is_double: int,
    scores: int,
    lengths: int,
    counter: int,
    is_constituent: int,
    buffers: int,
    sums: int,
    /,
) -> None: ...
def label_weights(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    labels: int,
    is_double: int,
    scores: int,
    lengths: int,
    counter: int,
    is_constituent: int,
    buffers: int,
    sums: int,
    factors: int,
    weights: int,
    /,
) -> None: ...
