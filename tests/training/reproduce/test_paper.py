import pytest

from treecrf.training.reproduce import paper
from treecrf.training.reproduce.ablations import BY_NAME


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
