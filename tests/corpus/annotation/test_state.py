"""What actions fix about a tree, undo and redo."""

import pytest

from treecrf.corpus.annotation.events import Event
from treecrf.corpus.annotation.state import SentenceHistory, SentenceState, attachment
from treecrf.parser.decoding.constraints import Bracket, ImpossibleError
from treecrf.trees.tree import Span, Tree

WORDS = ("she", "saw", "girls", "with", "hats")
TREE = Tree.parse("(S (NP (PRP she)) (VP (VBD saw) (NP (NP (NNS girls)) (PP (IN with) (NP (NNS hats))))))")


def event(action, **values):
    return Event(sentence=0, version=0, action=action, **values)


def test_a_bracket_replaces_its_contrary():
    state = SentenceState(words=WORDS).apply(event("yes", require=[(2, 5, "NP")]))
    state = state.apply(event("label", require=[(2, 5, "VP")], forbid=[(2, 5, "NP")]))
    assert state.require == (Bracket(2, 5, "VP"),) and state.forbid == (Bracket(2, 5, "NP"),)
    state = state.apply(event("no", forbid=[(2, 5)]))
    assert state.require == () and Bracket(2, 5, None) in state.forbid
    assert state.apply(event("yes", require=[(2, 5, "NP")])).forbid == ()


def test_a_forbidden_label_keeps_other_labels_and_other_words():
    kept = [(0, 1, "NP"), (2, 5, "NP"), (2, 5, "S")]
    state = SentenceState(words=WORDS).apply(event("yes", require=kept)).apply(event("no", forbid=[(2, 5, "S")]))
    assert state.require == (Bracket(0, 1, "NP"), Bracket(2, 5, "NP"))
    state = state.apply(event("no", forbid=[(2, 5)]))
    assert state.require == (Bracket(0, 1, "NP"),)


@pytest.mark.parametrize("tag", [5, "", "N N", "(NN", "NN)", " NN"])
def test_a_tag_is_a_name_without_spaces_and_parentheses(tag):
    with pytest.raises(ValueError, match="expected a name without spaces and parentheses"):
        SentenceState(words=WORDS).apply(event("tag", tags={"1": tag}))


def test_what_is_fixed_about_words_is_taken_back():
    state = SentenceState(words=WORDS).apply(event("yes", require=[(0, 1, "NP"), (2, 5, "NP")], forbid=[(2, 5, "VP")]))
    state = state.apply(event("tag", tags={"0": "PRP", "4": "NNS"}))
    assert state.apply(event("free", start=2, end=5)).constraints.require == ((0, 1, "NP"),)
    assert state.apply(event("free", start=2, end=5)).forbid == ()
    freed = state.apply(event("free", start=0, end=1))
    assert freed.require == (Bracket(2, 5, "NP"),) and freed.fixed_tags == {4: "NNS"}
    with pytest.raises(ValueError, match=r"nothing is fixed about words\[1:3\]"):
        state.apply(event("free", start=1, end=3))


def test_words_are_split_and_joined_and_brackets_move():
    state = SentenceState(words=WORDS).apply(event("yes", require=[(0, 1, "NP"), (2, 5, "NP")]))
    state = state.apply(event("tag", tags={"1": "VBD", "4": "NNS"}))
    split = state.apply(event("tokens", start=1, end=2, words=["s", "aw"]))
    assert split.words == ("she", "s", "aw", "girls", "with", "hats")
    assert split.require == (Bracket(0, 1, "NP"), Bracket(3, 6, "NP"))
    assert split.fixed_tags == {5: "NNS"}
    assert split.apply(event("tokens", start=1, end=3, words=["saw"])).words == WORDS
    with pytest.raises(ImpossibleError, match="inside the word"):
        state.apply(event("tokens", start=1, end=3, words=["sawgirls"]))
    with pytest.raises(ValueError, match="expected the characters of 'saw'"):
        state.apply(event("tokens", start=1, end=2, words=["see"]))


@pytest.mark.parametrize("values", [{"require": [(3, 9)]}, {"forbid": [(2, 2)]}, {"require": [(0,)]}])
def test_brackets_outside_the_sentence_are_errors(values):
    with pytest.raises(ValueError):
        SentenceState(words=WORDS).apply(event("yes", **values))


def test_undo_and_redo_move_among_states_and_an_action_ends_the_redo():
    history = SentenceHistory(WORDS)
    with pytest.raises(ValueError, match="nothing to undo"):
        history.record(event("undo"))
    history.record(event("yes", require=[(2, 5)]))
    history.record(event("done", tree=str(TREE)))
    assert history.state.status == "done"
    history.record(event("undo"))
    assert history.state.status == "open" and history.state.require and history.can_redo
    history.record(event("redo"))
    assert history.state.status == "done"
    history.record(event("comment", text="odd"))
    history.record(event("undo"))
    history.record(event("no", forbid=[(0, 2)]))
    assert not history.can_redo and history.comment == "odd" and history.version == 7


def test_a_lower_attachment_grows_the_target_and_a_higher_one_forbids_what_is_between():
    higher = attachment(TREE, Span(3, 5, "PP"), Span(1, 5, "VP"))
    assert higher.require == (Bracket(3, 5, "PP"),) and higher.forbid == (Bracket(2, 5, None),)
    lower = attachment(TREE, Span(3, 5, "PP"), Span(2, 3, "NP"))
    assert Bracket(2, 5, "NP") in lower.require
    with pytest.raises(ValueError, match="is inside"):
        attachment(TREE, Span(3, 5, "PP"), Span(4, 5, "NP"))
