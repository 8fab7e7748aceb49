import itertools
import math

import pytest
import torch

from small import FIFTY, random_parser
from treecrf import Tree, from_spans, read_trees
from treecrf.calibration.predictions import gather, scored, tree_log_probs
from treecrf.decoding.analysis import bracket_crf
from treecrf.tree import Span
from treecrf.treebank.binarize import LabelSet

TREES = list(read_trees(FIFTY))
SMALL = [Tree.parse("(TOP (S (NP (DT a) (NN b)) (VP (VB c))))"), Tree.parse("(TOP (NP (DT a) (JJ b) (NN c)))")]


def every_tree(words):
    """The brackets of every binary tree over some words."""

    def over(start, end):
        if end - start == 1:
            return [[(start, end)]]
        splits = ((over(start, middle), over(middle, end)) for middle in range(start + 1, end))
        return [[*left, *right, (start, end)] for lefts, rights in splits for left in lefts for right in rights]

    return over(0, words)


@pytest.mark.parametrize("loss", ["two-stage", "one-stage-crf"])
def test_the_probability_of_a_tree_is_that_of_all_binary_trees_that_make_it(loss):
    parser = random_parser(SMALL, loss=loss)
    strings = parser.vocabulary.labels
    ((scores, gold),) = scored(parser, [SMALL[0]])
    crf = bracket_crf(scores)
    sums: dict[Tree, float] = {}
    with torch.no_grad():
        for brackets in every_tree(3):
            chart = torch.zeros_like(scores.spans, dtype=torch.bool)
            for start, end in brackets:
                chart[0, start, end] = True
            of_brackets = crf.log_prob(chart).item()
            posteriors = {cell: dict(zip(strings, _posterior(scores, cell), strict=True)) for cell in brackets}
            for labels in itertools.product(strings, repeat=len(brackets)):
                spans = [Span(*cell, label) for cell, label in zip(brackets, labels, strict=True)]
                tree = from_spans(spans, gold[0].leaves(), "TOP")
                log_prob = of_brackets + sum(posteriors[span[:2]][span.label] for span in spans)
                sums[tree] = sums.get(tree, 0.0) + math.exp(log_prob)
        assert sum(sums.values()) == pytest.approx(1, abs=1e-4)
        for tree in sorted(sums, key=sums.__getitem__, reverse=True)[:20]:
            found = tree_log_probs(scores, crf, [tree], LabelSet(strings)).exp().item()
            assert found == pytest.approx(sums[tree], rel=1e-3, abs=1e-6)


def _posterior(scores, cell):
    from treecrf.data.batch import Spans

    size = scores.spans.shape[1]
    return scores.labels_at(Spans.at(torch.tensor([cell[0] * size + cell[1]]), size)).log_softmax(-1)[0].tolist()


def test_evidence_agrees_with_what_the_parser_says():
    parser = random_parser(TREES)
    evidence = gather(parser, TREES[:7])
    said = sorted(
        constituent.probability
        for tree in TREES[:7]
        for constituent in parser.analyze(tree.words, tags=tree.tags).constituents
        if (constituent.start, constituent.end, constituent.label) != (0, len(tree.words), "TOP")
    )
    assert sorted(evidence.labelled.probabilities) == pytest.approx(said, abs=1e-4)
    assert len(evidence.trees.right) == len(evidence.counts) == 7
    assert sum(evidence.labelled.right) == sum(matched for _, _, matched in evidence.counts)


def test_a_constituent_is_as_probable_without_its_label_at_least():
    evidence = gather(random_parser(TREES), TREES)
    assert sum(evidence.unlabelled.right) / len(evidence.unlabelled.right) >= (
        sum(evidence.labelled.right) / len(evidence.labelled.right)
    )
    assert 0 <= min(evidence.trees.probabilities) <= max(evidence.trees.probabilities) <= 1
