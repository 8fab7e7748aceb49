"""A grammar of productions: the probability of a constituent's children, given its label.

Each child depends on the label of the constituent and on the two children before it; so does the end of the children.
Probabilities are relative frequencies in training trees, smoothed by Witten and Bell's method: a context with n events
of t types leaves t / (n + t) to the shorter context. Contexts are, from long to short: the label and two children, the
label and one child, the label, nothing. So every sequence of children has a probability above zero.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints
from treecrf.trees.notation import unescape
from treecrf.trees.treebank.well_formed import Production, productions_to_text

NO_CONTEXT = 0  # the state of the shortest context
_MAX_SYMBOLS = 50_000  # the fourth power must fit into 64 bits


class ProductionCounts(Mapping[Production, int]):
    """The counts of productions in lines that `productions_to_text` wrote; read when they are needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _counts(self) -> dict[Production, int]:
        return dict(_read_lines(self.text.removesuffix("\n").split("\n") if self.text else []))

    def __bool__(self) -> bool:
        return bool(self.text)

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[Production]:
        return iter(self._counts)

    def __getitem__(self, production: Production) -> int:
        return self._counts[production]


def _read_lines(lines: Iterable[str]) -> Iterator[tuple[Production, int]]:
    for number, line in enumerate(lines, 1):
        count, *symbols = line.split(" ")
        if not count.isdecimal() or len(symbols) < 2 or len(count) > 12:
            raise ValueError(f"line {number} is {line!r:.80}; expected a count, a label, and its children")
        yield tuple(map(unescape, symbols) if "\\" in line else symbols), int(count)


class _Events(NamedTuple):
    """The events of contexts of one length: a key is the context's key times the number of symbols, plus the symbol."""

    keys: Ints  # (events,) ascending
    contexts: Ints  # (contexts,) their keys, ascending
    context_ids: Ints  # (events,) the place of the event's context in `contexts`
    probs: Doubles  # (events,)
    left_over: Doubles  # (contexts,) the probability that the context leaves to the shorter one


class Grammar:
    """The productions of training trees as an automaton, whose states are contexts.

    The arcs of a state are the children that occurred in this context. A child without an arc is looked up in the
    state of the next shorter context, `shorter`, and the probability that the state leaves to it is a factor.
    """

    def __init__(self, productions: Mapping[Production, int]) -> None:
        text = productions.text if isinstance(productions, ProductionCounts) else productions_to_text(productions)
        columns = _Columns.read(text)
        names = [unescape(name) for name in columns.names]
        self.symbols = {name: number for number, name in enumerate(names)}
        self.unknown = len(names)  # the symbol of names that the productions do not have
        self.end = len(names) + 1
        self._start = len(names) + 2
        self._base = len(names) + 3
        if self._base > _MAX_SYMBOLS:
            raise ValueError(f"the productions have {len(names):,} symbols; expected less than {_MAX_SYMBOLS:,}")
        orders = self._count_events(columns)
        sizes = [len(events.contexts) for events in orders]
        first_states = [0, *np.cumsum(sizes).tolist()]  # first state of each order
        self.arc_symbols: Ints = np.concatenate([events.keys % self._base for events in orders])
        self.arc_log_probs: Doubles = np.log(np.concatenate([events.probs for events in orders]))
        states = [first + events.context_ids for first, events in zip(first_states, orders, strict=False)]
        self.first_arcs: Ints = np.searchsorted(np.concatenate(states), np.arange(sum(sizes) + 1))
        self.log_left_over: Doubles = np.log(np.concatenate([events.left_over for events in orders]))
        self.arc_targets, self.shorter = self._connect(orders, first_states)
        starts = np.arange(len(names)) * self._base + self._start
        places = _find(orders[2].contexts, starts)
        self._start_states = dict(zip(names, np.where(places < 0, 0, places + first_states[2]).tolist(), strict=True))
        self.log_uniform = float(-np.log(self._base - 1))  # all symbols but the start

    def start_state(self, name: str) -> int:
        """The state before the first child of a constituent."""
        return self._start_states.get(name, NO_CONTEXT)

    def symbol(self, name: str) -> int:
        """The number of a label or tag."""
        return self.symbols.get(name, self.unknown)

    def advance(self, state: int, symbol: int) -> tuple[float, int]:
        """The log-probability of a child, and the state after it."""
        log_prob = 0.0
        label_state = state
        while (arc := self._arcs.get((state, symbol))) is None:
            log_prob += float(self.log_left_over[state])
            if state == NO_CONTEXT:
                return log_prob + self.log_uniform, label_state
            label_state, state = state, int(self.shorter[state])
        arc_log_prob, target = arc
        return log_prob + arc_log_prob, label_state if state == NO_CONTEXT else target

    def children_log_prob(self, label: str, children: Sequence[str]) -> float:
        """The log-probability of the children of a constituent."""
        total, state = 0.0, self.start_state(label)
        for symbol in (*map(self.symbol, children), self.end):
            log_prob, state = self.advance(state, symbol)
            total += log_prob
        return total

    @cached_property
    def _arcs(self) -> dict[tuple[int, int], tuple[float, int]]:
        states = np.repeat(np.arange(len(self.shorter)), np.diff(self.first_arcs)).tolist()
        keys = zip(states, self.arc_symbols.tolist(), strict=True)
        return dict(zip(keys, zip(self.arc_log_probs.tolist(), self.arc_targets.tolist(), strict=True), strict=True))

    def _count_events(self, columns: "_Columns") -> list[_Events]:
        """The events of each order: with no context, the label, one child, and two children."""
        start, end, base = self._start, self.end, self._base
        # the children of each production after two starts and before the end, in place of its label
        sizes = columns.sizes + 2
        last = np.cumsum(sizes)
        sequence = np.full(int(sizes.sum()), start, np.int64)
        sequence[last - 1] = end
        is_child = np.ones(len(columns.symbols), np.bool_)
        first_symbols = np.cumsum(columns.sizes) - columns.sizes
        is_child[first_symbols] = False
        sequence[np.flatnonzero(is_child) + 2 * np.repeat(np.arange(len(sizes)), columns.sizes)[is_child] + 1] = (
            columns.symbols[is_child]
        )
        labels = np.repeat(columns.symbols[first_symbols], sizes)
        counts = np.repeat(columns.counts, sizes)
        events = np.flatnonzero(sequence != start)
        keys, numbers = _sum_counts(
            ((labels[events] * base + sequence[events - 2]) * base + sequence[events - 1]) * base + sequence[events],
            counts[events],
        )
        has_two = keys // base % base != start  # at least one child before; before it, another one or the start
        counted = [(keys[has_two], numbers[has_two])]
        for after in (2, 1):
            keys, numbers = _sum_counts(_without_second(keys, base, after), numbers)
            counted.append((keys, numbers))
        counted.append(_sum_counts(keys % base, numbers))
        orders: list[_Events] = []
        for order, (order_keys, order_numbers) in enumerate(reversed(counted)):
            orders.append(_smooth(order_keys, order_numbers, base, order, orders[-1] if orders else None))
        return orders

    def _connect(self, orders: Sequence[_Events], first_states: Sequence[int]) -> tuple[Ints, Ints]:
        """The state after each arc, and the state of the next shorter context of each state."""
        base = self._base
        targets = [np.full(len(orders[0].keys), NO_CONTEXT)]
        shorter = [np.zeros(1, np.int64), np.zeros(len(orders[1].contexts), np.int64)]
        for order in (1, 2, 3):
            keys = orders[order].keys if order < 3 else _without_second(orders[3].keys, base, 2)
            longer = min(order + 1, 3)  # the context that ends with the new child
            targets.append(np.maximum(_find(orders[longer].contexts, keys), 0) + first_states[longer])
        for order in (2, 3):
            contexts = orders[order].contexts
            keys = contexts // base if order == 2 else _without_second(contexts, base, 1)
            shorter.append(_find(orders[order - 1].contexts, keys) + first_states[order - 1])
        return np.concatenate(targets), np.concatenate(shorter)


class _Columns(NamedTuple):
    """Productions as columns of numbers."""

    names: list[str]  # names of symbols, escaped
    counts: Doubles  # (productions,)
    sizes: Ints  # (productions,) symbols of each
    symbols: Ints  # (symbols,) the label of a production and its children, one production after the other

    @staticmethod
    def read(text: str) -> "_Columns":
        """Reads what `productions_to_text` wrote."""
        lines = [line.partition(" ") for line in text.removesuffix("\n").split("\n")]
        try:
            counts = np.array([int(count) for count, _, _ in lines], np.float64)
        except (ValueError, OverflowError):
            raise ValueError("the productions are damaged: a line does not start with a count") from None
        sizes = np.array([symbols.count(" ") + 1 for _, _, symbols in lines], np.int64)
        symbols = " ".join([symbols for _, _, symbols in lines]).split(" ")
        if sizes.min() < 2 or counts.min() < 0 or not all(symbols):
            raise ValueError("the productions are damaged: a line has no children")
        names = sorted(set(symbols))
        numbers = {name: number for number, name in enumerate(names)}
        return _Columns(names, counts, sizes, np.fromiter(map(numbers.__getitem__, symbols), np.int64, len(symbols)))


def _sum_counts(keys: Ints, counts: Doubles) -> tuple[Ints, Doubles]:
    """The different keys, ascending, with the sum of the counts of each."""
    distinct_keys, places = np.unique(keys, return_inverse=True)
    return distinct_keys, np.bincount(places, counts).astype(np.float64)


def _smooth(keys: Ints, numbers: Doubles, base: int, order: int, shorter: _Events | None) -> _Events:
    """The smoothed probabilities of events that occurred so many times."""
    contexts, context_ids = np.unique(keys // base, return_inverse=True)
    types = np.bincount(context_ids).astype(np.float64)
    totals = np.bincount(context_ids, numbers)
    if shorter is None:
        shorter_probs = np.full(len(keys), 1 / (base - 1))
    else:
        symbols = keys % base
        shorter_keys = symbols if order == 1 else _without_second(keys, base, order - 1)
        shorter_probs = shorter.probs[_find(shorter.keys, shorter_keys)]
    probs = (numbers + types[context_ids] * shorter_probs) / (totals + types)[context_ids]
    return _Events(keys, contexts, context_ids, probs, types / (totals + types))


def _without_second(keys: Ints, base: int, after: int) -> Ints:
    """Removes the second symbol of each key; `after` symbols follow it."""
    tail = base**after
    return keys // (tail * base) * tail + keys % tail


def _find(sorted_keys: Ints, keys: Ints) -> Ints:
    """The places of keys in a sorted array; -1 for those that it does not have."""
    places = np.searchsorted(sorted_keys, keys).clip(max=len(sorted_keys) - 1)
    return np.where(sorted_keys[places] == keys, places, -1)
