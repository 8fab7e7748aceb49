import pytest

from treecrf.training.reproduce import paper
from treecrf.training.reproduce.ablations import BY_NAME
from treecrf.training.reproduce.paper import CLAIMS, REMARKS, paper_differences, verdict
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb.bootstrap import Comparison

BETTER, SAME = CLAIMS[0], CLAIMS[-1]


@pytest.mark.parametrize("table", ["dev", "test"])
@pytest.mark.parametrize("corpus", paper.TITLES)
def test_published_f1_follows_from_precision_and_recall(table, corpus):
    scores = paper.published_scores(table, corpus)
    assert scores.keys() <= BY_NAME.keys()
    for precision, recall, f1 in scores.values():
        assert precision is None or f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.011)


def test_other_treebanks_have_no_published_scores():
    assert paper.published_scores("dev", "") == paper.published_scores("speed", "ptb") == {}


def test_treebanks_are_recognized_by_size():
    assert paper.corpus_of_size(39832, 1700, 2416) == "ptb"
    assert paper.corpus_of_size(46572, 2079, 2796) == "ctb7"
    assert paper.corpus_of_size(40, 15, 10) == ""


@pytest.mark.parametrize(
    ("claim", "difference", "p_value", "expected"),
    [
        (BETTER, 0.5, 0.01, "agrees"),
        (BETTER, 0.5, 0.5, "same direction, may be chance"),
        (BETTER, -0.5, 0.5, "not confirmed"),
        (BETTER, -0.5, 0.01, "the opposite"),
        (SAME, 0.1, 0.5, "agrees: no difference beyond chance"),
        (SAME, 0.5, 0.01, "agrees: better"),
        (SAME, -0.5, 0.01, "the opposite: worse"),
    ],
)
def test_verdict_depends_on_difference_and_p_value(claim, difference, p_value, expected):
    assert verdict(claim, Comparison(90 + difference, 90, difference, Interval(-1, 1), p_value)) == expected


def test_the_papers_own_differences_agree_with_its_claims():
    for claim in CLAIMS:
        differences = paper_differences(claim).values()
        assert len(differences) == 3
        assert all(difference > 0.4 if claim.expects_gain else difference > -0.2 for difference in differences)


def test_remarks_are_about_rows_and_have_no_published_differences():
    for claim in REMARKS:
        assert {claim.row, claim.other} <= BY_NAME.keys() and not paper_differences(claim)
