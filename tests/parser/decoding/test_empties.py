"""Empty elements of decoded trees, from a network with chosen weights."""

import numpy as np
import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.arrays import AnyArray
from treecrf.files import DamagedFileError
from treecrf.network.runtime.constituent_scorer import weight_shapes
from treecrf.parser import Parser
from treecrf.parser.decoding.empties import CONTEXTS, TEMPLATES
from treecrf.parser.decoding.gaps import EXTRA_SYMBOLS, SYMBOLS, WORDS
from treecrf.trees.placed_nodes import place_nodes

TREES = toy_trees(30, seed=3)
SENTENCES = [tree.words for tree in TREES]
CLASSES = ["", "(NP-SBJ (-NONE- *PRO*@^S0))", "(SBAR (-NONE- 0) (S (-NONE- *T*@<NP0))) (-NONE- *U*)"]


def arrays_of(parser: Parser, seed: int = 1) -> dict[str, AnyArray]:
    """Random weights with three classes, for all gaps."""
    size = parser.full_tree_builder.symbols.size
    symbols = (len(SYMBOLS), size + EXTRA_SYMBOLS)
    shapes = weight_shapes(width=48, size=16, roles=len(WORDS), symbols=symbols, classes=len(CLASSES), schemes=1)
    random = np.random.default_rng(seed)
    arrays: dict[str, AnyArray] = {name: random.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    contexts = np.arange(size**3, dtype=np.int32)
    return arrays | {TEMPLATES: np.frombuffer("\n".join(CLASSES).encode(), np.uint8), CONTEXTS: contexts}


def with_empties(parser: Parser, **changes: AnyArray) -> Parser:
    arrays = {"empties": arrays_of(parser) | changes}
    return Parser(parser.scorer, parser.vocabulary, parser.config, arrays=arrays)


@pytest.fixture(scope="module", params=[False, True])
def parser(request: pytest.FixtureRequest) -> Parser:
    return with_empties(random_parser(TREES, tag_head=request.param))


def test_empty_elements_are_the_only_difference_from_plain_trees(parser: Parser) -> None:
    plain, full = list(parser.parse_many(SENTENCES)), list(parser.parse_many(SENTENCES, empties=True))
    assert [tree.plain() for tree in full] == plain
    kinds = {node.kind for tree in full for node in tree.empties()}
    assert kinds == {"*PRO*", "0", "*T*", "*U*"}
    assert not any(node.functions for tree in full for node in tree.walk())  # without functions, inserted ones too
    assert list(parser.brackets_many(SENTENCES, empties=True)) == [str(tree) for tree in full]
    assert [analysis.tree for analysis in parser.analyze_many(SENTENCES[:9], empties=True)] == full[:9]


def test_indices_connect_elements_with_antecedents_of_their_templates(parser: Parser) -> None:
    connected = 0
    for tree in parser.parse_many(SENTENCES, empties=True):
        nodes = place_nodes(tree)
        for node in (node for node in nodes if node.tree.is_empty and node.tree.index is not None):
            (antecedent,) = (
                other for other in nodes if other.tree.index == node.tree.index and not other.tree.is_empty
            )
            is_above = antecedent in [*node.ancestors()]
            assert antecedent.tree.category == ("S" if node.tree.kind == "*PRO*" else "NP")
            assert is_above if node.tree.kind == "*PRO*" else antecedent.end <= node.start
            connected += 1
    assert connected


def test_only_gaps_in_given_contexts_are_filled() -> None:
    parser = random_parser(TREES, tag_head=True)
    symbols = parser.full_tree_builder.symbols
    plain = list(parser.parse_many(SENTENCES))
    category = next(node.category for tree in plain for node in tree.walk() if not node.is_leaf and node is not tree)
    number = parser.full_tree_builder.label_chains.categories.index(category)
    first_child = number * symbols.size**2 + symbols.none * symbols.size
    contexts = np.arange(first_child, first_child + symbols.size, dtype=np.int32)
    parser = with_empties(parser, **{CONTEXTS: contexts})
    found = [
        (node.tree.category, [child.words != [] for child in node.tree.child_trees])
        for tree in parser.parse_many(SENTENCES, empties=True)
        for node in place_nodes(tree)
        if node.start < node.end and any(not child.words for child in node.tree.child_trees)
    ]
    assert found and {name for name, _ in found} == {category}
    assert all(has_words == sorted(has_words) for _, has_words in found)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({CONTEXTS: np.array([3, 2])}, "sorted numbers"),
        ({TEMPLATES: np.frombuffer(b"\n(NP\n(S (-NONE- 0))", np.uint8)}, "missing at the end"),
        ({"schemes": np.zeros((2, 16), np.float16)}, "'schemes' has shape"),
    ],
)
def test_damaged_files_are_refused(changes: dict[str, AnyArray], message: str) -> None:
    parser = with_empties(random_parser(TREES, tag_head=True), **changes)
    with pytest.raises(DamagedFileError, match=message):
        parser.parse(SENTENCES[0], empties=True)


def test_a_model_without_empty_elements_says_so() -> None:
    with pytest.raises(ValueError, match="predicts no empty elements"):
        random_parser(TREES, tag_head=True).parse(SENTENCES[0], empties=True)
