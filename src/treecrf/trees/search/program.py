"""Patterns as programs of goals, for the compiled matcher.

A goal has the number of the goal after it, so that the goals of a conjunction form a chain and the alternatives of a
disjunction continue at the same goal. A match is complete at the goal EMIT. A negated relation is a chain of its own,
which ends at ACCEPT.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from treecrf.trees.search import compiled
from treecrf.trees.search.forest import Forest
from treecrf.trees.search.heads import Int32Array
from treecrf.trees.search.labels import Label, group_text, label_test, matching_labels
from treecrf.trees.search.naive import Bindings, NodeMatch
from treecrf.trees.search.relations import HEAD_RELATIONS, RELATIONS
from treecrf.trees.search.syntax import Coordination, Expression, NodePattern

_OPCODES = {symbol: number for number, symbol in enumerate(RELATIONS)}


class GoalKind(IntEnum):
    """Kinds of goals, numbered as in the compiled matcher."""

    EMIT = 0  # records a match
    ACCEPT = 1  # ends a chain that only asks whether there is a match
    NODE = 2  # tries the candidates of a relation
    OR = 3  # tries alternatives
    NOT = 4  # continues if a chain has no match
    NOT_ALL = 5  # continues if one of several chains has no match
    FIRST = 6  # continues after the first match of a chain, or without one
    OPTIONAL = 7  # continues after every match of a chain that ends at MARK, or without one
    MARK = 8  # notes that an OPTIONAL chain has matched


class LabelMode(IntEnum):
    """Tests of a label by a goal, numbered as in the compiled matcher."""

    TABLE = 0  # a table of label ids
    ROOT = 1
    NOT_ROOT = 2
    REFERENCE = 3
    LINK = 4
    BASIC_LINK = 5


@dataclass
class Goal:
    """A goal, with the fields in the order of the compiled matcher; -1 means none."""

    kind: GoalKind
    following: int = -1
    first: int = -1  # range of subgoals, for OR and NOT_ALL; the subgoal, for NOT, FIRST and OPTIONAL
    last: int = -1
    context: int = -1  # the goal whose node the relation starts from; -1: the node of the match
    relation: int = 0
    number: int = 0
    path: int = -1  # table
    mode: int = 0
    label: int = -1  # table; for references and links, the number of the name
    name: int = -1
    first_group: int = 0
    last_group: int = 0


class Program:
    """The goals of a pattern, its label tables, its names and its variables."""

    def __init__(self, expression: Expression) -> None:
        self.goals = [Goal(GoalKind.EMIT), Goal(GoalKind.ACCEPT)]
        self.subgoals: list[int] = []
        self.labels: list[Label] = []
        self.groups: list[tuple[Label, int, int]] = []  # label, group number, number of the variable
        self.names: list[str] = []
        self.variables: list[str] = []
        self.uses_heads = False
        self.uses_basic_links = False
        self.start = self._compile(expression, -1, 0)

    @cached_property
    def _arrays(self) -> list[Int32Array]:
        """The goals, the subgoals and the variables of the groups."""
        rows = [astuple(goal) for goal in self.goals]
        variables = [variable for *_, variable in self.groups]
        return [np.array(values, dtype=np.int32) for values in (rows, self.subgoals, variables)]

    @cached_property
    def addresses(self) -> tuple[int, int, int, int, int, int, int, int, int, int]:
        """The first goal, the sizes of the program and the addresses of its arrays, for the compiled matcher."""
        goals, subgoals, variables = (array.ctypes.data for array in self._arrays)
        sizes = (self.start, len(self.goals), len(self.subgoals), len(self.labels), len(self.groups))
        return *sizes, len(self.names), len(self.variables), goals, subgoals, variables

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
            subgoal = self._compile_positive(expression, context, int(GoalKind.ACCEPT))
            return self._add(Goal(GoalKind.FIRST, following, first=subgoal))
        goal = self._add(Goal(GoalKind.OPTIONAL, following))
        mark = self._add(Goal(GoalKind.MARK, following, first=goal))
        self.goals[goal].first = self._compile_positive(expression, context, mark)
        return goal

    def _compile_negation(self, expression: Expression, context: int, following: int) -> int:
        if isinstance(expression, Coordination) and expression.kind == "and":
            goals = [self._compile(child, context, int(GoalKind.ACCEPT)) for child in expression.children]
            return self._add(Goal(GoalKind.NOT_ALL, following, *self._add_subgoals(goals)))
        subgoal = self._compile_positive(expression, context, int(GoalKind.ACCEPT))
        return self._add(Goal(GoalKind.NOT, following, first=subgoal))

    def _compile_positive(self, expression: Expression, context: int, following: int) -> int:
        if isinstance(expression, NodePattern):
            return self._compile_node(expression, context, following)
        if expression.kind == "and":
            for child in reversed(expression.children):
                following = self._compile(child, context, following)
            return following
        goals = [self._compile(child, context, following) for child in expression.children]
        return self._add(Goal(GoalKind.OR, following, *self._add_subgoals(goals)))

    def _add_subgoals(self, goals: list[int]) -> tuple[int, int]:
        first = len(self.subgoals)
        self.subgoals += goals
        return first, len(self.subgoals)

    def _compile_node(self, pattern: NodePattern, context: int, following: int) -> int:
        relation = pattern.relation
        opcode = _OPCODES[relation.symbol]
        goal = Goal(GoalKind.NODE, following, context=context, relation=opcode, number=relation.number)
        self.uses_heads |= relation.symbol in HEAD_RELATIONS
        if relation.path is not None:
            goal.path = _index(self.labels, relation.path)
        if pattern.name is not None:
            goal.name = _index(self.names, pattern.name)
        self._compile_label(goal, pattern.label)
        index = self._add(goal)
        if pattern.child is not None:
            goal.following = self._compile(pattern.child, index, following)
        return index

    def _compile_label(self, goal: Goal, label: Label) -> None:
        if label.kind == "reference":
            goal.mode, goal.label = LabelMode.REFERENCE, _index(self.names, label.text)
        elif label.kind == "link":
            goal.mode = LabelMode.BASIC_LINK if label.is_basic else LabelMode.LINK
            self.uses_basic_links |= label.is_basic
            goal.label = _index(self.names, label.text)
        elif label.kind == "root":
            goal.mode = LabelMode.NOT_ROOT if label.is_negated else LabelMode.ROOT
        else:
            goal.label = _index(self.labels, label)
        goal.first_group = len(self.groups)
        self.groups += [(label, number, _index(self.variables, name)) for number, name in label.groups]
        goal.last_group = len(self.groups)


def _index(values: list[Any], value: Any) -> int:
    """The number of a value, which is added if it is new."""
    if value not in values:
        values.append(value)
    return values.index(value)


def find_matches(program: Program, forest: Forest) -> Iterator[NodeMatch]:
    """The matches that `naive.find_matches` defines."""
    rows, texts = match_rows(program, forest)
    name_count = len(program.names)
    for node, *bindings in rows.tolist():
        positions = zip(program.names, bindings[:name_count], strict=True)
        variables = zip(program.variables, bindings[name_count:], strict=True)
        names = {name: position for name, position in positions if position >= 0}
        yield node, Bindings(names, {name: texts[text] for name, text in variables if text >= 0})


def match_rows(program: Program, forest: Forest) -> tuple[Int32Array, list[str]]:
    """One row per match: the node, the nodes with names and the numbers of the variables' texts; and these texts."""
    tables = b"".join([_label_table(label, forest) for label in program.labels])
    group_tables, texts = _group_tables(program, forest)
    basic_ids = forest.basic_ids.tobytes() if program.uses_basic_links else b""
    heads = forest.heads.ctypes.data if program.uses_heads else 0
    assert compiled.matcher is not None
    rows = compiled.matcher.search((*forest.addresses, heads), program.addresses, tables, group_tables, basic_ids)
    width = 1 + len(program.names) + len(program.variables)
    return np.frombuffer(rows, dtype=np.int32).reshape(-1, width), texts


def _label_table(label: Label, forest: Forest) -> bytes:
    """Whether each label of a forest matches, with negation; remembered in the forest."""
    table = forest.label_tables.get(label)
    if table is not None:
        return table
    literals = label_test(label).plain_literals
    if literals is None or label.is_basic:
        table = bytes(matching_labels(label, forest.labels))
    else:
        bits = bytearray([label.is_negated]) * len(forest.labels)
        for literal in literals:
            if literal in forest.label_index:
                bits[forest.label_index[literal]] ^= 1
        table = bytes(bits)
    forest.label_tables[label] = table
    return table


def _group_tables(program: Program, forest: Forest) -> tuple[bytes, list[str]]:
    """The number of the text that each group captures in each label, or -1, as int32; and the texts."""
    if not program.groups:
        return b"", []
    ids: dict[str, int] = {}
    group_tables = np.full((len(program.groups), len(forest.labels)), -1, dtype=np.int32)
    for row, (label, number, _) in zip(group_tables, program.groups, strict=True):
        is_match = None if label.kind == "root" else _label_table(label, forest)
        for index, value in enumerate(forest.labels):
            if (is_match is None or is_match[index]) and (text := group_text(label, number, value)) is not None:
                row[index] = ids.setdefault(text, len(ids))
    return group_tables.tobytes(), list(ids)
