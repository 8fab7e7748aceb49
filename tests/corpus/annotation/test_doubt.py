"""Doubt: the order of the queue, expected F, and the coverage curve."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.corpus.annotation.doubt import (
    COLUMNS,
    SentenceDoubt,
    _kept,
    coverage_as_dict,
    coverage_curve,
    coverage_text,
    csv_rows,
    doubt_text,
    find_doubt,
    order_by_gain,
)
from treecrf.corpus.annotation.project import Project
from treecrf.corpus.annotation.session import AnnotationSession
from treecrf.trees.analysis import Constituent
from treecrf.trees.tree import Tree

TREE = Tree.parse("(TOP (S (NP (PRP She)) (VP (VBD saw) (NP (NNS girls)))))")
SENTENCES = [tree.words for tree in toy_trees(12, seed=5)]


def doubt_of(*probabilities, number=0, entropy=0.5):
    places = [(0, 3, "S"), (0, 1, "NP"), (1, 3, "VP"), (2, 3, "NP")]
    constituents = [Constituent(*place, p, p) for place, p in zip(places, probabilities, strict=False)]
    return SentenceDoubt(number, TREE, constituents, 0.4, entropy)


@pytest.fixture(scope="module")
def parser():
    return random_parser(toy_trees(30, seed=3), tag_head=True)


def test_the_order_is_the_order_of_the_queue(parser, tmp_path):
    doubts = find_doubt(parser, SENTENCES)
    project = Project(tmp_path / "gold", SENTENCES)
    session = AnnotationSession(parser, project)
    list(session.estimate_gains())
    assert [doubt.sentence for doubt in doubts] == session.queue("ann")
    assert [doubt.gain for doubt in doubts] == sorted((doubt.gain for doubt in doubts), reverse=True)
    project.close()


def test_unknown_gains_come_last_and_shorter_sentences_first():
    assert order_by_gain([["a", "b"], ["a"], ["a"] * 3], {2: 0.5, 0: 0.5}) == [0, 2, 1]


def test_sentences_over_the_limit_are_left_out(parser):
    sentences = [["cat"] * 201, SENTENCES[0], ["cat"] * 200]
    assert {doubt.sentence for doubt in find_doubt(parser, sentences)} == {1, 2}


def test_expected_f_is_the_mean_probability_without_the_root(parser):
    doubt = doubt_of(1.0, 0.9, 0.5, 0.6)
    assert doubt.expected_f1 == pytest.approx(75) and doubt.expected_errors == pytest.approx(1.0)
    assert [each.calibrated for each in doubt.doubted()] == [0.5, 0.6]
    assert doubt.gain == pytest.approx(60 / (2 + 0.3 * 3 + 4 * 0.5))
    for each in find_doubt(parser, SENTENCES):
        assert parser.root not in {constituent.label for constituent in each.constituents}


def test_doubt_has_rounded_numbers_in_json():
    values = doubt_of(1.0, 0.91234, 0.51239, 0.61234).as_dict()
    assert {name: values[name] for name in ("sentence", "words", "gain", "expected_f1", "expected_errors")} == {
        "sentence": 1,
        "words": 3,
        "gain": 11.791,
        "expected_f1": 75.93,
        "expected_errors": 0.963,
    }
    assert values["tree_probability"] == 0.4 and values["text"] == "She saw girls" and values["tree"] == str(TREE)
    assert values["doubted"][0] == {"start": 1, "end": 3, "label": "VP", "calibrated": 0.5124, "text": "saw girls"}
    assert [each["calibrated"] for each in values["doubted"]] == [0.5124, 0.6123]


def test_a_sentence_without_constituents_is_certain():
    assert SentenceDoubt(0, Tree.parse("(X hm)"), [], 1.0, 0.0).expected_f1 == 100


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), min_size=1, max_size=7), st.floats(0.05, 0.99))
def test_kept_units_are_the_largest_prefix_with_the_precision(units, precision):
    """Against the definition: try all thresholds."""
    units = [(round(p, 2), float(size)) for p, size in units]

    def mean(kept):
        return sum(p * size for p, size in kept) / sum(size for _, size in kept)

    ordered = sorted(units, reverse=True)
    best = max((n for n in range(1, len(units) + 1) if mean(ordered[:n]) >= precision + 1e-9), default=0)
    nearly = max((n for n in range(1, len(units) + 1) if mean(ordered[:n]) >= precision - 1e-9), default=0)
    kept = _kept(units, precision)
    assert best / len(units) <= kept.share <= nearly / len(units)
    assert not kept.share or sum(p >= kept.threshold for p, _ in units) >= round(kept.share * len(units))


def test_the_curve_has_the_wanted_precision_and_tables_have_every_sentence():
    doubts = [doubt_of(1.0, 1.0, 0.95, 0.99), doubt_of(0.9, 0.4, 0.5, 0.6, number=1)]
    curve = coverage_curve(doubts, 0.42)
    assert [point.precision for point in curve] == [0.99, 0.98, 0.97, 0.95, 0.9, 0.42]
    by_precision = {point.precision: point for point in curve}
    assert by_precision[0.97].constituents == (0.5, 0.95) and by_precision[0.97].sentences.share == 0.5
    assert by_precision[0.42].constituents.share == 1 and by_precision[0.97].trees.share == 0
    assert coverage_as_dict(curve)[2]["trees"] == {"share": 0.0, "threshold": None}
    assert [line.split()[0] for line in coverage_text(curve)][1:3] == ["99.0%", "98.0%"]
    assert any("none" in line for line in coverage_text(curve))
    header, first, second = csv_rows(doubts)
    assert (
        header == COLUMNS and first[0] == 1 and second[COLUMNS.index("doubted")].startswith("NP 0-1 0.40; VP 1-3 0.50")
    )
    assert [line.split()[:2] for line in doubt_text(doubts)][3:] == [["40", "%"], ["50", "%"], ["60", "%"]]
    assert doubts[1].as_dict()["doubted"][0] == {"start": 0, "end": 1, "label": "NP", "calibrated": 0.4, "text": "She"}
