"""The folder of an annotation: resumed, extended, exported, and read by training."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treecrf.corpus.annotation.events import Event
from treecrf.corpus.annotation.project import Project
from treecrf.files import DamagedFileError, LockedError
from treecrf.training.partial import read_partial
from treecrf.trees.treebank import read_trees

SENTENCES = [["the", "cat", "sleeps"], ["she", "sees", "a", "wall"], ["go", "!"]]
TREE = "(TOP (S (VP (VB go)) (. !)))"


def test_a_folder_goes_on_where_it_was_and_exports_what_training_reads(tmp_path):
    project = Project(tmp_path / "gold", SENTENCES)
    project.record("ann", Event(sentence=2, version=0, action="done", tree=TREE))
    project.record("ann", Event(sentence=1, version=0, action="yes", require=[(2, 4, "NP")]))
    project.record("ann", Event(sentence=1, version=1, action="tag", tags={"1": "VBZ"}))
    project.record("ann", Event(sentence=1, version=2, action="partial"))
    project.record("ann", Event(sentence=0, version=0, action="skip", text="not English"))
    project.close()
    (tmp_path / "gold" / "ann.mrg").unlink()  # as after a kill before the export
    again = Project(tmp_path / "gold")
    assert again.sentences == SENTENCES and again.annotators == ["ann"]
    assert [again.history("ann", number).state.status for number in range(3)] == ["skipped", "partial", "done"]
    assert again.history("ann", 0).state.note == "not English"
    assert [str(tree) for tree in read_trees(tmp_path / "gold" / "ann.mrg")] == [TREE]
    (partial,) = read_partial(tmp_path / "gold" / "ann.partial.jsonl")
    assert partial.words == SENTENCES[1] and (2, 4, "NP") in partial.constraints.require
    assert partial.tags({"NP", "S"}) == {1: "VBZ"}
    again.close()


def test_another_process_is_refused(tmp_path):
    project = Project(tmp_path / "gold", SENTENCES)
    with pytest.raises(LockedError):
        Project(tmp_path / "gold")
    project.close()


def test_a_corpus_may_grow_and_not_change(tmp_path):
    Project(tmp_path / "gold", SENTENCES[:2]).close()
    longer = Project(tmp_path / "gold", SENTENCES)
    longer.close()
    assert longer.sentences == SENTENCES
    with pytest.raises(ValueError, match="sentence 1: 'other' in the corpus"):
        Project(tmp_path / "gold", [["other"]])
    with pytest.raises(ValueError, match="there are no sentences"):
        Project(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_merged_histories_are_reported(tmp_path):
    project = Project(tmp_path / "gold", SENTENCES)
    project.record("ann", Event(sentence=0, version=0, action="yes", require=[(0, 2, "NP")]))
    project.close()
    path = tmp_path / "gold" / "ann.events.jsonl"
    path.write_bytes(path.read_bytes() + Event(sentence=0, version=0, action="no", forbid=[(1, 3)]).line())
    messages = []
    merged = Project(tmp_path / "gold", warn=messages.append)
    state = merged.history("ann", 0).state
    assert state.require and state.forbid
    assert messages == [f"{path}, event 2: sentence 0 has two histories; the later counts"]
    merged.close()


@pytest.mark.parametrize("words", ["the cat", [], ["the", ""], ["the", 5], None])
def test_a_damaged_list_of_words_is_named(tmp_path, words):
    (tmp_path / "sentences.jsonl").write_text(json.dumps({"sentence": 0, "words": words}))
    with pytest.raises(DamagedFileError, match=r"sentences\.jsonl: .* is no sentence"):
        Project(tmp_path)


@pytest.mark.parametrize("name", ["", "../ann", "a b", "x" * 41])
def test_names_of_annotators_are_names_of_files(tmp_path, name):
    project = Project(tmp_path / "gold", SENTENCES)
    with pytest.raises(ValueError, match="annotator's name"):
        project.histories(name)
    project.close()


ACTIONS = st.sampled_from(
    [
        {"action": "yes", "require": [(0, 2, "NP")]},
        {"action": "no", "forbid": [(0, 2)]},
        {"action": "tag", "tags": {"1": "VBZ"}},
        {"action": "partial"},
        {"action": "skip", "text": "no sentence"},
        {"action": "comment", "text": "what?"},
        {"action": "undo"},
        {"action": "redo"},
    ]
)
STEPS = st.lists(st.tuples(st.sampled_from(["ann", "ben"]), st.integers(0, 2), ACTIONS), max_size=12)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, share=st.floats(0, 1))
def test_two_writers_lose_nothing_but_a_torn_line_at_a_kill(tmp_path_factory, steps, share):
    folder = tmp_path_factory.mktemp("killed") / "gold"
    project = Project(folder, SENTENCES)
    states = {"ann": [{}], "ben": [{}]}  # by annotator, after each event: the state of each sentence
    for annotator, sentence, values in steps:
        history = project.history(annotator, sentence)
        with suppress(ValueError):  # nothing to undo, or brackets that cannot be
            changed = project.record(annotator, Event(sentence=sentence, version=history.version, **values)).state
            states[annotator].append(states[annotator][-1] | {sentence: changed})
    project.close()
    for path in folder.glob("*.events.jsonl"):
        content, name = path.read_bytes(), path.name.partition(".")[0]
        size = round(share * len(content))
        path.write_bytes(content[:size])  # a kill in the middle of a write
        complete = content[: size + 1].count(b"\n")  # the last line may lack its end
        states[name] = states[name][: complete + 1]
    again = Project(folder, warn=lambda text: None)
    for name, expected in states.items():
        found = {number: history.state for number, history in again.histories(name).items()}
        assert {number: state for number, state in found.items() if number in expected[-1]} == expected[-1]
        assert len(found) == len(expected[-1])
        partial = [number for number, state in sorted(found.items()) if state.status == "partial"]
        if (folder / f"{name}.partial.jsonl").exists():
            exported = [sentence.words for sentence in read_partial(folder / f"{name}.partial.jsonl")]
            assert exported == [SENTENCES[number] for number in partial]
    again.close()
