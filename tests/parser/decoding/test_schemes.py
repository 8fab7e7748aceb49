"""What annotation schemes exclude."""

import numpy as np
import pytest

from treecrf.parser.decoding.schemes import Scheme, scheme_arrays
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.well_formed import count_productions

LABELS = ("NP", "NML", "NP NML", "S VP", "")
TAGS = ("NN", "HYPH", "VB")
ONE = [Tree.parse("(TOP (NP (NML (NN bar) (HYPH -) (NN code)) (NN scanner)))")] * 20
TWO = [Tree.parse("(TOP (NP (NN bar) (NN code) (NN scanner)))")] * 20 + [Tree.parse("(TOP (S (VP (VB run))))")]


@pytest.fixture(scope="module")
def schemes() -> dict[str, Scheme]:
    arrays, counts = scheme_arrays({"one": ONE, "two": TWO}), count_productions(ONE + TWO)
    return {name: Scheme.load(name, arrays, counts, LABELS, TAGS) for name in ("one", "two")}


def excluded(names: tuple[str, ...], offsets: np.ndarray) -> set[str]:
    return {name for name, offset in zip(names, offsets.tolist(), strict=True) if offset < 0}


def test_a_scheme_excludes_the_labels_and_tags_that_only_others_have(schemes: dict[str, Scheme]) -> None:
    assert excluded(LABELS, schemes["two"].labels) == {"NML", "NP NML"}
    assert excluded(TAGS, schemes["two"].tags) == {"HYPH"}
    assert excluded(LABELS, schemes["one"].labels) == {"S VP"}
    assert excluded(TAGS, schemes["one"].tags) == {"VB"}


def test_the_grammar_of_a_scheme_has_its_own_productions_more_often(schemes: dict[str, Scheme]) -> None:
    flat, nested, rare = ("NP", "NN", "NN", "NN"), ("NP", "NML", "NN"), ("VP", "VB")
    assert flat not in schemes["one"].productions
    assert nested not in schemes["two"].productions
    assert schemes["one"].productions[nested] > 8
    assert schemes["one"].productions[rare] == 1  # too rare to be a matter of convention


def test_what_most_of_the_schemes_have_is_not_excluded() -> None:
    arrays = scheme_arrays({"one": ONE, "two": TWO, "three": ONE})
    scheme = Scheme.load("two", arrays, count_productions(ONE * 2 + TWO), LABELS, TAGS)
    assert not excluded(TAGS, scheme.tags)
