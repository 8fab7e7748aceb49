import pytest

from small import FIFTY, random_parser
from treecrf.corpus.measures import MEASURES, measure_samples, measure_text, measure_trees
from treecrf.parser import Parser
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = list(read_trees(FIFTY))


@pytest.fixture(scope="module")
def parser():
    return random_parser(TREES, tag_head=True)


def values(trees, names=tuple(MEASURES)):
    measures = measure_trees(trees)
    return {name: measures[name].value for name in names}


def test_function_tags_empty_elements_and_roots_do_not_matter():
    text = "( (S (NP-SBJ-1 (PRP We)) (VP (VBD tried) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go)))))))"
    bare = "(S (NP (PRP We)) (VP (VBD tried) (S (VP (TO to) (VP (VB go))))))"
    assert values([Tree.parse(text)]) == values([Tree.parse(bare)]) == values([Tree.parse(f"(ROOT {bare})")])


def test_a_text_without_sentences_has_only_zeros(parser):
    measures = measure_text(parser, " \n\n ")
    assert {measure.value for measure in measures.values()} == {0.0}


def test_an_endless_sentence_is_an_error(parser):
    with pytest.raises(ValueError, match="sentence 2 has 2,001 words, from character 5 on; expected at most 2,000"):
        measure_text(parser, "No.\n\n" + "a " * 2001)


def test_other_languages_have_no_l2sca(parser):
    (samples,) = parser.sample_many([["a", "b"]], 2)
    assert [*measure_samples([samples], language="zh")][:4] == ["W", "S", "MLS", "nodes"]


def test_the_intervals_of_a_text_have_the_factors_of_its_model(tmp_path):
    random_parser(TREES, tag_head=True).save(tmp_path)
    text = " ".join(TREES[3].words)
    plain = measure_text(Parser.load(tmp_path, "cpu"), text, samples=20)["depth"]
    (tmp_path / "measures.json").write_text('{"error_factors": {"depth": [3.0, 0.0, 0.0]}}')
    wide = measure_text(Parser.load(tmp_path, "cpu"), text, samples=20)["depth"]
    assert plain.interval is not None and wide.interval is not None
    assert wide.interval.high - wide.value == pytest.approx(3 * (plain.interval.high - plain.value))
    assert wide.interval.high > plain.interval.high
