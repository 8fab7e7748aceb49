import json
import time
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf import Parser
from treecrf.corpus.annotation import learning
from treecrf.corpus.annotation.learning import EVERY, Learner
from treecrf.corpus.annotation.project import Project
from treecrf.corpus.annotation.session import AnnotationSession

TREES = toy_trees(2 * EVERY)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learning") / "toy"
    random_parser(TREES, tag_head=True).save(folder)
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of processes, which are not started."""
    commands: list[list[str]] = []

    class Process:
        def __init__(self, command: list[str], **options: object) -> None:
            commands.append(command)
            self.is_done = False

        def poll(self) -> int | None:
            return 0 if self.is_done else None

    monkeypatch.setattr(learning.subprocess, "Popen", Process)
    return commands


def finish_run(model: Path, gold: Path, name: str, *, kept: bool = True) -> None:
    folder = gold / "models" / name
    Parser.load(model, "cpu").save(folder)
    (folder / "adaptation.json").write_text(json.dumps({"kept": kept, "verdict": f"verdict {name}"}))


def test_a_process_starts_after_every_ten_finished_sentences(tmp_path: Path, started: list[list[str]]) -> None:
    learner = Learner(tmp_path, "en")
    for finished in range(1, 2 * EVERY + 2):
        learner.update(finished)
    assert len(started) == 1  # the first one is still running
    assert started[0][-6:] == ["train", "--from", "en", str(tmp_path), "-o", str(tmp_path / "models" / "000010")]
    learner._process.is_done = True  # type: ignore[union-attr]
    learner.update(2 * EVERY + 2)
    assert started[1][-1].endswith("000022")


def test_only_finished_models_are_offered_and_the_newest_one_decides(
    model: Path, tmp_path: Path, started: list[list[str]]
) -> None:
    (tmp_path / "models" / "000030").mkdir(parents=True)  # its process was killed
    assert Learner(tmp_path, "en").offer is None
    finish_run(model, tmp_path, "000010")
    finish_run(model, tmp_path, "000020")
    learner = Learner(tmp_path, "en", finished=25)
    assert learner.offer is not None
    assert learner.offer.verdict == "verdict 000020"
    assert not started
    learner.update(30)
    assert started
    assert not (tmp_path / "models" / "000010").exists()  # the newest one stays
    finish_run(model, tmp_path, "000030", kept=False)
    assert learner.offer is None


def test_a_session_uses_an_offered_model_only_when_told_to(
    model: Path, tmp_path: Path, started: list[list[str]]
) -> None:
    parser = Parser.load(model, "cpu")
    session = AnnotationSession(parser, Project(tmp_path, [tree.words for tree in TREES]), model=str(model))
    list(session.estimate_gains())
    assert session.offer is None
    finish_run(model, tmp_path, "000010")
    assert session.offer is not None
    assert session.parser is parser
    with pytest.raises(ValueError, match="not offered"):
        session.use_offer("000005")
    estimates = session.estimate_gains()
    next(estimates)
    session.use_offer("000010")
    assert session.parser.folder == tmp_path / "models" / "000010"
    assert session.offer is None
    assert session.gains == {}
    assert list(estimates) == []  # the old model is not asked any more
    session.close()


def test_finished_sentences_become_a_model_in_the_background(model: Path, tmp_path: Path) -> None:
    parser = Parser.load(model, "cpu")
    session = AnnotationSession(parser, Project(tmp_path, [tree.words for tree in TREES]), model=str(model))
    for number in range(EVERY):
        session.act("anna", number, 0, "done")
    record = tmp_path / "models" / f"{EVERY:06}" / "adaptation.json"
    deadline = time.monotonic() + 300
    while not record.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert json.loads(record.read_bytes())["kept"] is False  # it has learned its own trees
    assert session.offer is None
    session.close()
