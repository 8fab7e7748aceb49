from collections.abc import Callable, Sequence

# the arrays are addresses of int32: 2n-1 spans and n tags per sentence, for `words` words in all; see `BracketWriter`
def write_lines(
    sentences: Sequence[Sequence[str]],
    user_tags: Sequence[Sequence[str | None] | None] | None,
    words: int,
    starts: int,
    ends: int,
    labels: int,
    tags: int,
    openings: tuple[str, ...],
    tag_names: tuple[str, ...],
    root: str,
    rootless: int,
    escape: Callable[[str], str],
    /,
) -> list[str]: ...

# the lines of `data` by addresses of int64: their starts, ends and numbers of words
def write_text(
    data: bytes,
    count: int,
    line_starts: int,
    line_ends: int,
    lengths: int,
    words: int,
    starts: int,
    ends: int,
    labels: int,
    tags: int,
    openings: tuple[str, ...],
    tag_names: tuple[str, ...],
    root: str,
    rootless: int,
    is_exact: bool,
    /,
) -> list[str]: ...
