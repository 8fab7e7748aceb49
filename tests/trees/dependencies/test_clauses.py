"""Heads of verb phrases and clauses."""

from treecrf.trees.dependencies.clauses import clause_of, is_auxiliary, is_existential, is_wh
from trees.dependencies.constructions import arcs_text, constructions, unit, wrong_constructions


@constructions("clauses")
def test_predicates_are_the_heads_of_clauses(tree, arcs):
    assert arcs_text(tree) == arcs


def test_wh_phrases_have_a_question_word_at_their_beginning():
    assert is_wh(unit("(WHNP (NN a))")) and is_wh(unit("(WP who)")) and is_wh(unit("(NP (WP$ whose) (NN cat))"))
    assert is_wh(unit("(PP (, ,) (IN in) (DT the) (WP who) (NN a) (NN b))"))
    assert not is_wh(unit("(PP (IN in) (DT the) (WP who) (NN a) (NN b) (NN c))"))
    assert not is_wh(unit("(NP (DT a) (NN b) (NN c) (WP who))"))
    assert not is_wh(unit("(S (WP who))")) and not is_wh(unit("(NN who)"))


def test_existential_there_is_alone_in_its_noun_phrase():
    assert is_existential(unit("(NP (EX there))")) and is_existential(unit("(EX there)"))
    assert not is_existential(unit("(NP (RB there))")) and not is_existential(unit("(NP (EX there) (EX there))"))


def test_the_clause_of_a_verb_phrase_is_above_all_verb_phrases():
    root = unit("(S (NP (PRP I)) (VP (MD can) (VP (VB sing))))")
    assert clause_of(root.leaves()[2]) is root and clause_of(root) is None


def test_auxiliaries_stand_before_a_verb_phrase():
    has, be, phrase = unit("(VBZ has)"), unit("(VB be)"), unit("(VP (VBN sung))")
    assert is_auxiliary(has, [be, phrase]) and not is_auxiliary(has, [be])
    assert is_auxiliary(unit("(MD can)"), []) and not is_auxiliary(unit("(VBZ sings)"), [phrase])


def test_all_constructions_keep_their_arcs():
    assert wrong_constructions() == []
