# Arguments that stand for arrays are their addresses: see the structures of kernels.h. Functions with `thread` and
# `threads` are called once on each thread; the call with thread 0 completes the work even if there is no other one.
# `next` are zeros that the threads share: three for `encode`, one for the others.

def encode(
    thread: int,
    threads: int,
    segments: int,
    width: int,
    layers: int,
    size: int,
    heads: int,
    inner: int,
    words: int,
    positions: int,
    farthest: int,
    epsilon: float,
    table: int,
    pieces: int,
    lengths: int,
    mix: int,
    distance_scores: int,
    added: int,
    conditions: int,
    next: int,
    out: int,
    /,
) -> None: ...
def linear(
    thread: int,
    threads: int,
    rows: int,
    inputs: int,
    outputs: int,
    stride: int,
    slope: float,
    table: int,
    x: int,
    next: int,
    out: int,
    /,
) -> None: ...
def lstm(
    thread: int,
    threads: int,
    sequences: int,
    width: int,
    inputs: int,
    size: int,
    stride: int,
    block: int,
    table: int,
    x: int,
    lengths: int,
    order: int,
    next: int,
    out: int,
    /,
) -> None: ...
def score_labels(
    thread: int,
    threads: int,
    spans: int,
    size: int,
    classes: int,
    boundaries: int,
    stride: int,
    table: int,
    left: int,
    right: int,
    lefts: int,
    rights: int,
    next: int,
    out: int,
    /,
) -> None: ...
def score_chart(
    thread: int,
    threads: int,
    sentences: int,
    boundaries: int,
    size: int,
    stride: int,
    left: int,
    half: int,
    next: int,
    out: int,
    /,
) -> None: ...
def mean_pool(
    pieces: int, size: int, positions: int, x_rows: int, x: int, rows: int, places: int, shares: int, out: int, /
) -> None: ...
def pack(outputs: int, inputs: int, weights: int, tiles: int, scales: int, sums: int, /) -> None: ...
def find_large_sums(steps: int, tiles: int, out: int, /) -> None: ...
def instruction_sets() -> list[str]: ...
def selected() -> str: ...
def select(name: str, /) -> int: ...  # the largest integer of a quantized row
