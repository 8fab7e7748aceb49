"""A grammar in terms of a model's labels and tags, and the trees of maximal utility under it.

The utility of a tree is the sum over its spans' labels and its words' tags, plus the weighted log-probability of its
productions. The candidates are few: some spans of a sentence, each with some labels, and some tags of each word. A tree
is a set of candidate spans that do not cross, and one tag for each word.
Its utility is a sum over the children of its constituents, so dynamic programming finds the best tree: for every
candidate, from right to left and from short to long, the best sequence of children is a path through the words and
candidates inside it. A point of a path is a position in the sentence and a state of the grammar.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise, product
from operator import or_
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask, Reals
from treecrf.parser.decoding.grammar import NO_CONTEXT, Grammar
from treecrf.threads import num_threads, run_on_threads
from treecrf.trees.treebank.binarize import unary_chain
from treecrf.trees.treebank.bracket_writer import FlatTrees

try:
    from treecrf.parser.decoding import _decoding
except ImportError:  # installed on a machine without a C compiler
    available = False
else:
    available = True

NO_LABEL = NO_TAG = -1
_VERB_TAGS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "TO")
# children of which a constituent has at least one, by its label; a model without the tags of Penn has no such needs
_NEEDS = {
    "VP": (*_VERB_TAGS, "POS", "VP", "UCP"),
    **dict.fromkeys(
        ("WHNP", "WHADVP", "WHPP", "WHADJP"), ("WDT", "WP", "WP$", "WRB", "WHNP", "WHADVP", "WHADJP", "WHPP")
    ),
}
LACK = 0.4  # utility that a constituent loses if no child is one that it needs
_THREAD_SENTENCES = 16  # sentences per thread: they take a few times as long as waking the thread


class CandidateSpans(NamedTuple):
    """The spans that the trees of b sentences may have, each with some labels, and the tags of their words."""

    lengths: Ints  # (b,) words
    tags: Ints  # (words, tag choices) tag ids; NO_TAG: fewer choices, but at least one
    tag_utility: Reals  # (words, tag choices)
    size: int  # rows of the chart: more than the words of the longest sentence
    cells: Ints  # (spans,) flat chart cells, ascending
    labels: Ints  # (spans, choices); NO_LABEL: fewer choices
    utility: Reals  # (spans, choices)
    # (b,) the label of the sentence's span if that label has no constituents; or NO_LABEL: it is one of the choices
    sentence_labels: Ints
    required: Mask | None = None  # (spans,) the constituents of every tree; no other candidate crosses them

    @property
    def first_spans(self) -> Ints:
        """The first span of each sentence, and the number of spans, (b + 1,)."""
        return np.searchsorted(self.cells, np.arange(len(self.lengths) + 1) * self.size**2)

    @property
    def is_required(self) -> Mask:
        """Whether a span is a constituent of every tree, (spans,)."""
        return np.zeros(len(self.cells), np.bool_) if self.required is None else self.required


class LabelGrammar:
    """The grammar's symbols and states for each label and tag of a model; `weight` scales its log-probabilities."""

    def __init__(
        self,
        grammar: Grammar,
        labels: Sequence[str],
        tags: Sequence[str],
        *,
        root: str,
        empty_label: int,
        weight: float,
    ) -> None:
        self.grammar = grammar
        self.weight = weight
        self.empty_label = empty_label
        chains = list(map(unary_chain, labels))
        self.root_state = grammar.start_state(root)
        # the symbol of each label's outermost constituent; the state before the children of its innermost constituent
        self.top_symbols: Ints = np.array([grammar.symbol(chain[0]) if chain else 0 for chain in chains], np.int64)
        self.inner_states: Ints = np.array(
            [grammar.start_state(chain[-1]) if chain else NO_LABEL for chain in chains], np.int64
        )
        self.chain_log_probs: Doubles = np.array([self._chain_log_prob(chain) for chain in chains], np.float64)
        self.tag_symbols: Ints = np.array([grammar.symbol(tag) for tag in tags], np.int64)
        self.needs, self.gives = self._contradictions(chains, tags)
        self.tag_log_probs: Doubles = np.array([grammar.advance(NO_CONTEXT, symbol)[0] for symbol in self.tag_symbols])

    def _chain_log_prob(self, chain: Sequence[str]) -> float:
        """The log-probability of the productions inside a unary chain."""
        log_probs = [self.grammar.children_log_prob(label, [child]) for label, child in pairwise(chain)]
        return self.weight * sum(log_probs)

    def _contradictions(self, chains: Sequence[Sequence[str]], tags: Sequence[str]) -> tuple[Ints, Ints]:
        """Bits of labels, whose innermost constituent needs a child with the bit, and of the symbols of children."""
        needs, gives = np.zeros(len(chains), np.int64), np.zeros(self.grammar.end + 1, np.int64)
        if set(_VERB_TAGS) <= {*tags}:
            for bit, (label, children) in enumerate(_NEEDS.items()):
                needs |= np.array([chain[-1:] == (label,) for chain in map(tuple, chains)], np.int64) << bit
                gives[[self.grammar.symbol(child) for child in children]] |= 1 << bit
        return needs, gives

    def best_trees(self, candidates: CandidateSpans) -> FlatTrees:
        """The trees of maximal utility; spans that are not constituents have the empty label.

        Words have their first tag, unless a constituent lacks a child that it needs, such as the verb of a VP. Then
        words may have any of their tags, and what a constituent lacks costs utility.
        """
        return self.ranked_trees(candidates, all_tags=False)[0]

    def ranked_trees(self, candidates: CandidateSpans, *, all_tags: bool) -> tuple[FlatTrees, Doubles]:
        """The trees of maximal utility, and their utility (b,); `all_tags`: words may have any tag at once."""
        if not available:
            return self.ranked_trees_in_python(candidates, all_tags=all_tags)
        grammar, count = self.grammar, len(candidates.lengths)
        words, utility = len(candidates.tags), np.empty(count)
        starts, ends, labels, tags = (np.empty(size, np.int64) for size in (*[2 * words - count] * 3, words))
        settings = (
            *(count, candidates.size, *candidates.labels.shape, *candidates.tags.shape, len(self.top_symbols)),
            *(len(grammar.shorter), len(grammar.arc_symbols), grammar.end + 1, self.root_state, self.empty_label),
            *(all_tags, self.weight, grammar.log_uniform, LACK),
        )
        arrays = (
            *(candidates.lengths, self._symbols(candidates.tags), candidates.tag_utility),
            *(candidates.first_spans, candidates.cells, candidates.labels, candidates.utility),
            *(candidates.is_required, candidates.sentence_labels),
            *(self.top_symbols, self.inner_states, self.needs, self.gives, self.chain_log_probs),
            *(grammar.first_arcs, grammar.arc_symbols, grammar.arc_log_probs, grammar.arc_targets),
            *(grammar.shorter, grammar.log_left_over),
            np.zeros(1, np.int64),  # a counter that the threads share
        )
        pointers = [np.ascontiguousarray(array) for array in arrays]
        addresses = [array.ctypes.data for array in (*pointers, starts, ends, labels, tags, utility)]
        threads = max(1, min(num_threads(), count // _THREAD_SENTENCES))
        run_on_threads(_decoding.best_trees, threads, *settings, *addresses)
        return FlatTrees(starts, ends, labels, candidates.tags[np.arange(words), tags]), utility

    def _symbols(self, tags: Ints) -> Ints:
        return np.where(tags == NO_TAG, NO_TAG, self.tag_symbols[tags])

    def ranked_trees_in_python(self, candidates: CandidateSpans, *, all_tags: bool) -> tuple[FlatTrees, Doubles]:
        """The same trees without the compiled code."""
        trees: list[_BestTree] = []
        last_words, first_spans = np.cumsum(candidates.lengths), candidates.first_spans
        for number, (length, last) in enumerate(zip(candidates.lengths.tolist(), last_words.tolist(), strict=True)):
            words = slice(last - length, last)
            tags = [
                [(tag, utility) for tag, utility in zip(*word, strict=True) if tag != NO_TAG]
                for word in zip(candidates.tags[words].tolist(), candidates.tag_utility[words].tolist(), strict=True)
            ]
            rows, size = slice(*first_spans[number : number + 2]), candidates.size
            columns = (candidates.cells, candidates.labels, candidates.utility, candidates.is_required)
            table = zip(*(column[rows].tolist() for column in columns), strict=True)
            choices = [
                _Choice(cell // size % size, cell % size, label, utility, int(is_required))
                for cell, labels, utilities, is_required in table
                for label, utility in zip(labels, utilities, strict=True)
                if label != NO_LABEL
            ]
            label = int(candidates.sentence_labels[number])
            with_all = _Sentence(self, tags, choices, label, cost=LACK)
            tree = (with_all if all_tags else _Sentence(self, [word[:1] for word in tags], choices, label)).best_tree()
            trees.append(with_all.best_tree() if tree.missing and not all_tags else tree)
        starts, ends, label_ids = np.array([span for tree in trees for span in tree.spans], np.int64).T
        tag_ids = np.array([tag for tree in trees for tag in tree.tags], np.int64)
        return FlatTrees(starts, ends, label_ids, tag_ids), np.array([tree.utility for tree in trees])


class _BestTree(NamedTuple):
    """The best tree of a sentence: its spans (start, end, label), and the tags of its words."""

    spans: list[tuple[int, int, int]]
    tags: list[int]
    utility: float
    missing: int  # bits that constituents need and lack


class _Choice(NamedTuple):
    """A candidate: a span with one label."""

    start: int
    end: int
    label: int
    utility: float
    required: int  # 1 or 0


class _Edge(NamedTuple):
    """A word, or the best subtree of a candidate."""

    start: int
    end: int
    symbol: int
    utility: float
    label: int = NO_LABEL
    last: "_Point | None" = None  # end of the path through its children
    tag: int = NO_TAG  # if the span is a word
    required: int = 0  # the number of required spans in it


class _Point(NamedTuple):
    """The end of a path from the start of a constituent: its utility, and the last edge."""

    utility: float
    state: int  # state of the grammar
    given: int = 0  # bits of the children, if a lack costs anything
    edge: _Edge | None = None
    before: "_Point | None" = None
    required: int = 0  # the number of required spans of its edges

    @property
    def rank(self) -> tuple[int, float]:
        """Paths with more required spans are better."""
        return self.required, self.utility


@dataclass
class _Paths:
    """The best paths of a constituent's children, from its start: by position, state of the grammar, and bits."""

    grammar: LabelGrammar
    points: dict[int, dict[tuple[int, int], _Point]]
    cost: float  # utility that a missing child costs

    def extend(self, edge: _Edge) -> None:
        """Extends the paths that end where an edge starts."""
        for point in self.points.get(edge.start, {}).values():
            log_prob, state = self.grammar.grammar.advance(point.state, edge.symbol)
            utility = point.utility + edge.utility + self.grammar.weight * log_prob
            given = point.given | int(self.grammar.gives[edge.symbol]) if self.cost else 0
            ends, key = self.points.setdefault(edge.end, {}), (state, given)
            end = _Point(utility, state, given, edge, point, point.required + edge.required)
            if key not in ends or end.rank > ends[key].rank:
                ends[key] = end

    def best_end(self, position: int, needs: int = 0) -> _Point | None:
        """The end of the best complete path to a position; its utility includes the end of the children."""
        grammar, weight = self.grammar.grammar, self.grammar.weight
        ends = [
            point._replace(
                utility=point.utility
                + weight * grammar.advance(point.state, grammar.end)[0]
                - self.cost * bool(needs & ~point.given)
            )
            for point in self.points.get(position, {}).values()
        ]
        return max(ends, key=lambda point: point.rank, default=None)


@dataclass
class _Sentence:
    """The search for the best tree of one sentence."""

    grammar: LabelGrammar
    tags: list[list[tuple[int, float]]]  # the tags of each word, with their utility
    choices: list[_Choice]
    sentence_label: int
    cost: float = 0.0  # utility that a constituent without a child that it needs costs
    edges: dict[int, list[_Edge]] = field(default_factory=dict)  # by end
    best_tags: dict[int, int] = field(default_factory=dict)  # by word
    missing: int = 0

    def best_tree(self) -> _BestTree:
        length = len(self.tags)
        by_start: dict[int, list[_Choice]] = {}
        for choice in self.choices:
            by_start.setdefault(choice.start, []).append(choice)
        root = self._paths(0, self.grammar.root_state)
        for start in range(length - 1, -1, -1):
            self._find_subtrees(start, by_start.get(start, []), root if start == 0 else None)
        end = root.best_end(length)
        assert end is not None, "the sentence's span has a choice, or no constituents"
        spans = sorted(self._spans(end, 0, length, self.sentence_label))
        return _BestTree(spans, [self.best_tags[word] for word in range(length)], end.utility, self.missing)

    def _paths(self, start: int, state: int) -> _Paths:
        return _Paths(self.grammar, {start: {(state, 0): _Point(0.0, state)}}, self.cost)

    def _find_subtrees(self, start: int, choices: list[_Choice], root: _Paths | None) -> None:
        """Adds the edges from one position: its word, and the best subtree of each candidate."""
        grammar, length = self.grammar, len(self.tags)
        by_state = {state: self._paths(start, state) for state in {int(grammar.inner_states[c.label]) for c in choices}}
        is_free_root = root is not None and self.sentence_label != NO_LABEL
        all_paths = [*by_state.values(), *([root] if root is not None and is_free_root else [])]
        last = length if is_free_root else max((choice.end for choice in choices), default=start + 1)
        for position in range(start + 1, last + 1):
            edges = self.edges.setdefault(position, [])
            if position == start + 1:
                symbols = self.grammar.tag_symbols
                edges += [
                    _Edge(start, position, int(symbols[tag]), utility, tag=tag) for tag, utility in self.tags[start]
                ]
            for paths, edge in product(all_paths, edges):
                paths.extend(edge)
            subtrees = [
                subtree
                for choice in choices
                if choice.end == position
                if (subtree := self._subtree(choice, by_state[int(grammar.inner_states[choice.label])]))
            ]
            root_paths = [root] if root is not None and not is_free_root and position == length else []
            for paths, edge in product([*all_paths, *root_paths], subtrees):
                paths.extend(edge)
            edges += subtrees

    def _subtree(self, choice: _Choice, paths: _Paths) -> _Edge | None:
        end = paths.best_end(choice.end, int(self.grammar.needs[choice.label]))
        if end is None:
            return None
        utility = end.utility + choice.utility + float(self.grammar.chain_log_probs[choice.label])
        symbol = int(self.grammar.top_symbols[choice.label])
        required = end.required + choice.required
        return _Edge(choice.start, choice.end, symbol, utility, choice.label, end, required=required)

    def _spans(self, end: _Point, start: int, stop: int, label: int) -> Iterator[tuple[int, int, int]]:
        """The spans below a constituent, given its path, and its own if it has a label; binarized to the left."""
        edges: list[_Edge] = []
        point: _Point | None = end
        while point is not None and point.edge is not None:
            edges.append(point.edge)
            point = point.before
        if label != NO_LABEL:
            given = reduce(or_, (int(self.grammar.gives[edge.symbol]) for edge in edges))
            self.missing |= int(self.grammar.needs[label]) & ~given
            yield start, stop, label
        for edge in edges[1:-1]:
            yield start, edge.end, self.grammar.empty_label
        for edge in edges:
            if edge.last is not None:
                yield from self._spans(edge.last, edge.start, edge.end, edge.label)
                continue
            self.best_tags[edge.start] = edge.tag
            if len(edges) > 1 or label == NO_LABEL:
                yield edge.start, edge.end, self.grammar.empty_label
