# the last six arguments are addresses of memory: see `Job` in int8.c

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
    pieces: int,
    lengths: int,
    table: int,
    mix: int,
    next: int,
    out: int,
    /,
) -> None: ...
def available() -> bool: ...
