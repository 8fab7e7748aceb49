from random import Random

import numpy as np
import pytest

from compiled_calls import run_calls
from treecrf.trees.search import Forest, Pattern, compiled, naive
from treecrf.trees.search.program import Goal, GoalKind, LabelMode, count_matches, find_matches
from treecrf.trees.tree import Tree
from trees.search import random_calls
from trees.search.random_patterns import compile_random_pattern
from trees.search.random_trees import random_trees

needs_c = pytest.mark.skipif(not compiled.matcher, reason="treecrf was installed without its C code")


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


@needs_c
@pytest.mark.parametrize("goal", range(2, 6))
def test_compiled_matcher_refuses_a_goal_that_continues_with_itself_or_a_later_one(goal):
    program = Pattern("NP ?[< DT | < NN] !< VP").program
    start, names, variables, goals, *others = program.encoded
    rows = np.frombuffer(goals, dtype=np.int32).reshape(len(program.goals), -1).copy()
    for following in (goal, len(rows) - 1):
        rows[goal, 1] = following
        program.encoded = (start, names, variables, rows.tobytes(), *others)
        with pytest.raises(ValueError, match="inconsistent"):
            count_matches(program, Forest(Tree.parse("(NP (DT a) (NN b))")))


@needs_c
def test_random_calls_of_the_compiled_code_are_computed_or_refused():
    assert 50 < run_calls(random_calls.run_case, 400, seed=5).refused < 300


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
