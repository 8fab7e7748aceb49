"""Compiled patterns, their matches in trees and numbers of matches, and a limit on the time of a search."""

import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from treecrf.trees.other_libraries import explain_names
from treecrf.trees.search import compiled, naive, program
from treecrf.trees.search.forest import Forest
from treecrf.trees.search.heads import Int32Array
from treecrf.trees.search.syntax import parse_pattern
from treecrf.trees.search.tokens import PatternError
from treecrf.trees.tree import Tree

Trees = Tree | Iterable[Tree] | Forest


class MatchCounts(NamedTuple):
    """The numbers of a pattern's matches, of the nodes it matches at, and of the trees with a match."""

    matches: int
    nodes: int
    trees: int


@explain_names
@dataclass(frozen=True, slots=True)
class Match:
    """A match: the position of its node in a forest, the positions of nodes with names, and the variables."""

    forest: Forest
    position: int
    positions: dict[str, int]
    variables: dict[str, str]

    @property
    def node(self) -> Tree | str:
        """The constituent, or the word, that the pattern describes first."""
        return self.forest.subtree(self.position)

    @property
    def names(self) -> dict[str, Tree | str]:
        """The constituents and words that have names in the pattern."""
        return {name: self.forest.subtree(position) for name, position in self.positions.items()}

    def __getitem__(self, name: str) -> Tree | str:
        if name not in self.positions:
            names = ", ".join(self.positions) or "none"
            raise KeyError(f"no node is named {name!r} in this match; the names are {names}")
        return self.forest.subtree(self.positions[name])

    @property
    def tree(self) -> Tree:
        return cast(Tree, self.forest.subtree(int(self.forest.starts[self.tree_number])))

    @property
    def tree_number(self) -> int:
        """The number of the tree in the forest, from 0."""
        return self.forest.tree_of(self.position)

    @property
    def span(self) -> tuple[int, int]:
        """The words of the node: `words[start:end]` of its tree."""
        return self.forest.words(self.position)


class Pattern:
    """A compiled pattern of Tregex's language.

    >>> tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")
    >>> [(str(match.node), str(match["noun"])) for match in Pattern("NP < NN=noun").find(tree)]
    [('(NP (DT the) (NN cat))', '(NN cat)')]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.expression = parse_pattern(text)
        self.program = program.Program(self.expression)

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    def __reduce__(self) -> "tuple[type[Pattern], tuple[str]]":
        return Pattern, (self.text,)  # a copy is compiled anew: the program remembers addresses

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.program.names)

    def find(self, trees: Trees, *, max_matches: int = naive.MAX_MATCHES) -> Iterator[Match]:
        """Yields the matches in the order of the trees, and at a node one for each way to match.

        A node with more than `max_matches`, or fewer if the pattern names many nodes, is a PatternError.
        """
        forest = _to_forest(trees)
        if compiled.matcher:
            matches = program.find_matches(self.program, forest, max_matches)
        else:
            matches = naive.find_matches(self.expression, forest, max_matches)
        try:
            for node, bindings in matches:
                yield Match(forest, node, *bindings)
        except naive.MatchLimitError as error:
            raise PatternError(str(error), self.text, 0) from None

    def first(self, trees: Trees) -> Match | None:
        """The first match, without a search for others; None if there is none."""
        return next(self.find(trees, max_matches=0), None)

    def _node_counts(self, forest: Forest) -> Int32Array:
        """Rows of a node and its number of matches."""
        if compiled.matcher:
            return program.count_matches(self.program, forest)
        counts = Counter(node for node, _ in naive.find_matches(self.expression, forest, sys.maxsize))
        return np.array(list(counts.items()), dtype=np.int32).reshape(-1, 2)

    def count_by_tree(self, trees: Trees, *, nodes: bool = False) -> npt.NDArray[np.int64]:
        """The number of matches in each tree; with `nodes`, a node that matches in several ways counts once."""
        forest = _to_forest(trees)
        positions, counts = self._node_counts(forest).T
        weights = np.diff(positions, prepend=-1) > 0 if nodes else counts
        numbers = np.searchsorted(forest.starts, positions, side="right") - 1
        return np.bincount(numbers, weights, minlength=len(forest)).astype(np.int64)

    def count(self, trees: Trees) -> MatchCounts:
        """Counts the matches, the nodes and the trees with a match.

        >>> Pattern("NP").count(Tree.parse("(NP (NP (NN cat)) (CC and) (NP (NN dog)))"))
        MatchCounts(matches=3, nodes=3, trees=1)
        """
        forest = _to_forest(trees)
        positions, counts = self._node_counts(forest).T
        numbers = np.searchsorted(forest.starts, positions, side="right")
        nodes, trees_with_match = (np.count_nonzero(np.diff(values, prepend=-1)) for values in (positions, numbers))
        return MatchCounts(int(counts.sum(dtype=np.int64)), int(nodes), int(trees_with_match))


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern:
    """Compiles a pattern; recent patterns are remembered."""
    return Pattern(text)


def search_tree(tree: Tree, pattern: "str | Pattern") -> Iterator[Match]:
    """The matches of a pattern in one tree; `Tree.search` calls this."""
    global _last_searched
    pair = _last_searched  # read once: another thread may replace it
    if pair is None or pair[0] is not tree:
        pair = _last_searched = tree, Forest(tree)
    if not isinstance(pattern, str | Pattern):
        raise TypeError(f"the pattern is {pattern!r:.80}; expected a string such as 'NP < PP', or a Pattern")
    return (compile_pattern(pattern) if isinstance(pattern, str) else pattern).find(pair[1])


_last_searched: tuple[Tree, Forest] | None = None  # several patterns often search one tree


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises a TimeoutError in a block that takes longer; a regular expression and the search itself are interrupted.

    It uses the alarm signal, so it works in the main thread of a process on Linux and macOS. Elsewhere, run the search
    in a process that can be killed.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise ValueError("a time limit needs the main thread on Linux or macOS; run the search in a process of its own")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"the time limit is {seconds} seconds; expected a positive number")

    def stop(*_: Any) -> None:
        raise TimeoutError(f"the search took more than {seconds:g} seconds; expected a simpler pattern or fewer trees")

    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def _to_forest(trees: Trees) -> Forest:
    return trees if isinstance(trees, Forest) else Forest(trees)
