import pytest

from treecrf.trees.search import Pattern, PatternError
from treecrf.trees.search.syntax import Coordination, NodePattern, Relation, parse_pattern


@pytest.mark.parametrize(
    "text",
    [
        "NP <<< NN",  # newer than Tregex 4.2
        "NP < NN=a < NN=a",
        "NP !< NN=a",
        "NP=a | =a < NP=a",
        "NP [< NN=a | < =a]",
        "(NP) < NN",
        "NP < NN | (VP)",
        "(NP | VP) < NN",
        "NP <... {NN}",
        "NP <... { }",
        "NP <0 NN",
        "NP <-0 NN",
        "NP <<2 NN",
        "NP $-1 NN",
        "NP <- -2 NN",
        "NP <99999999999 NN",
        "NP ?!< NN",
        "NP !?< NN",
        "NP ?[!< NN]",
        "NP < !(NN)",
        "NP <+ NP NN",
        "NP <+(NP NN",
        "_ < NN",
        "NP < /NN",
        "NP < /N(N/",
        "/N(.)/#2%x",
        "!/N(.)/#1%x",
        "NP#x%1",
        "NP <",
        "",
        "5",
        "NP)",
        "(NP",
        "NP ~a",
        "(" * 60 + "NP" + ")" * 60,
        "NP" + " < NN" * 200,
    ],
)
def test_patterns_that_do_not_parse_are_errors(text):
    with pytest.raises(PatternError):
        Pattern(text)


def test_a_sequence_describes_all_children():
    expression = parse_pattern("NP <... { DT ; NN }")
    assert isinstance(expression, NodePattern) and isinstance(expression.child, Coordination)
    nodes = [child for child in expression.child.children if isinstance(child, NodePattern)]
    assert [node.relation for node in nodes] == [Relation("<i", 1), Relation("<i", 2), Relation("<i", 3)]
    assert [node.is_negated for node in nodes] == [False, False, True]
    with pytest.raises(PatternError, match="needs at least one child"):
        parse_pattern("NP <... { }")
