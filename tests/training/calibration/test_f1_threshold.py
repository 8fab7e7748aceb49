from dataclasses import replace
from types import SimpleNamespace

import pytest

from small import FIFTY, random_parser
from treecrf import evaluate, read_trees
from treecrf.training.calibration import calibrate, f1_threshold
from treecrf.training.calibration.f1_threshold import f1_optimal_threshold
from treecrf.trees.evalb import COLLINS

TREES = list(read_trees(FIFTY))


def test_optimal_threshold_is_half_of_the_resulting_f1():
    parser = random_parser(TREES)
    words, tags = [tree.words for tree in TREES], [tree.tags for tree in TREES]
    parser.f1_threshold = 0.9
    optimal = f1_optimal_threshold(parser, TREES)
    assert parser.f1_threshold == 0.9
    scores = {}
    for threshold in (0.0, optimal, 0.9):
        parser.f1_threshold = threshold
        scores[threshold] = evaluate(TREES, parser.parse_many(words, tags=tags)).f1
    assert optimal == pytest.approx(scores[optimal] / 200, abs=0.01)
    assert scores[optimal] == max(scores.values()) > min(scores.values())
    assert calibrate(parser, TREES).f1_threshold == 0.9
    assert 0 < calibrate(parser, TREES, find_threshold=True).f1_threshold == parser.f1_threshold < 0.5


def test_the_threshold_is_half_of_the_f1_of_the_treebanks_own_rules():
    parser = random_parser(TREES)
    words, tags = [tree.words for tree in TREES], [tree.tags for tree in TREES]
    rules = replace(COLLINS, delete_labels=COLLINS.delete_labels | {"NP"})
    thresholds = [f1_optimal_threshold(parser, TREES, rules=each) for each in (COLLINS, rules)]
    assert thresholds[0] != thresholds[1]
    parser.f1_threshold = thresholds[1]
    f1 = evaluate(TREES, parser.parse_many(words, tags=tags), rules=rules).f1
    assert thresholds[1] == pytest.approx(f1 / 200, abs=0.01)


def test_threshold_is_0_if_the_papers_mbr_has_a_higher_f1(monkeypatch):
    parser = random_parser(TREES)
    f1s = iter([50.0, 40.0, 40.0])
    monkeypatch.setattr(f1_threshold, "evaluate", lambda *_, **__: SimpleNamespace(f1=next(f1s)))
    assert f1_optimal_threshold(parser, TREES) == 0.0
