"""The definition of a match, as generators over the nodes of a forest.

A pattern matches a node once for every way to choose the nodes of its relations. A negated relation matches once, if
there is no way. An optional relation matches once, with the first way if there is one; optional brackets match in all
their ways, or once if there is none.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from treecrf import TreecrfError
from treecrf.trees.search.forest import Forest
from treecrf.trees.search.labels import Label, basic_category, group_text, matching_labels
from treecrf.trees.search.relations import RELATIONS, NodeArrays, Step
from treecrf.trees.search.syntax import Expression, NodePattern


class Bindings(NamedTuple):
    """The nodes with names and the values of variables in a match."""

    names: dict[str, int]
    variables: dict[str, str]


NodeMatch = tuple[int, Bindings]  # the node of a match
MAX_MATCHES = 1_000_000  # at one node; a pattern with many relations has more than memory can hold


class MatchLimitError(TreecrfError, ValueError):
    """A node that matches in more ways than memory may hold."""

    def __init__(self, forest: Forest, node: int, limit: int) -> None:
        label = forest.labels[forest.label_ids[node]]
        super().__init__(
            f"the pattern matches {label!r:.80} in tree {forest.tree_of(node) + 1} in more than {limit:,} ways; "
            "expected fewer relations with several nodes to choose from, or a count of the matches"
        )


def find_matches(expression: Expression, forest: Forest, max_matches: int = MAX_MATCHES) -> Iterator[NodeMatch]:
    """The matches in a forest, in Tregex's order; an error at a node with more than `max_matches`."""
    labels = [forest.labels[index] for index in forest.label_ids.tolist()]
    columns = (forest.ends, forest.parents, forest.previous, forest.last_children, forest.heads)
    ends, parents, previous, last_children, heads = (column.tolist() for column in columns)
    for start, end in pairwise(forest.starts.tolist()):
        matcher = _TreeMatcher(NodeArrays(ends, parents, previous, last_children, heads, start, end), labels)
        for node in range(start, end):
            for number, bindings in enumerate(matcher.matches(expression, node, Bindings({}, {}))):
                if number > max_matches:
                    raise MatchLimitError(forest, node, max_matches)
                yield node, bindings


class _TreeMatcher:
    """Matches expressions at the nodes of one tree."""

    def __init__(self, arrays: NodeArrays, labels: list[str]) -> None:
        self.arrays = arrays
        self.labels = labels

    def matches(self, expression: Expression, node: int, bindings: Bindings) -> Iterator[Bindings]:
        """Yields the bindings after each match of an expression whose relations start at a node."""
        if expression.is_negated:
            if not self.has_match(expression, node, bindings):
                yield bindings
        elif not expression.is_optional:
            yield from self.all_matches(expression, node, bindings)
        elif isinstance(expression, NodePattern):
            yield next(self.all_matches(expression, node, bindings), bindings)
        else:
            matches = self.all_matches(expression, node, bindings)
            yield next(matches, bindings)
            yield from matches

    def all_matches(self, expression: Expression, node: int, bindings: Bindings) -> Iterator[Bindings]:
        """The matches of an expression without its negation and its option."""
        if isinstance(expression, NodePattern):
            yield from self.node_matches(expression, node, bindings)
        elif expression.kind == "and":
            yield from self.conjunction_matches(expression.children, node, bindings)
        else:
            for child in expression.children:
                yield from self.matches(child, node, bindings)

    def has_match(self, expression: Expression, node: int, bindings: Bindings) -> bool:
        """Whether a negated expression matches; its conjuncts are tested in turn, with one match of those before."""
        if isinstance(expression, NodePattern) or expression.kind == "or":
            return next(self.all_matches(expression, node, bindings), None) is not None
        for child in expression.children:
            match = next(self.matches(child, node, bindings), None)
            if match is None:
                return False
            bindings = match
        return True

    def conjunction_matches(
        self, children: tuple[Expression, ...], node: int, bindings: Bindings
    ) -> Iterator[Bindings]:
        if not children:
            yield bindings
            return
        for match in self.matches(children[0], node, bindings):
            yield from self.conjunction_matches(children[1:], node, match)

    def node_matches(self, pattern: NodePattern, node: int, bindings: Bindings) -> Iterator[Bindings]:
        path = pattern.relation.path
        step = Step(node, pattern.relation.number, lambda node: path is not None and self.matches_label(path, node))
        for candidate in RELATIONS[pattern.relation.symbol](self.arrays, step):
            variables = self.match_label(pattern.label, candidate, bindings)
            if variables is None:
                continue
            names = bindings.names if pattern.name is None else {**bindings.names, pattern.name: candidate}
            match = Bindings(names, variables)
            if pattern.child is None:
                yield match
            else:
                yield from self.matches(pattern.child, candidate, match)

    def match_label(self, label: Label, node: int, bindings: Bindings) -> dict[str, str] | None:
        """The values of variables after a node's label; None if it does not match."""
        value = self.labels[node]
        if label.kind == "reference":
            return bindings.variables if bindings.names.get(label.text) == node else None
        if label.kind == "link":
            other = bindings.names.get(label.text)
            category: Callable[[str], str] = basic_category if label.is_basic else str
            is_same = other is not None and category(self.labels[other]) == category(value)
            return bindings.variables if is_same else None
        if not self.matches_label(label, node):
            return None
        variables = dict(bindings.variables) if label.groups else bindings.variables
        for number, name in label.groups:
            text = group_text(label, number, value)
            if name in variables and text != variables[name]:
                return None
            if text is not None:
                variables[name] = text
        return variables

    def matches_label(self, label: Label, node: int) -> bool:
        if label.kind == "root":
            return (node == self.arrays.start) != label.is_negated
        return matching_labels(label, [self.labels[node]])[0]
