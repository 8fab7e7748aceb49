# arguments that stand for memory are its addresses: see the structures of the same names in int8.c

def encode(
    thread: int,
    threads: int,
    windows: int,
    width: int,
    layers: int,
    size: int,
    heads: int,
    inner: int,
    words: int,
    places: int,
    epsilon: float,
    table: int,
    pieces: int,
    lengths: int,
    mix: int,
    added: int,
    next: int,
    out: int,
    /,
) -> None: ...
def product(
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
def labels(
    thread: int,
    threads: int,
    spans: int,
    size: int,
    classes: int,
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
def chart(
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
def pool(pieces: int, size: int, positions: int, x: int, rows: int, places: int, shares: int, out: int, /) -> None: ...
def pack(outputs: int, inputs: int, weights: int, tiles: int, scales: int, sums: int, /) -> None: ...
def available() -> bool: ...
