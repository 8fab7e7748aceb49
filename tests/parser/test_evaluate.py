from dataclasses import replace

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser.evaluate import evaluate_parser
from treecrf.trees.evalb import COLLINS, evaluate
from treecrf.trees.tree import Tree

TREES = toy_trees(30)


def test_both_scores_are_those_of_parsed_trees() -> None:
    parser = random_parser(TREES, tag_head=True)
    scores = evaluate_parser(parser, TREES, rules=replace(COLLINS, max_error=None))
    words, tags = [tree.words for tree in TREES], [tree.tags for tree in TREES]
    assert scores.evalb.sentences == evaluate(TREES, parser.parse_many(words)).sentences
    assert scores.all_sentences.sentences == evaluate(TREES, parser.parse_many(words, tags=tags)).sentences
    assert scores.all_sentences.all.valid == len(TREES) > scores.evalb.all.valid


def test_a_parser_without_tags_is_scored_with_gold_ones() -> None:
    scores = evaluate_parser(random_parser(TREES), TREES)
    assert scores.evalb.sentences == scores.all_sentences.sentences
    assert scores.evalb.all.tagging_accuracy == 100


def test_empty_elements_are_no_words() -> None:
    gold = Tree.parse("( (S (NP-SBJ (-NONE- *)) (VP (VB Wait)) (. .)))")
    assert evaluate_parser(random_parser(TREES), [gold]).all_sentences.all.words == 1


def test_lower_case_is_read_and_the_gold_words_are_compared() -> None:
    trees = [tree for tree in TREES if tree.words[0][0].isupper()]
    parser = random_parser(TREES, tag_head=True)
    scores = evaluate_parser(parser, trees, lowercase=True)
    assert scores.all_sentences.all.errors == 0
    lower = [[word.lower() for word in tree.words] for tree in trees]
    for score, found in zip(scores.all_sentences.sentences, parser.parse_many(lower), strict=True):
        assert score.counts.predicted <= len(found.spans())
    assert scores.all_sentences.sentences != evaluate_parser(parser, trees).all_sentences.sentences
