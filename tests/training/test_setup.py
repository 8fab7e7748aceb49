import pytest

from toygrammar import toy_trees
from treecrf.training import DataConfig
from treecrf.training.setup import TreebankPart
from treecrf.tree import Tree


def test_words_get_their_new_tags_and_trees_stay_as_they_are() -> None:
    tree = Tree.parse("(TOP (S (NP (NNP To)) (VP (VBD went) (PP (IN to) (NP (NN a/b))))))")
    part = TreebankPart(trees=[tree, *toy_trees(5)], files=[("file", 6)])
    retagged = part.retagged(["to/TO", "a/b/SYM"])
    assert str(retagged.trees[0]) == "(TOP (S (NP (TO To)) (VP (VBD went) (PP (TO to) (NP (SYM a/b))))))"
    assert retagged.trees[1:] == part.trees[1:] and retagged.files == part.files
    assert part.retagged([]) is part


@pytest.mark.parametrize("pair", ["to", "/TO", "to/", ""])
def test_a_tag_without_its_word_is_refused(pair: str) -> None:
    with pytest.raises(ValueError, match="expected a word, a slash and its tag"):
        DataConfig(train=("a",), dev=("b",), retag=(pair,))
