import pytest

from treecrf.training.reproduce.ablations import BY_NAME
from treecrf.training.reproduce.claims import CLAIMS, REMARKS, paper_differences, verdict
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb.bootstrap import Comparison

BETTER, SAME = CLAIMS[0], CLAIMS[-1]


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
