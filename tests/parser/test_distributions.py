import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf import Constraints, Tree
from treecrf.parser import Parser


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf", "one-stage-margin"])
def test_a_parser_gives_the_distribution_of_its_log_probs(loss: str) -> None:
    parser = random_parser(toy_trees(20), loss=loss)
    trees = [tree for tree in toy_trees(6, seed=2)]
    crf = parser.distribution_many([tree.words for tree in trees])
    log_probs = crf.log_prob(parser.charts(trees)).tolist()
    assert log_probs == pytest.approx([parser.log_prob(tree) for tree in trees], abs=1e-4)
    best = parser.trees(crf.argmax, [tree.words for tree in trees])
    assert [parser.log_prob(tree) for tree in best] == pytest.approx(crf.log_prob(crf.argmax).tolist(), abs=1e-4)
    constraint = Constraints(require=[(0, 2)])
    given = parser.distribution(trees[0].words, constraints=constraint)
    assert parser.trees(given.sample(), [trees[0].words])[0].spans()[0].start == 0
    assert given.log_prob(given.argmax).item() == pytest.approx(
        parser.log_prob(*parser.trees(given.argmax, [trees[0].words]), constraints=constraint), abs=1e-4
    )
    with pytest.raises(ValueError, match="which is no label of the model"):
        parser.charts([Tree.parse("(TOP (QQ (X a) (X b)))")])


def test_a_model_of_all_derivations_has_no_tensors() -> None:
    parser = random_parser(toy_trees(20), loss="tree")
    with pytest.raises(ValueError, match="sums over all derivations of a tree"):
        parser.distribution(["a", "b"])


def test_en_gives_the_distribution_of_its_log_probs() -> None:
    parser = Parser.load("en", "cpu")
    for text in ("Yes.", "The old man saw the girl with the telescope."):
        tree = parser.parse(text)
        crf = parser.distribution(tree.words)
        assert crf.log_prob(parser.charts([tree])).item() == pytest.approx(parser.log_prob(tree), abs=1e-4)
