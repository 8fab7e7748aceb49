from treecrf.trees.search import Pattern
from treecrf.trees.search.program import GoalKind, LabelMode


def kinds(pattern: str) -> list[GoalKind]:
    return [goal.kind for goal in Pattern(pattern).program.goals]


def test_a_conjunction_is_a_chain_of_goals():
    program = Pattern("NP < DT < NN=noun").program
    chain = [program.goals[program.start]]
    while chain[-1].kind != GoalKind.EMIT:
        chain.append(program.goals[chain[-1].following])
    assert [program.labels[goal.label].text for goal in chain[:-1]] == ["NP", "DT", "NN"]
    assert program.names == ["noun"] and chain[2].name == 0
    assert {goal.context for goal in chain[1:3]} == {program.start}  # both relations start at NP


def test_negations_and_options_are_chains_of_their_own():
    assert kinds("NP !< DT") == [GoalKind.EMIT, GoalKind.ACCEPT, GoalKind.NODE, GoalKind.NODE, GoalKind.NOT]
    assert GoalKind.NOT_ALL in kinds("NP ![< DT < NN]")
    assert GoalKind.FIRST in kinds("NP ?< DT=x")
    assert {GoalKind.OPTIONAL, GoalKind.MARK} <= set(kinds("NP ?[< DT=x | < NN=y]"))
    assert GoalKind.OR in kinds("NP [< DT | < NN]")


def test_labels_variables_and_heads_are_collected_once():
    program = Pattern("/N(.)/#1%x <# (/N(.)/#1%x=n $ =n) : ~n").program
    assert [label.text for label in program.labels] == ["N(.)"]
    assert program.variables == ["x"] and program.uses_heads
    assert {goal.mode for goal in program.goals} >= {LabelMode.REFERENCE, LabelMode.LINK}
    assert not Pattern("NP < NN").program.uses_heads
