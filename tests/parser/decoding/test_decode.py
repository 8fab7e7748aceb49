"""Decoding of random scores, on the host and on a device."""

import numpy as np
import pytest
import torch

from parser.decoding.decoded import parts, utility
from parser.decoding.label_grammars import COUNTS, with_grammar
from parser.decoding.label_grammars import LABELS as GRAMMAR_LABELS
from parser.decoding.random_scores import LABELS, LOSSES, random_scores, select_sentence
from small import random_parser
from toygrammar import toy_trees
from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF
from treecrf.parser import Parser
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.decode import BracketDistribution, span_potentials
from treecrf.parser.decoding.expected_f1 import find_candidates
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.log_space import logsumexp
from treecrf.text import tokenize
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.bracket_writer import FlatTrees

LENGTHS = [7, 1, 12, 3, 2, 20]
UTILITIES = [None, 0.2, 0.45, 0.9]


@pytest.mark.parametrize("threshold", UTILITIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mbr", [True, False])
def test_a_sentence_has_the_same_tree_alone_and_in_a_batch(mbr, loss, threshold):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, tags=4)
    decoded = decode(scores, mbr=mbr, expected_f1=utility(threshold))
    sentences = [select_sentence(scores, number) for number in range(len(LENGTHS))]
    alone = [decode(sentence, mbr=mbr, expected_f1=utility(threshold)) for sentence in sentences]
    assert parts(FlatTrees.concatenate(alone)) == parts(decoded)


def test_mbr_and_the_best_tree_are_the_best_of_all_trees():
    scores = random_scores([6], labels=len(LABELS), seed=4)
    marginals = BracketDistribution.of(scores).marginals[0]
    for mbr, chart in ((True, marginals), (False, scores.spans[0])):
        all_trees, _ = naive.tree_scores(torch.from_numpy(np.nan_to_num(chart)).double(), 6)
        decoded = decode(scores, mbr=mbr)
        expected = all_trees[0].nonzero().tolist()
        assert [list(span) for span in zip(decoded.starts, decoded.ends, strict=True)] == expected
        cells = decoded.starts * 7 + decoded.ends
        assert decoded.labels.tolist() == scores.labels_at(cells).argmax(-1).tolist()


def test_the_best_labeled_tree_is_the_best_of_all_trees():
    scores = random_scores([6], labels=len(LABELS), loss="one-stage-crf", seed=4, scale=2.0)
    marginals = BracketDistribution.of(scores).marginals[0]
    best_labels = scores.labels[0].max(-1)
    for mbr, chart in ((True, marginals * np.exp(best_labels - scores.spans[0])), (False, best_labels)):
        all_trees, _ = naive.tree_scores(torch.from_numpy(np.nan_to_num(chart)).double(), 6)
        decoded = decode(scores, mbr=mbr)
        expected = all_trees[0].nonzero().tolist()
        assert [list(span) for span in zip(decoded.starts, decoded.ends, strict=True)] == expected


def test_decoding_maximizes_the_expected_spans_by_default():
    scores = random_scores([12], labels=len(LABELS), tags=3, seed=1)
    assert parts(decode(scores)) == parts(decode(scores, mbr=True)) != parts(decode(scores, mbr=False))
    distribution = BracketDistribution.of(scores)
    assert parts(decode(scores, distribution=distribution)) == parts(decode(scores))


def test_a_grammar_searches_the_candidates():
    expected_f1 = with_grammar(Grammar(COUNTS))
    scores = random_scores(LENGTHS, labels=len(GRAMMAR_LABELS), tags=3, seed=8)
    candidates = find_candidates(scores, BracketDistribution.of(scores).marginals, expected_f1)
    decoded = decode(scores, expected_f1=expected_f1)
    assert parts(decoded) == parts(expected_f1.grammar.best_trees(candidates))
    assert len(decoded.starts) == sum(2 * length - 1 for length in LENGTHS)


@pytest.mark.parametrize("mbr", [True, False])
def test_forbidden_spans_are_in_no_tree(mbr):
    scores = random_scores([6, 4], labels=len(LABELS), seed=4)
    constraints = [None, Constraints(require=[(1, 3)])]
    constrained = apply_constraints(scores, constraints, LabelSet(LABELS), "TOP", numbers=[0, 1])
    decoded = decode(constrained, mbr=mbr)
    spans = list(zip(decoded.starts.tolist(), decoded.ends.tolist(), strict=True))
    free = decode(scores, mbr=mbr)
    assert spans[:11] == list(zip(free.starts.tolist(), free.ends.tolist(), strict=True))[:11]
    assert (1, 3) in spans[11:] and LABELS[decoded.labels[11 + spans[11:].index((1, 3))]] in ("S", "NP", "S VP")


TREES = toy_trees(40, seed=3)


SENTENCES = [tree.words for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES)


def test_given_tags_appear_in_the_tree(parser: Parser) -> None:
    tags = [tree.tags for tree in TREES]
    assert [tree.tags for tree in parser.parse_many(SENTENCES, tags=tags)] == tags


def test_a_tag_head_tags_and_given_tags_come_first() -> None:
    tagger = random_parser(TREES, tag_head=True)
    trees = list(tagger.parse_many(SENTENCES))
    assert {tag for tree in trees for tag in tree.tags} <= set(tagger.vocabulary.tags)
    assert len({tag for tree in trees for tag in tree.tags}) > 1
    tags = [tree.tags for tree in TREES]
    assert [tree.tags for tree in tagger.parse_many(SENTENCES, tags=tags)] == tags


def test_words_and_sentences_without_a_tag_get_the_predicted_one() -> None:
    tagger = random_parser(TREES, tag_head=True)
    words = SENTENCES[0]
    predicted = tagger.parse(words).tags
    some, none = tagger.parse_many([words, words], tags=[["X", *[None] * (len(words) - 1)], None])
    assert some.tags == ["X", *predicted[1:]]
    assert none.tags == predicted
    assert random_parser(TREES).parse(["a", "cat"], tags=[None, "NN"]).tags == ["_", "NN"]


@pytest.mark.parametrize("model", [{}, {"tag_head": True}, {"loss": "one-stage-margin"}])
def test_brackets_are_those_of_the_trees(model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    parser.root = "(ROOT"
    sentences = [*SENTENCES, ["("], ["\x85", "a b", "\ud800"], *map(tokenize, ["(Ada) sang.", "Well."])]
    trees = list(map(str, parser.parse_many(sentences)))
    assert list(parser.brackets_many(sentences, batch_words=50, window=7)) == trees
    shown = [line.replace(r"\u{28}", "-LRB-").replace(r"\u{29}", "-RRB-") for line in trees]
    assert list(parser.brackets_many(sentences, exact=False)) == shown
    windows = [sentences[:9], [], sentences[9:], []]
    keys = ["a", None, 3, "a"]
    keyed = list(parser.brackets_by_key((key, window, {}) for key, window in zip(keys, windows, strict=True)))
    assert keyed == list(zip(keys, [trees[:9], [], trees[9:], []], strict=True))


def test_brackets_have_given_tags_and_meet_constraints(parser: Parser) -> None:
    tags = [[None, *tree.tags[1:]] for tree in TREES]
    constraints = [Constraints(require=[(1, 3)]) if len(tree.words) > 3 else None for tree in TREES]
    options = {"tags": tags, "constraints": constraints}
    expected = list(map(str, parser.parse_many(SENTENCES, **options)))
    assert list(parser.brackets_many(SENTENCES, **options)) == expected
    assert list(parser.brackets_many(SENTENCES, tags=tags)) != expected


LENGTHS = [7, 1, 12, 3, 2, 20]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_distribution_over_bracketings_equals_that_of_the_torch_crf(loss):
    scores = random_scores(LENGTHS, labels=len(LABELS), loss=loss, seed=2)
    distribution = BracketDistribution.of(scores)
    spans = scores.spans if scores.labels is None else logsumexp(scores.labels).astype(np.float32)
    crf = SpanCRF(torch.from_numpy(spans), scores.lengths, validate=False)
    np.testing.assert_allclose(distribution.log_z, crf.log_partition.numpy(), rtol=1e-6)
    np.testing.assert_allclose(distribution.marginals, crf.marginals.numpy(), rtol=1e-4, atol=1e-6)
    assert distribution.entropies == pytest.approx(crf.entropy.tolist(), rel=1e-4, abs=1e-4)


def test_the_rows_of_a_sentence_are_probabilities_of_its_spans():
    distribution = BracketDistribution.of(random_scores([3, 1], labels=2))
    first, second = distribution.rows()
    chart = distribution.marginals[0]
    assert [len(row) for row in first] == [3, 2, 1] and second == ([1.0],)
    assert [row[0] for row in first] == [1.0, 1.0, 1.0] and first[0][2] == 1.0
    assert (first[0][1], first[1][1]) == (chart[0, 2], chart[1, 3]) and first[0][1] + first[1][1] == pytest.approx(1)


def test_the_entropy_equals_that_of_the_enumeration():
    scores = random_scores([1, 4, 6], labels=2, seed=3)
    charts, lengths = torch.from_numpy(np.nan_to_num(scores.spans)).double(), torch.from_numpy(scores.lengths)
    assert BracketDistribution.of(scores).entropies == pytest.approx(naive.entropy(charts, lengths).tolist(), abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_potentials_of_spans_are_the_scores_of_a_crf_and_sums_over_labels_of_a_margin(loss: str) -> None:
    scores = random_scores([3], labels=4, loss=loss)
    expected = logsumexp(scores.labels) if loss == "one-stage-margin" else scores.spans
    np.testing.assert_allclose(span_potentials(scores), expected, rtol=1e-6)
