"""The compiled matcher finds what the definition finds, on random trees with random patterns."""

import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from treecrf.trees.search import CHINESE, COLLINS, Forest, Pattern, PatternError, compiled, fast, forest, heads
from treecrf.trees.search.naive import find_matches
from treecrf.trees.search.relations import RELATIONS, SYNONYMS
from treecrf.trees.tree import BracketError, Tree
from treecrf.trees.treebank import TreebankError

needs_c = pytest.mark.skipif(not compiled.matcher, reason="treecrf was installed without its C code")
LABELS = ["S", "NP", "VP", "NP-SBJ", "NN", "CC", ",", "VBD", "the"]
PLAIN = sorted((set(RELATIONS) | set(SYNONYMS)) - {"<i", ">i", "<+", ">+", ".+", ",+"})
PATHS = ["<+(NP)", ">+(!NP)", ".+(@NP)", ",+(/N/)", ".+(__)", "<+(__)", ",+(__)"]

LABEL_TEXTS = ["NP", "NN|VP", "/^N/", "/N(.*)/#1%x", "@NP", "!NP", "__", "!@NP", "/(.)$/#1%x#0%y", "_ROOT_", "!_ROOT_"]


def random_tree(random: Random, depth: int = 4) -> Tree:
    label = random.choice(LABELS)
    if depth == 0 or random.random() < 0.25:
        return Tree(label, (random.choice(LABELS),))
    return Tree(label, tuple(random_tree(random, depth - 1) for _ in range(random.randint(1, 3))))


def random_trees(random: Random) -> list[Tree]:
    return [random_tree(random) for _ in range(random.randint(1, 3))]


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
        expected = list(find_matches(pattern.expression, forest))
        assert list(fast.find_matches(pattern.program, forest)) == expected, pattern


@needs_c
def test_every_relation_has_the_candidates_of_its_definition():
    forest = Forest([random_tree(Random(seed)) for seed in range(12)])
    for symbol in [*PLAIN, *PATHS, "<2", "<-2", ">2", ">-2"]:
        pattern = Pattern(f"__ {symbol} __=other")
        assert list(fast.find_matches(pattern.program, forest)) == list(find_matches(pattern.expression, forest)), (
            symbol
        )


@needs_c
@pytest.mark.parametrize("seed", range(10))
def test_compiled_code_flattens_trees_as_the_definition_does(seed):
    trees = random_trees(Random(seed)) if seed else []
    assert forest.flatten(trees) == forest.flatten_in_python(trees)


@settings(max_examples=40)
@given(st.lists(strategies.trees(), max_size=4), st.sampled_from([" ", "\n", "", "\t\r\n\f "]))
def test_forests_of_text_are_those_of_its_trees(trees, space):
    text = space.join(map(str, trees))
    forest = Forest.parse(text)
    assert [forest.subtree(start) for start in forest.starts[:-1].tolist()] == trees
    assert len(set(forest.labels)) == len(forest.labels)


@needs_c
@pytest.mark.parametrize("seed", range(10))
def test_compiled_code_reads_brackets_as_the_definition_does(seed):
    trees = random_trees(Random(seed)) if seed else []
    assert forest.parse_columns("\n".join(map(str, trees))) == forest.flatten_in_python(trees)


@pytest.mark.parametrize(
    "text",
    ["(S", "(S)", "S", "(S (A a)))", "(S (A a b))", "(S a (B b))", "(S (B b) a)", "()", "(A)", "(S (A a)) x", "("],
)
def test_text_that_is_not_brackets_is_an_error(text):
    with pytest.raises(BracketError):
        Forest.parse(text)


def test_forests_are_read_in_batches(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text("( (S (A a)) )\n\n(S\n  (B b))\n(S (C c)) (S (D d))\n")
    batches = list(forest.read_forests(path, batch_trees=2))
    assert [len(batch) for batch in batches] == [2, 2]
    assert [str(batch.subtree(0)) for batch in batches] == ["( (S (A a)))", "(S (C c))"]
    path.write_text("(S (A a))\n(S (A a)\n(S (B b))\n")
    with pytest.raises(TreebankError, match=r"trees.mrg:2"):
        list(forest.read_forests(path))


@needs_c
@pytest.mark.parametrize("rules", [COLLINS, CHINESE], ids=["collins", "chinese"])
def test_compiled_code_finds_the_heads_of_the_definition(rules):
    trees = [random_tree(Random(seed)) for seed in range(300)]
    flat = Forest([*trees, Tree.parse("(NP (NP (NN a)) (, ,) (CC and) (NP (NN b)))")])
    arrays = (flat.label_ids, flat.ends, flat.labels, rules)
    np.testing.assert_array_equal(heads.find_heads(*arrays), heads.find_heads_in_python(*arrays))


@settings(max_examples=50)
@given(strategies.trees())
def test_every_subtree_comes_back_from_its_position(tree):
    flat = Forest(tree)
    subtrees = [flat.subtree(position) for position in range(len(flat.ends))]
    assert [subtree for subtree in subtrees if isinstance(subtree, Tree)] == list(tree.walk())
    assert [subtree for subtree in subtrees if isinstance(subtree, str)] == tree.words


def test_search_without_compiled_code_gives_the_same_matches(monkeypatch):
    tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")
    expected = [(match.position, match.positions) for match in Pattern("__ < __=child").find(tree)]
    monkeypatch.setattr(compiled, "matcher", None)
    pattern = Pattern("__ < __=child")
    assert [(match.position, match.positions) for match in pattern.find(tree)] == expected
    assert pattern.count([tree, tree]).matches == 2 * len(expected)


@needs_c
def test_compiled_matcher_refuses_inconsistent_arrays():
    flat, pattern = Forest(Tree.parse("(S (NN a))")), Pattern("S < NN")
    flat.ends = np.array([3, 9, 3], dtype=np.int32)
    with pytest.raises(ValueError, match="inconsistent"):
        fast.match_rows(pattern.program, flat)


def test_a_forest_contains_only_trees():
    with pytest.raises((TypeError, AttributeError)):
        Forest([Tree.parse("(S (NN a))"), 5])  # type: ignore[list-item]


def test_patterns_and_forests_can_be_copied_after_a_search():
    forest, pattern = Forest([random_tree(Random(seed)) for seed in range(5)]), Pattern("NP <# __=head")
    expected = [(match.position, match.positions) for match in pattern.find(forest)]
    copied_forest, copied_pattern = pickle.loads(pickle.dumps((forest, pattern)))
    del forest, pattern
    assert [(match.position, match.positions) for match in copied_pattern.find(copied_forest)] == expected


def test_errors_can_be_pickled():
    error = PatternError("wrong", "NP <", 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
