import pickle
import signal
import threading
from random import Random

import pytest

from treecrf.trees.search import Forest, MatchCounts, Pattern, time_limit
from treecrf.trees.tree import Tree
from trees.search.random_trees import random_tree


def test_patterns_and_forests_can_be_copied_after_a_search():
    forest, pattern = Forest([random_tree(Random(seed)) for seed in range(5)]), Pattern("NP <# __=head")
    expected = [(match.position, match.positions) for match in pattern.find(forest)]
    copied_forest, copied_pattern = pickle.loads(pickle.dumps((forest, pattern)))
    del forest, pattern
    assert [(match.position, match.positions) for match in copied_pattern.find(copied_forest)] == expected


TREE = Tree.parse(
    "(TOP (S (NP-SBJ (NP (DT the) (JJ old) (NN cat)) (PP (IN of) (NP (NNP Kim))))"
    " (VP (VBD saw) (NP (NP (DT a) (NN bird)) (CC and) (NP (DT a) (NN mouse)))) (. .)))"
)


def test_matches_come_in_the_order_of_tregex():
    tree = Tree.parse("(S (A (B b) (C c)) (D d) (E (F f)))")
    spans = [str(match["x"]) for match in tree.search("B .. __=x")]
    assert spans == ["(D d)", "d", "(E (F f))", "(F f)", "f", "(C c)", "c"]  # sisters of the highest ancestor first
    assert [str(match["x"]) for match in tree.search("A $++ __=x")] == ["(E (F f))", "(D d)"]  # from the right


def test_a_match_has_its_node_its_names_and_its_place():
    [match] = TREE.search("NN=noun , (JJ=adjective < /^(.)/#1%initial)")
    assert (str(match.node), match.span, match.tree_number) == ("(NN cat)", (2, 3), 0)
    assert {name: str(node) for name, node in match.names.items()} == {"noun": "(NN cat)", "adjective": "(JJ old)"}
    assert match.variables == {"initial": "o"}
    [word] = TREE.search("/^mouse$/")
    assert word.node == "mouse"
    with pytest.raises(KeyError, match="the names are noun, adjective"):
        match["verb"]


def test_several_trees_are_counted_together():
    trees = [TREE, Tree.parse("(TOP (NP (NN cat)))")]
    assert Pattern("@NP << NN").count(trees) == MatchCounts(matches=7, nodes=6, trees=2)
    assert Pattern("@NP << NN").count_by_tree(trees).tolist() == [6, 1]
    assert Pattern("ADJP").count(trees) == MatchCounts(0, 0, 0)
    assert Pattern("NP").count([]) == MatchCounts(0, 0, 0)


needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarm signal")


@needs_alarm
def test_a_block_that_takes_too_long_is_interrupted_and_the_alarm_is_removed():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeoutError, match=r"more than 0\.01 seconds"), time_limit(0.01):
        while True:
            pass
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@needs_alarm
def test_a_quick_block_is_not_interrupted():
    with time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@needs_alarm
@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_limit_is_a_positive_number(seconds):
    with pytest.raises(ValueError, match="expected a positive number"), time_limit(seconds):
        pass


@needs_alarm
def test_a_limit_needs_the_main_thread():
    errors = []

    def search():
        try:
            with time_limit(1):
                pass
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert "main thread" in errors[0]


def test_patterns_have_a_text_and_names():
    pattern = Pattern("NP=a < (NN=b $ DT)")
    assert repr(pattern) == "Pattern('NP=a < (NN=b $ DT)')" and pattern.names == ("a", "b")


def test_a_match_knows_its_tree():
    trees = [TREE, Tree.parse("(TOP (NP (NN dog)))")]
    assert [match.tree for match in Pattern("/^dog$|^old$/").find(trees)] == trees


def test_the_definition_replaces_missing_compiled_code(monkeypatch):
    trees, pattern = [TREE, Tree.parse("(TOP (NP (NN cat)))")], Pattern("@NP << NN=n")
    expected = [(match.position, match.positions) for match in pattern.find(trees)]
    counts = pattern.count(trees)
    monkeypatch.setattr("treecrf.trees.search.compiled.matcher", None)
    assert [(match.position, match.positions) for match in pattern.find(trees)] == expected
    assert pattern.count(trees) == counts == (len(expected), 6, 2)
    assert pattern.count_by_tree(trees, nodes=True).tolist() == [5, 1]
