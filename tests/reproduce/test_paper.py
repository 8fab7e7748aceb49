import pytest

from treecrf.reproduce import paper
from treecrf.reproduce.ablations import BY_NAME


@pytest.mark.parametrize("table", ["dev", "test"])
@pytest.mark.parametrize("corpus", paper.TITLES)
def test_figures_agree_with_themselves_and_are_those_of_rows(table, corpus):
    figures = paper.figures(table, corpus)
    assert figures.keys() <= BY_NAME.keys()
    for precision, recall, f1 in figures.values():
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.011)


def test_other_treebanks_have_no_figures():
    assert paper.figures("dev", "") == paper.figures("speed", "ptb") == {}


def test_a_treebank_is_known_by_its_sizes():
    assert paper.recognize(39832, 1700, 2416) == "ptb"
    assert paper.recognize(46572, 2079, 2796) == "ctb7"
    assert paper.recognize(40, 15, 10) == ""
