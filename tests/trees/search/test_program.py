from random import Random

import numpy as np
import pytest

from treecrf.trees.search import Forest, Pattern, PatternError, compiled, naive
from treecrf.trees.search.program import Goal, GoalKind, LabelMode, count_matches, find_matches
from treecrf.trees.search.relations import RELATIONS, SYNONYMS
from treecrf.trees.tree import Tree
from trees.search.random_trees import random_trees

needs_c = pytest.mark.skipif(not compiled.matcher, reason="treecrf was installed without its C code")


PLAIN = sorted((set(RELATIONS) | set(SYNONYMS)) - {"<i", ">i", "<+", ">+", ".+", ",+"})


PATHS = ["<+(NP)", ">+(!NP)", ".+(@NP)", ",+(/N/)", ".+(__)", "<+(__)", ",+(__)"]


LABEL_TEXTS = ["NP", "NN|VP", "/^N/", "/N(.*)/#1%x", "@NP", "!NP", "__", "!@NP", "/(.)$/#1%x#0%y", "_ROOT_", "!_ROOT_"]


class RandomPattern:
    """A pattern that refers only to names it has declared, and names no node under a negation."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names: list[str] = []
        self.text = f"{random.choice(LABEL_TEXTS)} {self.related(2, is_negated=False)}"

    def relation(self) -> str:
        number = self.random.choice([1, 2, 3, -1, -2, -3])
        return self.random.choice([*PLAIN, *PATHS, f"<{number}", f">{number}"])

    def description(self, depth: int, *, is_negated: bool) -> str:
        kind = self.random.randint(0, 5)
        if self.names and kind < 2:
            return self.random.choice(["=", "~", "@~"]) + self.random.choice(self.names)
        text = self.random.choice(LABEL_TEXTS)
        if kind == 2 and not is_negated:
            self.names.append(f"n{len(self.names)}")
            text += "=" + self.names[-1]
        inner = self.related(depth - 1, is_negated=is_negated) if depth > 0 and self.random.random() < 0.5 else ""
        return f"({text} {inner})" if inner else text

    def related(self, depth: int, *, is_negated: bool) -> str:
        parts = [self.modified(depth, is_negated=is_negated) for _ in range(self.random.randint(1, 2))]
        return self.random.choice([" ", " & "]).join(parts)

    def modified(self, depth: int, *, is_negated: bool) -> str:
        mark = self.random.choice(["", "", "", "!", "?"])
        is_negated = is_negated or mark == "!"
        if depth > 0 and self.random.random() < 0.25:
            names = list(self.names)
            first = self.related(depth - 1, is_negated=is_negated)
            self.names = names
            second = self.related(depth - 1, is_negated=is_negated)
            return f"{mark}[{first} | {second}]"
        return f"{mark}{self.relation()} {self.description(depth, is_negated=is_negated)}"


def compile_random_pattern(random: Random) -> Pattern:
    """Draws patterns until one compiles: '?' before brackets with a single negated relation is an error."""
    while True:
        try:
            return Pattern(RandomPattern(random).text)
        except PatternError as error:
            assert "optional" in error.reason or "declared twice" in error.reason or "no node" in error.reason


@needs_c
@pytest.mark.parametrize("seed", range(10))
def test_compiled_matcher_finds_what_the_definition_finds(seed):
    random = Random(seed)
    for _ in range(50):
        pattern, forest = compile_random_pattern(random), Forest(random_trees(random))
        expected = list(naive.find_matches(pattern.expression, forest))
        assert list(find_matches(pattern.program, forest)) == expected, pattern


@needs_c
def test_compiled_matcher_refuses_inconsistent_arrays():
    flat, pattern = Forest(Tree.parse("(S (NN a))")), Pattern("S < NN")
    flat.columns[1] = np.array([3, 9, 3], dtype=np.int32).tobytes()
    with pytest.raises(ValueError, match="inconsistent"):
        count_matches(pattern.program, flat)


def kinds(pattern: str) -> list[GoalKind]:
    return [goal.kind for goal in Pattern(pattern).program.goals]


def test_a_conjunction_is_a_chain_of_goals():
    program = Pattern("NP < DT < NN=noun").program
    chain = [program.goals[program.start]]
    while chain[-1].kind != GoalKind.EMIT:
        chain.append(program.goals[chain[-1].following])
    labels = list(program.labels)
    assert [labels[goal.label].text for goal in chain[:-1]] == ["NP", "DT", "NN"]
    assert list(program.names) == ["noun"] and chain[2].name == 0
    assert {goal.context for goal in chain[1:3]} == {chain[0].slot}  # both relations start at NP


def test_negations_and_options_are_chains_of_their_own():
    assert kinds("NP !< DT") == [GoalKind.EMIT, GoalKind.ACCEPT, GoalKind.NODE, GoalKind.NOT_ALL, GoalKind.NODE]
    assert GoalKind.NOT_ALL in kinds("NP ![< DT < NN]")
    assert GoalKind.FIRST in kinds("NP ?< DT=x")
    assert {GoalKind.OPTIONAL, GoalKind.MARK} <= set(kinds("NP ?[< DT=x | < NN=y]"))
    assert GoalKind.OR in kinds("NP [< DT | < NN]")


def test_labels_variables_and_heads_are_collected_once():
    program = Pattern("/N(.)/#1%x <# (/N(.)/#1%x=n $ =n) : ~n").program
    assert [label.text for label in program.labels] == ["N(.)"]
    assert list(program.variables) == ["x"] and program.uses_heads
    assert {goal.mode for goal in program.goals} >= {LabelMode.REFERENCE, LabelMode.LINK}
    assert not Pattern("NP < NN").program.uses_heads


@needs_c
def test_a_forest_remembers_the_labels_that_match():
    forest, pattern = Forest(Tree.parse("(S (NP (NN a)) (VP (NN b)))")), Pattern("NP|VP < NN")
    first = count_matches(pattern.program, forest)
    again = count_matches(Pattern("NP|VP < NN").program, forest)
    assert first.tolist() == again.tolist() == [[1, 1], [4, 1]]
    assert len(forest.label_tables) == 2


def test_goals_and_modes_have_the_numbers_of_the_compiled_matcher():
    assert [kind.value for kind in GoalKind] == list(range(8))
    assert [mode.value for mode in LabelMode] == list(range(6))


def test_a_goal_has_no_subgoals_tables_and_names_by_default():
    goal = Goal(GoalKind.EMIT)
    assert {goal.following, goal.first, goal.last, goal.context, goal.path, goal.label, goal.name} == {-1}
    assert (goal.relation, goal.number, goal.mode, goal.first_group, goal.last_group) == (0, 0, LabelMode.TABLE, 0, 0)
