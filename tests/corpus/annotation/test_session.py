"""Actions with a parser: the rest is parsed again, impossible actions change nothing, the queue, agreement."""

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.corpus.annotation.project import Project
from treecrf.corpus.annotation.session import AnnotationSession, StaleError
from treecrf.parser.decoding.constraints import ImpossibleError
from treecrf.trees.tree import Tree

TREES = toy_trees(12, seed=5)


@pytest.fixture(scope="module")
def parser():
    return random_parser(toy_trees(30, seed=3), tag_head=True)


@pytest.fixture
def session(parser, tmp_path):
    project = Project(tmp_path / "gold", [tree.words for tree in TREES])
    yield AnnotationSession(parser, project)
    project.close()


def missing_span(tree):
    spans = {span[:2] for span in tree.spans()}
    return next((i, i + 2) for i in range(len(tree.words) - 1) if (i, i + 2) not in spans)


def test_the_tree_has_everything_that_is_fixed(session):
    number = max(range(len(TREES)), key=lambda number: len(TREES[number].words))
    _, parsed = session.parsed("ann", number)
    start, end = missing_span(parsed.tree)
    history, parsed = session.act("ann", number, 0, "yes", require=[(start, end)])
    assert (start, end) in {span[:2] for span in parsed.tree.spans()}
    history, parsed = session.act("ann", number, 1, "tag", tags={"0": "NN"})
    assert parsed.tree.tags[0] == "NN"
    history, parsed = session.act("ann", number, 2, "no", forbid=[(start, end)])
    assert (start, end) not in {span[:2] for span in parsed.tree.spans()}
    history, finished = session.act("ann", number, 3, "done")
    assert history.state.tree == str(parsed.tree) == str(finished.tree)
    assert session.project.finished("ann") == {number: parsed.tree}


def test_impossible_and_stale_actions_change_nothing(session):
    number = next(number for number, tree in enumerate(TREES) if len(tree.words) > 3)
    session.act("ann", number, 0, "yes", require=[(0, 2)])
    log = session.project.folder / "ann.events.jsonl"
    content = log.read_bytes()
    with pytest.raises(ImpossibleError, match="cross"):
        session.act("ann", number, 1, "yes", require=[(1, 3)])
    with pytest.raises(ImpossibleError, match="no such label"):
        session.act("ann", number, 1, "yes", require=[(0, 2, "QQ")])
    with pytest.raises(StaleError, match=f"sentence {number + 1} was changed in another window"):
        session.act("ann", number, 0, "no", forbid=[(0, 2)])
    assert log.read_bytes() == content


def test_the_queue_begins_with_the_largest_gain_and_leaves_out_what_is_closed(session):
    assert list(session.estimate_gains()) == sorted(range(len(TREES)), key=lambda i: len(TREES[i].words))
    queue = session.queue("ann")
    gains = [session.gains[number] for number in queue]
    assert gains == sorted(gains, reverse=True) and len(queue) == len(TREES)
    session.act("ann", queue[0], 0, "skip", text="later")
    assert session.queue("ann") == queue[1:] and session.queue("bob") == queue
    assert session.queue("ann", "file") == sorted(queue[1:])
    assert sorted(session.queue("ann", "random")) == sorted(queue[1:]) != session.queue("ann", "random")
    assert session.progress("ann") == {"done": 0, "partial": 0, "skipped": 1, "all": len(TREES)}


def test_agreement_is_evalbs_score_of_common_sentences(session):
    for name in ("ann", "bob"):
        for number in (0, 1):
            session.act(name, number, 0, "done")
    session.act("ann", 2, 0, "done")
    result = session.agreement("ann", "bob")
    assert (result.sentences, result.f1, result.differences) == (2, 100.0, {})
    number = max((0, 1), key=lambda number: len(TREES[number].words))
    span = missing_span(Tree.parse(session.project.history("bob", number).state.tree))
    session.act("bob", number, 1, "yes", require=[span])
    session.act("bob", number, 2, "done")
    result = session.agreement("ann", "bob")
    assert list(result.differences) == [number] and result.f1 < 100
