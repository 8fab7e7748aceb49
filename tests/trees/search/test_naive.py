import pytest

from treecrf.trees.search import Forest, Pattern
from treecrf.trees.search.naive import find_matches
from treecrf.trees.tree import Tree

TREE = Tree.parse(
    "(TOP (S (NP-SBJ (NP (DT the) (JJ old) (NN cat)) (PP (IN of) (NP (NNP Kim))))"
    " (VP (VBD saw) (NP (NP (DT a) (NN bird)) (CC and) (NP (DT a) (NN mouse)))) (. .)))"
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("NP", 5),
        ("@NP", 6),
        ("NP | VP", 6),  # alternatives at the root
        ("NP|VP", 6),
        ("(NP < DT) | VP", 4),
        ("/NP/", 7),
        ("/^NP|VP/", 7),  # both are prefixes
        ("/^NP|VP|A|B|C|D|E|F|G/", 12),  # nine alternatives are a regular expression, which finds D in DT
        ("/^.$/", 2),  # a full stop: the tag and the word
        ("/^[.]$/", 2),
        ("/^(?i:np)$/", 5),
        ("/(?i)^np$/", 5),
        ("/^(?:NP|VP)$/", 6),
        ("/^\\p{Lu}{2}$/", 16),
        ("the", 1),
        ("!__", 0),
        ("_ROOT_", 1),
        ("!_ROOT_ < S", 0),
        ("NP ?< DT", 5),
        ("NP ?< NN=n ?< JJ=j", 5),
        ("NP !< DT !< NP", 1),
        ("NP ![< DT | < NP]", 1),
        ("NP ![< DT < JJ]", 4),
        ("NP !!< DT", 2),  # a second '!' changes nothing
        ("NP ?[< DT < NN]", 5),
        ("NP=a $ ~a", 2),
        ("NP=a == !=a", 5),  # Tregex ignores '!' before a reference
        ("@NP=a << @~a", 4),
        ("DT#1%x .. (DT < /^(.)$/#1%y)", 3),
        ("__ <# __ : (DT < the)", 22),
        ("NP-SBJ <<# cat", 1),
        ("cat >># NP-SBJ", 1),
        ("NP < (CC $- NP $+ NP)", 1),
        ("NP <+(NP) DT", 5),
        ("S <+(/^X|P/) DT", 3),  # in a path this is a regular expression, which finds P anywhere
        ("NP < -1 NN", 3),
        ("NP <... { DT ; JJ ; NN }", 1),
        ("NP !<... { DT ; NN }", 3),
        ("NP <= NP", 7),
        ("NP == NP=x == =x", 5),
        ("VBD .+(DT) CC", 0),
        ("DT .+(NN) CC", 1),
        ("DT .+(/^NN$|^bird$/) CC", 1),
    ],
)
def test_cases_that_the_definition_of_tregex_decides(text, matches):
    pattern = Pattern(text)
    assert len(list(find_matches(pattern.expression, Forest(TREE)))) == pattern.count(TREE).matches == matches
