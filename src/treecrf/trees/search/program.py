"""Patterns as programs of goals, for the compiled matcher.

A goal has the number of the goal after it, so that the goals of a conjunction form a chain and the alternatives of a
disjunction continue at the same goal. A match is complete at the goal EMIT. A negated relation is a chain of its own,
which ends at ACCEPT. Goals are numbered from the end of a chain to its start, so no goal comes back to itself.
"""

from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from treecrf.trees.search import compiled
from treecrf.trees.search.forest import Forest
from treecrf.trees.search.heads import Int32Array
from treecrf.trees.search.labels import Label, group_text, label_test, matching_labels
from treecrf.trees.search.naive import MAX_MATCHES, Bindings, MatchLimitError, NodeMatch
from treecrf.trees.search.relations import RELATIONS
from treecrf.trees.search.syntax import Coordination, Expression, NodePattern

_Value = TypeVar("_Value")
_OPCODES = {symbol: number for number, symbol in enumerate(RELATIONS)}
_HEAD_OPCODES = {number for symbol, number in _OPCODES.items() if symbol.endswith("#")}
_MAX_VALUES = 1 << 22  # numbers in the matches of one node
_ROWS = 1024  # matches that are objects at a time


class GoalKind(IntEnum):
    """Kinds of goals, numbered as in the compiled matcher."""

    EMIT = 0  # records a match
    ACCEPT = 1  # ends a chain that only asks whether there is a match
    NODE = 2  # tries the candidates of a relation
    OR = 3  # tries alternatives
    NOT_ALL = 4  # continues if one of several chains has no match
    FIRST = 5  # continues after the first match of a chain, or without one
    OPTIONAL = 6  # continues after every match of a chain that ends at MARK, or without one
    MARK = 7  # notes that an OPTIONAL chain has matched


# tests of a label by a goal, numbered as in the compiled matcher; TABLE is a table of label ids
LabelMode = IntEnum("LabelMode", "TABLE ROOT NOT_ROOT REFERENCE LINK BASIC_LINK", start=0)


class Goal(NamedTuple):
    """A goal, with the fields in the order of the compiled matcher; -1 means none."""

    kind: GoalKind
    following: int = -1
    first: int = -1  # range of subgoals, for OR and NOT_ALL; a goal, for FIRST, OPTIONAL and MARK
    last: int = -1
    slot: int = 0  # number of the node that the goal finds
    context: int = -1  # slot of the node that the relation starts from; -1: the node of the match
    relation: int = 0
    number: int = 0
    path: int = -1  # table
    mode: int = LabelMode.TABLE
    label: int = -1  # table; for references and links, the number of the name
    name: int = -1
    first_group: int = 0
    last_group: int = 0


class Program:
    """The goals of a pattern, and the numbers of its labels, names and variables."""

    def __init__(self, expression: Expression) -> None:
        self.goals = [Goal(GoalKind.EMIT), Goal(GoalKind.ACCEPT)]
        self.subgoals: list[int] = []
        self.labels: dict[Label, int] = {}
        self.groups: list[tuple[Label, int, int]] = []  # label, group number, number of the variable
        self.names: dict[str, int] = {}
        self.variables: dict[str, int] = {}
        self.slot_count = 0
        self.start = self._compile(expression, -1, GoalKind.EMIT)
        self.uses_heads = any(goal.relation in _HEAD_OPCODES for goal in self.goals)
        self.uses_basic_links = any(goal.mode == LabelMode.BASIC_LINK for goal in self.goals)

    @cached_property
    def encoded(self) -> tuple[int, int, int, bytes, bytes, bytes]:
        """The first goal, the numbers of names and variables, and the arrays, for the compiled matcher."""
        arrays = (self.goals, self.subgoals, [variable for *_, variable in self.groups])
        goals, subgoals, variables = (np.array(array, dtype=np.int32).tobytes() for array in arrays)
        return self.start, len(self.names), len(self.variables), goals, subgoals, variables

    def _add(self, goal: Goal) -> int:
        self.goals.append(goal)
        return len(self.goals) - 1

    def _compile(self, expression: Expression, context: int, following: int) -> int:
        """Adds the goals of an expression, and returns the first one."""
        if expression.is_negated:
            return self._compile_negation(expression, context, following)
        if not expression.is_optional:
            return self._compile_positive(expression, context, following)
        if isinstance(expression, NodePattern):
            subgoal = self._compile_positive(expression, context, GoalKind.ACCEPT)
            return self._add(Goal(GoalKind.FIRST, following, first=subgoal))
        mark = self._add(Goal(GoalKind.MARK, following))
        subgoal = self._compile_positive(expression, context, mark)
        optional = self._add(Goal(GoalKind.OPTIONAL, following, first=subgoal))
        self.goals[mark] = self.goals[mark]._replace(first=optional)
        return optional

    def _compile_negation(self, expression: Expression, context: int, following: int) -> int:
        if isinstance(expression, Coordination) and expression.kind == "and":
            goals = [self._compile(child, context, GoalKind.ACCEPT) for child in expression.children]
        else:
            goals = [self._compile_positive(expression, context, GoalKind.ACCEPT)]
        return self._add_choice(GoalKind.NOT_ALL, goals, following)

    def _compile_positive(self, expression: Expression, context: int, following: int) -> int:
        if isinstance(expression, NodePattern):
            return self._compile_node(expression, context, following)
        if expression.kind == "and":
            for child in reversed(expression.children):
                following = self._compile(child, context, following)
            return following
        goals = [self._compile(child, context, following) for child in expression.children]
        return self._add_choice(GoalKind.OR, goals, following)

    def _add_choice(self, kind: GoalKind, goals: list[int], following: int) -> int:
        self.subgoals += goals
        return self._add(Goal(kind, following, len(self.subgoals) - len(goals), len(self.subgoals)))

    def _compile_node(self, pattern: NodePattern, context: int, following: int) -> int:
        relation, label = pattern.relation, pattern.label
        slot, first_group = self.slot_count, len(self.groups)
        self.slot_count += 1
        self.groups += [(label, number, _number(self.variables, variable)) for number, variable in label.groups]
        path = -1 if relation.path is None else _number(self.labels, relation.path)
        place = (slot, context, _OPCODES[relation.symbol], relation.number, path)
        name = -1 if pattern.name is None else _number(self.names, pattern.name)
        description = (*self._compile_label(label), name, first_group, len(self.groups))
        if pattern.child is not None:
            following = self._compile(pattern.child, slot, following)
        return self._add(Goal(GoalKind.NODE, following, -1, -1, *place, *description))

    def _compile_label(self, label: Label) -> tuple[LabelMode, int]:
        if label.kind == "reference":
            return LabelMode.REFERENCE, _number(self.names, label.text)
        if label.kind == "link":
            return LabelMode.BASIC_LINK if label.is_basic else LabelMode.LINK, _number(self.names, label.text)
        if label.kind == "root":
            return LabelMode.NOT_ROOT if label.is_negated else LabelMode.ROOT, -1
        return LabelMode.TABLE, _number(self.labels, label)


def _number(numbers: dict[_Value, int], value: _Value) -> int:
    """The number of a value, which is added if it is new."""
    return numbers.setdefault(value, len(numbers))


def find_matches(program: Program, forest: Forest, max_matches: int = MAX_MATCHES) -> Iterator[NodeMatch]:
    """The matches that `naive.find_matches` defines; an error at a node with more than `max_matches`."""
    limit = min(max_matches, _MAX_VALUES // (1 + len(program.names) + len(program.variables)))
    texts: dict[str, int] = {}
    for rows, next_node in _search(program, forest, texts, limit + 1):
        is_full = len(rows) > 0 and rows[-1, 0] == next_node
        if is_full and limit > 0:
            raise MatchLimitError(forest, next_node, limit)
        text_list = list(texts)
        for first in range(0, len(rows), _ROWS):
            yield from (_node_match(program, row, text_list) for row in rows[first : first + _ROWS].tolist())


def count_matches(program: Program, forest: Forest) -> Int32Array:
    """Rows of a node and its number of matches; a very large number is divided among several rows."""
    pieces = [rows for rows, _ in _search(program, forest, {}, 1, counts_only=True)]
    return pieces[0] if pieces else np.empty((0, 2), dtype=np.int32)


def _search(
    program: Program, forest: Forest, texts: dict[str, int], max_matches: int, *, counts_only: bool = False
) -> Iterator[tuple[Int32Array, int]]:
    """Yields rows of matches and the node after them, which is the node of the last row if it has `max_matches`.

    A row has the node, the nodes with names and the numbers of the variables' texts, which are added to `texts`. With
    `counts_only`, there is one piece.
    """
    columns = (*forest.columns, forest.head_column if program.uses_heads else b"")
    tables = b"".join([_label_table(label, forest) for label in program.labels])
    basic_ids = forest.basic_ids.tobytes() if program.uses_basic_links else b""
    group_texts = _group_texts(program, forest, texts)
    arguments = (columns, len(forest.labels), program.encoded, tables, group_texts, basic_ids)
    width = 2 if counts_only else 1 + len(program.names) + len(program.variables)
    assert compiled.matcher is not None
    node = 0
    while node < len(forest.ends):
        rows, node = compiled.matcher.search(*arguments, node, max_matches, counts_only)
        yield np.frombuffer(rows, dtype=np.int32).reshape(-1, width), node


def _node_match(program: Program, row: list[int], texts: list[str]) -> NodeMatch:
    node, *bindings = row
    positions = zip(program.names, bindings, strict=False)
    names = {name: position for name, position in positions if position >= 0}
    variables = zip(program.variables, bindings[len(program.names) :], strict=True)
    return node, Bindings(names, {name: texts[text] for name, text in variables if text >= 0})


def _label_table(label: Label, forest: Forest) -> bytes:
    """Whether each label of a forest matches, with negation; remembered in the forest."""
    table = forest.label_tables.get(label)
    if table is not None:
        return table
    literals = label_test(label).literals
    if literals is None or label.is_basic or any("/" in literal or "*" in literal for literal in literals):
        table = bytes(matching_labels(label, forest.labels))
    else:
        bits = bytearray([label.is_negated]) * len(forest.labels)
        for literal in literals:
            if literal in forest.label_index:
                bits[forest.label_index[literal]] ^= 1
        table = bytes(bits)
    forest.label_tables[label] = table
    return table


def _group_texts(program: Program, forest: Forest, texts: dict[str, int]) -> bytes:
    """The number of the text that each group captures in each label, or -1, as int32."""
    table = np.full((len(program.groups), len(forest.labels)), -1, dtype=np.int32)
    for row, (label, number, _) in zip(table, program.groups, strict=True):
        is_match = None if label.kind == "root" else _label_table(label, forest)
        for index, value in enumerate(forest.labels):
            if (is_match is None or is_match[index]) and (text := group_text(label, number, value)) is not None:
                row[index] = texts.setdefault(text, len(texts))
    return table.tobytes()
