import pytest

from treecrf.trees.search import Pattern, PatternError
from treecrf.trees.search.labels import Label
from treecrf.trees.search.syntax import (
    MAX_GROUP,
    MAX_GROUPS,
    MAX_NODES,
    Coordination,
    NodePattern,
    Relation,
    parse_pattern,
)


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


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("NP <+(VP) NN", Label("path_literal", "VP")),
        ("NP <+(!VP) NN", Label("path_literal", "VP", is_negated=True)),
        ("NP <+[@VP] NN", Label("path_literal", "VP", is_basic=True)),
        ("NP <+/^V/ NN", Label("path_regex", "^V")),
        ("NP .+(__) NN", Label("any", "__")),
    ],
)
def test_a_path_has_a_label(text, path):
    child = parse_pattern(text).child
    assert child.relation.path == path and child.label == Label("literal", "NN")


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("NP < NN", Relation("<")),
        ("NP <2 NN", Relation("<i", 2)),
        ("NP <-2 NN", Relation("<i", -2)),
        ("NP >1 NN", Relation(">i", 1)),
        ("NP <, NN", Relation("<i", 1)),
        ("NP < (NN)", Relation("<")),
        ("NP <1000 NN", Relation("<i", 1000)),
    ],
)
def test_a_relation_may_have_the_number_of_a_child(text, relation):
    assert parse_pattern(text).child.relation == relation


def test_groups_of_a_label_have_numbers_from_zero():
    assert parse_pattern("/N(.)/#0%x#1%y").label.groups == ((0, "x"), (1, "y"))
    with pytest.raises(PatternError, match="group 2 does not exist; the label has 1"):
        parse_pattern("/N(.)/#2%x")


def test_modifiers_and_brackets_make_conjunctions_and_alternatives():
    both = parse_pattern("NP < A & < B").child
    assert (both.kind, len(both.children)) == ("and", 2) and both == parse_pattern("NP < A < B").child
    either = parse_pattern("NP [< A | < B]").child
    assert (either.kind, len(either.children)) == ("or", 2) and either == parse_pattern("NP < A | < B").child
    assert parse_pattern("NP !< A").child.is_negated and parse_pattern("NP ?< A").child.is_optional
    assert parse_pattern("NP !< A < B=x").child.children[1].name == "x"  # after a negation, names are allowed again
    assert [node.label.text for node in parse_pattern("NP | VP").children] == ["NP", "VP"]


def test_references_and_links_name_nodes_before_them():
    reference = parse_pattern("NP=a < (NN $ =a)").child.child
    assert reference.label == Label("reference", "a") and reference.name is None
    link = parse_pattern("NP=a < @~a=b").child
    assert link.label == Label("link", "a", is_basic=True) and link.name == "b"


@pytest.mark.parametrize(
    ("limit", "pattern", "message"),
    [
        (MAX_NODES, lambda nodes: "NP" + " < NN" * (nodes - 1), f"describes more than {MAX_NODES} nodes"),
        (MAX_GROUPS, lambda groups: "/N/" + "#0%v" * groups, f"sets variables more than {MAX_GROUPS} times"),
        (MAX_GROUP, lambda group: f"NP#{group}%v", "group"),
        (2**31 - 1, lambda child: f"NP <{child} NN", "child"),
        (2**31 - 1, lambda child: f"NP <-{child} NN", "child"),
    ],
)
def test_a_pattern_may_reach_its_limits_but_not_pass_them(limit, pattern, message):
    parse_pattern(pattern(limit))
    with pytest.raises(PatternError, match=message):
        parse_pattern(pattern(limit + 1))
