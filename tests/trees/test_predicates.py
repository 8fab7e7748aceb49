"""Predicates of full trees, with answers written by hand.

An answer is: verb, active or passive, subject, agent, objects, attribute, times, places.
"""

import pytest

from treecrf.trees.predicates import predicates
from treecrf.trees.tree import Tree

NO = ()
CASES = {
    "active": (
        "(S (NP-SBJ (DT The) (NN board)) (VP (VBD gave) (NP (PRP him)) (NP (DT a) (NN raise)) (PP-LOC (IN in) "
        "(NP (NNP Rome))) (NP-TMP (NNP Friday))) (. .))",
        [("gave", "active", "The board", None, ("him", "a raise"), None, ("Friday",), ("in Rome",))],
    ),
    "passive with agent": (
        "(S (NP-SBJ-1 (DT The) (NN plan)) (VP (MD will) (VP (VB be) (VP (VBN opposed) (NP (-NONE- *-1)) (PP (IN by) "
        "(NP-LGS (NNS voters)))))))",
        [("opposed", "passive", "The plan", "voters", NO, None, NO, NO)],
    ),
    "object relative without a pronoun": (
        "(S (NP-SBJ (NP (DT the) (NN man)) (SBAR (WHNP-1 (-NONE- 0)) (S (NP-SBJ (PRP we)) (VP (VBD met) (NP (-NONE- "
        "*T*-1)))))) (VP (VBD left)))",
        [
            ("met", "active", "we", None, ("the man",), None, NO, NO),
            ("left", "active", "the man we met", None, NO, None, NO, NO),
        ],
    ),
    "subject relative": (
        "(NP (NP (NNS firms)) (SBAR (WHNP-2 (WDT that)) (S (NP-SBJ (-NONE- *T*-2)) (VP (VBP sell) (NP (NNS tools))))))",
        [("sell", "active", "firms", None, ("tools",), None, NO, NO)],
    ),
    "control": (
        "(S (NP-SBJ-1 (NNP Ann)) (VP (VBZ wants) (S (NP-SBJ (-NONE- *PRO*-1)) (VP (TO to) (VP (VB buy) (NP (PRP "
        "it)))))))",
        [
            ("wants", "active", "Ann", None, ("to buy it",), None, NO, NO),
            ("buy", "active", "Ann", None, ("it",), None, NO, NO),
        ],
    ),
    "raising of a passive subject": (
        "(S (NP-SBJ-1 (NNP Ann)) (VP (VBZ seems) (S (NP-SBJ-2 (-NONE- *-1)) (VP (TO to) (VP (VB be) (VP (VBN liked) "
        "(NP (-NONE- *-2))))))))",
        [
            ("seems", "active", "Ann", None, ("to be liked",), None, NO, NO),
            ("liked", "passive", "Ann", None, NO, None, NO, NO),
        ],
    ),
    "reported speech before the speaker": (
        "(S (S-TPC-1 (NP-SBJ (PRP we)) (VP (VBP agree))) (, ,) (NP-SBJ (PRP he)) (VP (VBD said) (SBAR (-NONE- 0) (S "
        "(-NONE- *T*-1)))))",
        [
            ("agree", "active", "we", None, NO, None, NO, NO),
            ("said", "active", "he", None, ("we agree",), None, NO, NO),
        ],
    ),
    "questions": (
        "(SBARQ (WHNP-1 (WP What)) (SQ (VBD did) (NP-SBJ (PRP you)) (VP (VB see) (NP (-NONE- *T*-1)) (ADVP-TMP (RB "
        "yesterday)))) (. ?))",
        [("see", "active", "you", None, ("What",), None, ("yesterday",), NO)],
    ),
    "place asked for": (
        "(SBARQ (WHADVP-1 (WRB Where)) (SQ (VBZ does) (NP-SBJ (PRP she)) (VP (VB live) (ADVP-LOC (-NONE- *T*-1)))))",
        [("live", "active", "she", None, NO, None, NO, ("Where",))],
    ),
    "copula in a question": (
        "(SQ (VBZ Is) (NP-SBJ (PRP he)) (ADJP-PRD (JJ ready)) (. ?))",
        [("Is", "active", "he", None, NO, "ready", NO, NO)],
    ),
    "coordinated verb phrases": (
        "(S (PP-TMP (IN In) (NP (NNP May))) (NP-SBJ (PRP they)) (VP (VP (VBD met)) (CC and) (VP (VBD gave) (PRT (RP "
        "up)))))",
        [
            ("met", "active", "they", None, NO, None, ("In May",), NO),
            ("gave up", "active", "they", None, NO, None, ("In May",), NO),
        ],
    ),
    "reduced relative": (
        "(NP (NP (DT the) (NN vote)) (VP (VBN held) (NP (-NONE- *)) (NP-TMP (NNP May))))",
        [("held", "passive", "the vote", None, NO, None, ("May",), NO)],
    ),
    "perfect": (
        "(S (NP-SBJ (PRP They)) (VP (VBP have) (VP (VBN built) (NP (DT a) (NN bridge)))))",
        [("built", "active", "They", None, ("a bridge",), None, NO, NO)],
    ),
    "topicalized speech": (
        "(S (S-TPC-1 (NP-SBJ (NNS Prices)) (VP (VBD fell))) (, ,) (NP-SBJ (PRP he)) (VP (VBD said) (S (-NONE- "
        "*T*-1))))",
        [
            ("fell", "active", "Prices", None, NO, None, NO, NO),
            ("said", "active", "he", None, ("Prices fell",), None, NO, NO),
        ],
    ),
    "infinitive without a controller": (
        "(S (NP-SBJ (PRP It)) (VP (VBZ is) (ADJP-PRD (JJ easy)) (S (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB win))))))",
        [
            ("is", "active", "It", None, ("to win",), "easy", NO, NO),
            ("win", "active", None, None, NO, None, NO, NO),
        ],
    ),
    "plain tree": (
        "(S (NP (DT The) (NN plan)) (VP (VBD was) (VP (VBN dropped) (PP (IN in) (NP (NNP May))))))",
        [("dropped", "passive", "The plan", None, NO, None, NO, NO)],
    ),
    "plain question": (
        "(SQ (VBD Did) (NP (PRP she)) (VP (VB win) (NP (PRP it))))",
        [("win", "active", "she", None, ("it",), None, NO, NO)],
    ),
    "plain relative": (
        "(NP (NP (NNS firms)) (SBAR (WHNP (WDT that)) (S (VP (VBP sell) (NP (NNS tools))))))",
        [("sell", "active", "firms", None, ("tools",), None, NO, NO)],
    ),
}


def answer(verb):
    def texts(arguments):
        return tuple(argument.text for argument in arguments)

    voice = "passive" if verb.is_passive else "active"
    subject, agent, attribute = (phrase and phrase.text for phrase in (verb.subject, verb.agent, verb.attribute))
    return verb.text, voice, subject, agent, texts(verb.objects), attribute, texts(verb.times), texts(verb.places)


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_written_by_hand(name):
    tree, answers = CASES[name]
    assert [answer(verb) for verb in predicates(Tree.parse(tree))] == answers


def test_indices_in_a_circle_have_no_phrase():
    tree = Tree.parse("(S (NP-SBJ-1 (-NONE- *-2)) (NP-2 (-NONE- *-1)) (VP (VB go)))")
    assert predicates(tree)[0].subject is None


def test_positions_are_those_of_the_words():
    verb = predicates(Tree.parse(CASES["passive with agent"][0]))[0]
    assert (verb.position, verb.subject[:2], verb.agent[:2]) == (4, (0, 2), (6, 7))
