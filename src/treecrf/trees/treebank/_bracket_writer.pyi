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
