import pytest

from treecrf.trees.dependencies.upos import universal_tag


@pytest.mark.parametrize(
    ("word", "tag", "relation", "upos"),
    [
        ("cats", "NNS", "nsubj", "NOUN"),
        ("is", "VBZ", "cop", "AUX"),
        ("been", "VBN", "aux:pass", "AUX"),
        ("can", "MD", "root", "AUX"),
        ("is", "VBZ", "root", "VERB"),
        ("to", "TO", "cop", "PART"),
        ("that", "IN", "mark", "SCONJ"),
        ("in", "IN", "case", "ADP"),
        ("to", "TO", "case", "ADP"),
        ("to", "TO", "mark", "PART"),
        ("this", "DT", "nsubj", "PRON"),
        ("which", "WDT", "det", "DET"),
        ("all", "DT", "det:predet", "DET"),
        ("Not", "RB", "advmod", "PART"),
        ("very", "RB", "advmod", "ADV"),
        ("%", "NN", "obj", "SYM"),
        ("x", "ZZ", "dep", "X"),
    ],
)
def test_tags_depend_on_the_relation_and_the_word(word, tag, relation, upos):
    assert universal_tag(word, tag, relation) == upos
