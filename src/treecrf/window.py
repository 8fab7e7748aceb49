"""Sentences as they are parsed: read some thousands at a time, checked, sorted by length and cut into batches."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from treecrf.constraints import Constraints
from treecrf.encode.batching import Budget, sorted_batches

if TYPE_CHECKING:
    from treecrf.text import Token

Words = Sequence[str] | Sequence["Token"]  # or a string, which is raw text
Tags = Sequence[str | None]  # None stands for whatever the model predicts
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How much is taken at once, so that a device is busy and its memory suffices."""

    window: int  # sentences that are sorted by length before they are cut into batches
    batch_words: int
    batch_cells: int  # of padded charts
    ahead: int  # batches that are begun before the first one's trees are waited for

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"a window of {self.window} sentences holds nothing; expected 1 or more")

    @property
    def budget(self) -> Budget:
        return Budget(words=self.batch_words, cells=self.batch_cells)


# A GPU runs a large batch in little more time than a small one, and works while the host reads and writes; but it has
# nothing to do until the first window is read. To be measured there: benchmarks/parse.py takes other figures. A CPU's
# threads have a batch each, and what passes between its layers should stay in a cache.
PACES = {
    "cpu": Pace(window=4096, batch_words=1200, batch_cells=1_000_000, ahead=0),
    "cuda": Pace(window=8192, batch_words=40_000, batch_cells=4_000_000, ahead=2),
}


@dataclass(frozen=True, slots=True)
class Sentences:
    """Some sentences by column; there are no tags or constraints where nobody gave any."""

    numbers: Sequence[int]  # for messages
    words: Sequence[Sequence[str]]  # as they stand in trees
    forms: Sequence[Sequence[str]]  # as the model reads them
    tags: Sequence[Tags | None] | None = None
    constraints: Sequence[Constraints | None] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def batches(self, budget: Budget, *, threads: int = 1) -> list[list[int]]:
        """Which sentences are parsed together, on threads that work on a batch each."""
        lengths = list(map(len, self.words))
        return sorted_batches(lengths, budget=budget.shared(lengths, threads))

    def pick(self, members: Sequence[int]) -> "Sentences":
        """Those that are members of a batch."""
        return Sentences(
            [self.numbers[member] for member in members],
            [self.words[member] for member in members],
            [self.forms[member] for member in members],
            None if self.tags is None else [self.tags[member] for member in members],
            None if self.constraints is None else [self.constraints[member] for member in members],
        )


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Makes sentences of what callers give: a string is raw text, a list words or tokens."""

    language: str
    needs_tags: bool  # as the model reads them

    def windows(
        self,
        sentences: Iterable[str | Words],
        tags: Iterable[Tags | None] | None,
        constraints: Iterable[Constraints | None] | None,
        *,
        size: int,
    ) -> Iterator[Sentences]:
        """Windows of `size` sentences, read as they are asked for."""
        given = {"tags": tags, "constraints": constraints}
        columns = {name: column for name, column in given.items() if column is not None}
        rows = zip(sentences, *columns.values(), strict=True)
        first = 0
        while window := list(islice(rows, size)):
            words, *others = zip(*window, strict=True)
            yield self.window(words, first, **dict(zip(columns, others, strict=True)))
            first += len(window)

    def window(
        self,
        given: Iterable[str | Words],
        first: int,
        *,
        tags: Sequence[Tags | None] | None = None,
        constraints: Sequence[Constraints | None] | None = None,
    ) -> Sentences:
        """The sentences of one window, numbered from `first` on."""
        shown: list[Sequence[str]] = []
        read: list[Sequence[str]] = []
        for number, words in enumerate(given, first):
            if isinstance(words, str):
                from treecrf.text import tokenize

                words = tokenize(words, language=self.language)
            if len(words) and isinstance(words[0], tuple):
                tokens = cast("Sequence[Token]", words)
                shown.append([token.text for token in tokens])
                read.append([token.word for token in tokens])
            else:
                shown.append(cast("Sequence[str]", words))
                read.append(cast("Sequence[str]", words))
            _check_words(number, shown[-1])
        self._check_tags(first, shown, tags)
        return Sentences(range(first, first + len(shown)), shown, read, tags, constraints)

    def _check_tags(self, first: int, words: Sequence[Sequence[str]], tags: Sequence[Tags | None] | None) -> None:
        if tags is None and not self.needs_tags:
            return
        for number, (own, given) in enumerate(zip(words, tags or [None] * len(words), strict=True), first):
            if self.needs_tags and (given is None or None in given):
                which = "no tags" if given is None else f"no tag for word {given.index(None)}"
                raise ValueError(f"sentence {number} has {which} and the model reads them; give them as `tags`")
            if given is not None and len(given) != len(own):
                raise ValueError(
                    f"sentence {number} has {len(own)} words and {len(given)} tags; expected a tag for each word"
                )


def _check_words(number: int, words: Sequence[Any]) -> None:
    try:
        "".join(words)  # which looks at every type in no time
    except TypeError as error:
        raise TypeError(f"sentence {number} has a word that is no string: {error}") from None
    if not len(words):
        raise ValueError(f"sentence {number} has no words; expected at least one")


def delayed(begun: Iterable[T], ahead: int) -> Iterator[T]:
    """The same things in the same order, each when `ahead` more have been begun."""
    waiting: deque[T] = deque()
    for thing in begun:
        waiting.append(thing)
        if len(waiting) > ahead:
            yield waiting.popleft()
    yield from waiting
