from collections.abc import Callable, Sequence

# the numbers of all sentences come as addresses of int32, for `total` words and 2n-1 spans of each sentence; see
# `BracketWriter`
def write_lines(
    sentences: Sequence[Sequence[str]],
    given: Sequence[Sequence[str | None] | None] | None,
    total: int,
    starts: int,
    ends: int,
    labels: int,
    tags: int,
    openings: tuple[str, ...],
    tag_names: tuple[str, ...],
    root: str,
    bare: int,
    spell: Callable[[str], str],
    /,
) -> list[str]: ...
