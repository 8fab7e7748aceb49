"""The grammar of productions, and the trees of maximal utility under it against the enumeration of all trees."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.decoding.label_grammars import COUNTS, TREES, productions_log_prob
from treecrf.parser.decoding.grammar import NO_CONTEXT, Grammar, ProductionCounts
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.well_formed import count_productions, productions, productions_to_text


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(COUNTS)


def test_the_children_of_every_context_have_a_distribution(grammar: Grammar) -> None:
    for state in range(len(grammar.shorter)):
        probs = [math.exp(grammar.advance(state, symbol)[0]) for symbol in range(grammar.end + 1)]
        assert sum(probs) == pytest.approx(1, abs=1e-9)


def test_probabilities_are_those_of_witten_and_bell(grammar: Grammar) -> None:
    def smooth(context: tuple[str, ...], child: str) -> float:
        """The definition; a context is a label with at most two children before, START before the first child."""
        shorter = smooth((*context[:1], *context[2:]) if context[1:] else (), child) if context else 0.0
        shorter = shorter or 1 / (len(grammar.symbols) + 2)  # all symbols, an unknown one, and the end
        events: Counter[str] = Counter()
        for (label, *children), count in COUNTS.items():
            sequence = ["START", *children, "END"]
            for place in range(1, len(sequence)):
                before = sequence[max(0, place + 1 - max(len(context), 1)) : place]
                if not context or (label, *before) == context:
                    events[sequence[place]] += count
        return (events[child] + len(events) * shorter) / (events.total() + len(events)) if events else shorter

    for label, children in [("NP", ["DT", "NN"]), ("VP", ["VB", "NP"]), ("S", ["VB"]), ("TOP", ["NN", "VB"])]:
        log_prob, sequence = 0.0, ["START", *children, "END"]
        for place in range(1, len(sequence)):
            log_prob += math.log(smooth((label, *sequence[max(0, place - 2) : place]), sequence[place]))
        assert grammar.children_log_prob(label, children) == pytest.approx(log_prob)


def test_labels_have_a_start_state_and_tags_have_none(grammar: Grammar) -> None:
    labels = {label for label, *_ in COUNTS}
    assert len({grammar.start_state(label) for label in labels}) == len(labels)
    assert all(grammar.start_state(label) != NO_CONTEXT for label in labels)
    assert grammar.start_state("NN") == grammar.start_state("unknown") == NO_CONTEXT == 0


def test_frequent_productions_are_more_probable_than_others(grammar: Grammar) -> None:
    assert grammar.children_log_prob("NP", ["DT", "NN"]) > grammar.children_log_prob("NP", ["NN", "DT"])
    good, bad = map(Tree.parse, (TREES[1], "(TOP (S (NP (NN cat)) (VB sat)))"))
    assert productions_log_prob(grammar, good) > productions_log_prob(grammar, bad) > -math.inf
    assert productions_log_prob(grammar, Tree.parse("(TOP (XYZ (ABC cat) (NN dog)))")) > -math.inf


def test_productions_can_be_read_back() -> None:
    tree = Tree("TOP", (Tree("a b", (Tree("(", ("x",)), Tree("", ("y",)))),))
    counts = Counter({**COUNTS, **Counter(productions(tree))})
    assert ProductionCounts(productions_to_text(counts)) == counts
    with pytest.raises(ValueError, match="line 2 is 'NP DT NN'; expected a count, a label, and its"):
        len(ProductionCounts("3 NP NN\nNP DT NN\n"))
    with pytest.raises(ValueError, match="a line does not start with a count"):
        Grammar(ProductionCounts("3 NP NN\nNP DT NN\n"))
    with pytest.raises(ValueError, match="a line has no children"):
        Grammar(ProductionCounts("3 NP NN\n4 NP\n"))


def test_trees_with_violations_are_not_counted() -> None:
    assert not count_productions([Tree.parse("(TOP (S (NP (PRP He)) (VBD left)))")])


SYMBOLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


@given(st.dictionaries(st.lists(SYMBOLS, min_size=2, max_size=3).map(tuple), st.integers(1, 10**11), max_size=5))
def test_counts_are_read_back(counts):
    text = productions_to_text(counts)
    assert dict(ProductionCounts(text)) == counts and bool(ProductionCounts(text)) == bool(counts)


@pytest.mark.parametrize("line", ["", "2", "2 NP", "x NP NN", "1234567890123 NP NN", "-1 NP NN"])
def test_other_lines_are_errors(line):
    with pytest.raises(ValueError, match=r"line 2 is .*; expected a count, a label, and its children"):
        len(ProductionCounts(f"1 NP NN\n{line}\n"))
