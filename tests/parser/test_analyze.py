"""`Parser.analyze` and the threshold of expected-F1 decoding."""

import math
from pathlib import Path

import pytest

from small import FIFTY, random_parser
from treecrf import Constraints, Parser, Tree, read_trees

TREES = list(read_trees(FIFTY))
SENTENCES = [tree.words for tree in TREES]


def parser_with(threshold: float, **model: object) -> Parser:
    parser = random_parser(TREES, **model)
    parser.f1_threshold = threshold
    return parser


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf", "one-stage-margin"])
@pytest.mark.parametrize("mbr", [True, False])
def test_the_tree_equals_that_of_parse(loss: str, mbr: bool) -> None:
    parser = random_parser(TREES, loss=loss, tag_head=True)
    analyses = list(parser.analyze_many(SENTENCES, k=0, mbr=mbr, batch_words=60))
    assert [analysis.tree for analysis in analyses] == list(parser.parse_many(SENTENCES, mbr=mbr))
    for words, analysis in zip(SENTENCES[:10], analyses, strict=False):
        crf = parser.crf(words)
        assert analysis.entropy == pytest.approx(crf.entropy.item(), abs=1e-3)
        assert all(math.exp(analysis.log_prob) <= c.probability + 1e-9 for c in analysis.constituents)


def test_trees_do_not_depend_on_the_batch_and_analyses_have_the_same() -> None:
    parser = parser_with(0.35)
    together = list(parser.parse_many(SENTENCES))
    assert together == [parser.parse(words) for words in SENTENCES]
    assert together == [analysis.tree for analysis in parser.analyze_many(SENTENCES)]
    assert list(map(str, together)) == list(parser.brackets_many(SENTENCES))


def test_a_threshold_of_zero_is_the_papers_mbr() -> None:
    parser = random_parser(TREES)
    before = list(parser.parse_many(SENTENCES))
    parser.f1_threshold = 0.4
    assert parser.f1_threshold == 0.4 and list(parser.parse_many(SENTENCES)) != before
    parser.f1_threshold = 0.0
    assert list(parser.parse_many(SENTENCES)) == before


def test_the_threshold_is_saved_with_the_parser(tmp_path: Path) -> None:
    parser = parser_with(0.4)
    parser.save(tmp_path / "parser")
    again = Parser.load(tmp_path / "parser", "cpu", precision="float32")
    assert again.f1_threshold == 0.4 and list(again.parse_many(SENTENCES)) == list(parser.parse_many(SENTENCES))


@pytest.mark.parametrize("threshold", [0.3, 0.9])
def test_constraints_hold_with_any_threshold(threshold: float) -> None:
    parser = parser_with(threshold)
    for words in [words for words in SENTENCES if len(words) > 3][:10]:
        tree = parser.parse(words, constraints=Constraints(require=[(1, 3, "NP")], forbid=[(0, 1)]))
        assert (1, 3, "NP") in tree.spans()
        assert not any(span[:2] == (0, 1) for span in tree.spans())


def test_impossible_requests_are_errors() -> None:
    parser = random_parser(TREES)
    with pytest.raises(ValueError, match="k is -1"):
        parser.analyze(["a"], k=-1)
    with pytest.raises(ValueError, match="sentence 0 has no words"):
        parser.analyze([])
    with pytest.raises(ValueError, match="shorter"):
        list(parser.parse_many([["a"]], constraints=[]))
    with pytest.raises(ValueError, match=r"sentence 1: require XP over .*no such label"):
        list(parser.parse_many([["a"], ["b"]], constraints=[None, Constraints(require=[(0, 1, "XP")])]))


REPEATED = [Tree.parse(text) for text in ("(TOP (NP (NP (N a) (N b))))", "(TOP (NP (N b)))", "(TOP (S (NP (N a))))")]


def test_calibrated_probabilities_of_trees_sum_to_at_most_1() -> None:
    parser = Parser.load("en", "cpu")
    for words in ("It saw a bird in the tree .", "The old man saw the girl with the telescope .", "She sang ."):
        analysis = parser.analyze(words.split(), k=10)
        others = [other.calibrated for other in analysis.alternatives if other.tree.spans() != analysis.tree.spans()]
        assert analysis.calibrated + sum(others) < 1 + 1e-9
        assert analysis.calibrated == parser.analyze(words.split(), k=0).calibrated


def test_alternatives_repeat_a_label_over_the_same_words_only_if_the_parser_allows_it(tmp_path: Path) -> None:
    parser = random_parser(REPEATED)
    parser.same_label_unaries = False
    parser.save(tmp_path / "parser")
    for plain in (parser, Parser.load(tmp_path / "parser", "cpu", precision="float32")):
        alternatives = plain.analyze(["a", "b"], k=20).alternatives
        assert alternatives and not any(is_repeating(other.tree) for other in alternatives)


def is_repeating(tree: Tree) -> bool:
    return any([child.label for child in node.child_trees] == [node.label] for node in tree.walk())
