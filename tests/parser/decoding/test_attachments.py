"""The reading of many trees at once against the rules applied to one tree."""

from itertools import pairwise

import numpy as np
import pytest

from parser.decoding.attachment_rules import reading
from treecrf.parser.decoding.attachments import Attachments
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import chain_spans, from_spans

LABELS = ("S", "VP", "NP", "PP", "ADJP", "ADVP", "SBAR", "NML", "QP", "X", "CONJP", "S VP", "SBAR S", "NP NP", "WHNP")
TAGS = ("NN", "NNS", "VBD", "VBG", "VBZ", "MD", "TO", "VB", "IN", "DT", "PRP$", "JJ", "RB", "CC", ",")


def keys(trees: list[Tree], is_word: list[bool], *, language: str = "en") -> list[bytes]:
    labels = sorted({span.label for tree in trees for span in chain_spans(tree.spans())})
    tags = sorted({tag for tree in trees for tag in tree.tags})
    attachments = Attachments(labels, tags, language)
    phrases = [
        [((span.start, span.end), labels.index(span.label)) for span in chain_spans(tree.spans())] for tree in trees
    ]
    return attachments.keys(phrases, np.stack([attachments.symbols(tree.tags) for tree in trees]), is_word)


def random_tree(length: int, generator: np.random.Generator) -> Tree:
    """A random tree with a random label, or none, over each span of a random bracketing."""
    spans: list[Span] = []
    pending = [(0, length)]
    while pending:
        start, end = pending.pop()
        if generator.random() < 0.7:
            spans.append(Span(start, end, str(generator.choice(LABELS))))
        if end - start > 1:
            split = int(generator.integers(start + 1, end))
            pending += [(start, split), (split, end)]
    leaves = [Tree(str(tag), (f"w{word}",)) for word, tag in enumerate(generator.choice(TAGS, length))]
    return from_spans(spans, leaves)


@pytest.mark.parametrize("seed", range(40))
def test_many_trees_at_once_have_the_readings_of_the_rules(seed: int) -> None:
    generator = np.random.default_rng(seed)
    length = int(generator.integers(2, 9))
    is_word = [bool(generator.random() < 0.85) for _ in range(length)]
    trees = [random_tree(length, generator) for _ in range(30)]
    found, expected = keys(trees, is_word), [reading(tree, is_word) for tree in trees]
    for (key, value), (other_key, other) in pairwise(sorted(zip(found, expected, strict=True), key=repr)):
        assert (key == other_key) == (value == other)
    rows = [np.frombuffer(key, np.int64).tolist() for key in found]
    assert rows == [[-1 if word is None else 2 * word[0] + word[1] for word in row] for row in expected]


SAME = [
    "(VP (MD can) (VP (VB be) (ADJP (JJ old) (RB here)))) (VP (MD can) (VB be) (ADJP (JJ old) (RB here)))",
    "(S (NP (DT the) (NN man)) (VP (VBD left))) (S (NP (DT the) (NN man)) (VBD left))",
    "(NP (NP (DT a) (NN man)) (PP (IN of) (NP (PRP it)))) (NP (DT a) (NN man) (IN of) (PRP it))",
    "(NP (DT the) (JJ red) (NN car)) (NP (ADJP (DT the) (JJ red)) (NN car))",
    "(NP (JJ old) (NNS men) (CC and) (NNS women)) (NP (JJ old) (NML (NNS men) (CC and) (NNS women)))",
    "(VP (VBZ is) (RB often) (VP (VBN seen) (PP (IN by) (NP (PRP us))))) "
    "(VP (VBZ is) (VP (RB often) (VBN seen) (PP (IN by) (NP (PRP us)))))",
    "(S (NP (PRP It)) (VP (VBZ is) (S (VP (TO to) (VP (VB go) (RB out)))))) "
    "(S (NP (PRP It)) (VP (VBZ is) (VP (TO to) (VP (VB go) (RB out)))))",
    "(SBAR (IN that) (S (NP (NN gas)) (VP (VBZ is) (JJ hot)))) (SBAR (IN that) (NP (NN gas)) (VP (VBZ is) (JJ hot)))",
    "(NP (NP (NN gas)) (VP (VBZ is) (NP (NN hot)))) (S (NP (NN gas)) (VP (VBZ is) (NP (NN hot))))",
    "(NP (JJ old) (NNS men) (CC and) (NNS women)) (NP (NP (JJ old) (NNS men) (CC and)) (NNS women))",
    "(NP (JJ old) (NNS men) (CC and) (NNS women)) (NP (JJ old) (NNS men) (NP (CC and) (NNS women)))",
    "(VP (VBD saw) (S (NP (DT a) (NN man)) (VP (VBG going) (RB out)))) "
    "(VP (VBD saw) (NP (DT a) (NN man)) (VP (VBG going) (RB out)))",
    "(VP (MD can) (VP (VB be) (JJ old) (RB here))) (VP (MD can) (NP (VB be) (JJ old) (RB here)))",
    "(S (NP (JJ old) (NNS men)) (VP (VBD sat) (RB here))) (S (JJ old) (NP (NNS men)) (VP (VBD sat) (RB here)))",
    "(NP (NP (PRP her)) (PP (IN in) (NP (NNP Rome)))) (NP (PRP her) (IN in) (NNP Rome))",
    "(S (NP (NN x)) (, ,) (VP (VBD y) (RB z))) (S (NP (NN x) (, ,)) (VP (VBD y) (RB z)))",
]
OTHER = [
    "(VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN of) (NN it)))) "
    "(VP (VBD saw) (NP (DT a) (NN man)) (PP (IN of) (NN it)))",
    "(NP (JJ old) (NNS men) (CC and) (NNS women)) (NP (NP (JJ old) (NNS men)) (CC and) (NP (NNS women)))",
    "(NP (NP (NNS men) (CC and) (NNS women)) (PP (IN of) (NN it))) "
    "(NP (NP (NNS men)) (CC and) (NP (NP (NNS women)) (PP (IN of) (NN it))))",
    "(VP (VBD saw) (NP (PRP$ her) (NN duck))) (VP (VBD saw) (S (NP (PRP her)) (VP (VB duck))))",
    "(VP (VBD hoped) (S (VP (TO to) (VP (VB go) (PP (IN on) (NN Friday)))))) "
    "(VP (VBD hoped) (S (VP (TO to) (VP (VB go)))) (PP (IN on) (NN Friday)))",
    "(VP (VBP are) (VP (VBG cooking) (NP (NNS apples)))) (VP (VBP are) (NP (VBG cooking) (NNS apples)))",
    "(VP (VBD heard) (NP (PRP$ her) (VB cry))) (VP (VBD heard) (S (NP (PRP her)) (VP (VB cry))))",
    "(NP (ADJP (RBR more) (JJ modern)) (NN art)) (NP (RBR more) (JJ modern) (NN art))",
    "(VP (VBD looked) (PP (IN up) (NP (DT a) (NN word)))) (VP (VBD looked) (PRT (RP up)) (NP (DT a) (NN word)))",
]


def both(text: str) -> list[Tree]:
    return Tree.parse(f"(TOP {text})").child_trees


@pytest.mark.parametrize(("text", "is_same"), [*((text, True) for text in SAME), *((text, False) for text in OTHER)])
def test_two_trees_are_the_same_reading_if_their_attachments_are(text: str, is_same: bool) -> None:
    trees = [Tree("TOP", (tree,)) for tree in both(text)]
    is_word = [any(map(str.isalnum, word)) for word in trees[0].words]
    first, second = keys(trees, is_word)
    assert (first == second) == is_same == (reading(trees[0], is_word) == reading(trees[1], is_word))


def test_other_languages_have_the_first_word_as_head() -> None:
    flat, nested, other = (
        Tree.parse(f"(TOP {text})")
        for text in (
            "(sn (d la) (n casa) (sp (s de) (n Ana)))",
            "(sn (sn (d la) (n casa)) (sp (s de) (n Ana)))",
            "(sn (d la) (sn (n casa) (sp (s de) (n Ana))))",
        )
    )
    first, second, third = keys([flat, nested, other], [True] * 4, language="es")
    assert first == second != third
