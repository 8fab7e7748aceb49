"""The folder of an annotation: resumed, extended, exported, and read by training."""

import pytest

from treecrf.corpus.annotation.events import Event
from treecrf.corpus.annotation.project import Project
from treecrf.files import LockedError
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
    assert state.require and state.forbid and "two histories" in messages[0]
    merged.close()


@pytest.mark.parametrize("name", ["", "../ann", "a b", "x" * 41])
def test_names_of_annotators_are_names_of_files(tmp_path, name):
    project = Project(tmp_path / "gold", SENTENCES)
    with pytest.raises(ValueError, match="annotator's name"):
        project.histories(name)
    project.close()
