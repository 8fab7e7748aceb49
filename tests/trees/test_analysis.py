from treecrf.trees.analysis import Alternative, Analysis, Constituent, ParsedSentence
from treecrf.trees.drawing import svg
from treecrf.trees.tree import Tree

FIRST = Tree.parse("(S (NP (P I)) (VP (V saw) (NP (NP (D the) (N man)) (PP (I with) (N it)))))")
SECOND = Tree.parse("(S (NP (P I)) (VP (V saw) (NP (D the) (N man)) (PP (I with) (N it))))")


def analysis(tree: Tree, *alternatives: Tree) -> Analysis:
    constituents = tuple(Constituent(*span, 0.5, 0.25) for span in tree.spans())
    ranked = tuple(Alternative(other, -1.0, 0.3, 0.4, (), ()) for other in alternatives)
    return Analysis(tree, -1.0, 0.3, 0.1, constituents, ranked, True)


def test_differences_are_the_changes_from_the_most_probable_tree():
    assert analysis(SECOND, FIRST, SECOND).differences == ('"with it" modifies "saw" instead of "the man"',)
    assert analysis(FIRST, FIRST, SECOND).differences == ()


def test_without_alternatives_there_are_no_differences():
    assert analysis(SECOND).differences == ()


def test_a_notebook_shows_calibrated_probabilities():
    assert analysis(SECOND)._repr_svg_() == svg(SECOND, [0.25] * len(SECOND.spans()))


def test_a_sentence_starts_at_its_first_word_and_ends_after_its_last():
    sentence = ParsedSentence(Tree.parse("(S (A a) (B bc) (C .))"), [(3, 4), (5, 7), (7, 8)])
    assert (sentence.start, sentence.end) == (3, 8)
