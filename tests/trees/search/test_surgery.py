import pytest

from treecrf.trees.search import Surgery, SurgeryError, apply_surgeries, read_surgeries
from treecrf.trees.tree import Tree

SCRIPT = r"""% removes modifiers
NP=np <
  PP=p          % over two lines

prune p

/^NP(.*)/#1\%v=x
% no line without a comment ends the pattern
  !< PP

relabel x /^NP/XP/
"""


def test_a_script_applies_its_surgeries_in_turn():
    tree = Tree.parse("(S (NP (NN cat) (PP (IN of) (NP (NNP Kim)))) (VP (VBD sat)))")
    assert str(apply_surgeries(tree, read_surgeries(SCRIPT))) == "(S (XP (NN cat)) (VP (VBD sat)))"
    deleting = read_surgeries("S=s\n\ndelete s\n\nNP=n\n\nrelabel n X\n")
    assert apply_surgeries(tree, deleting) is None


def test_surgery_needs_an_operation():
    with pytest.raises(SurgeryError, match="no operation"):
        Surgery("NP", "\n")
