"""Sentences on their way through a parser: windows to batches, batches to trees, and those back into their order."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from treecrf.chart.threads import side_by_side
from treecrf.nn import Decoded
from treecrf.nn.scores import Fetched
from treecrf.window import Pace, Sentences, delayed

T = TypeVar("T")


class _Begun(NamedTuple):
    """A batch that the device works on; it has no trees where the window has no sentences."""

    sentences: Sentences
    trees: Fetched | None
    members: list[int]  # of the window
    window: Sentences
    is_last: bool  # of the window


def flow(
    windows: Iterable[Sentences],
    start: Callable[[Sentences], Fetched],
    make: Callable[[Sentences, Decoded], Iterable[T]],
    pace: Pace,
    *,
    threads: int,
) -> Iterator[list[T]]:
    """What is made of each window's sentences, in their order, while the device works on batches further on.

    `start` begins the work on a batch; on several threads, each of them has a batch of its own.
    """
    made: dict[int, T] = {}
    for batch in delayed(_begin(windows, start, pace, threads), pace.ahead):
        if batch.trees is not None:
            made.update(zip(batch.members, make(batch.sentences, batch.trees.wait()), strict=True))
        if batch.is_last:
            yield [made[member] for member in range(len(batch.window))]
            made = {}


def _begin(
    windows: Iterable[Sentences], start: Callable[[Sentences], Fetched], pace: Pace, threads: int
) -> Iterator[_Begun]:
    for window in windows:
        batches = window.batches(pace.budget, threads=threads)
        parts = list(map(window.pick, batches))
        begun = map(start, parts) if min(threads, len(parts)) <= 1 else side_by_side(start, parts)
        for number, (members, sentences, trees) in enumerate(zip(batches, parts, begun, strict=True), 1):
            yield _Begun(sentences, trees, members, window, number == len(batches))
        if not batches:
            yield _Begun(window, None, [], window, True)
