"""Attacks on the annotation page's routes and files: each is an error, and changes nothing."""

import errno
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from small import random_parser
from toygrammar import toy_trees
from treecrf.corpus.annotation import events, project, state
from treecrf.corpus.annotation.project import Project
from treecrf.corpus.annotation.session import AnnotationSession
from treecrf.files import DamagedFileError, LockedError
from treecrf.server.app import create_app

SENTENCES = [["the", "cat", "sleeps", "here", "."], ["a" * 30, "cat", "sleeps", "."], ["she", "sees", "the", "wall"]]
DEEP = '{"sentence": 0, "version": 0, "action": "comment", "text": "x", "require": ' + "[" * 900 + "]" * 900 + "}"


class Annotation:
    """The routes of an annotation, in this process."""

    def __init__(self, folder: Path, client: TestClient) -> None:
        self.folder, self.client = folder, client

    def act(self, action: Any, sentence: int = 0, annotator: str = "ann", **values: Any) -> Any:
        body = {"sentence": sentence, "version": 0, "action": action, **values}
        return self.client.post("/annotation/events", params={"annotator": annotator}, json=body)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


@pytest.fixture
def annotation(tmp_path: Path) -> Iterator[Annotation]:
    parser = random_parser(toy_trees(30, seed=3), tag_head=True)
    session = AnnotationSession(parser, Project(tmp_path / "gold", SENTENCES), max_words=30)
    with TestClient(create_app({"small": parser}, annotation=session, token="secret")) as client:
        client.headers["authorization"] = "Bearer secret"
        yield Annotation(tmp_path / "gold", client)


@pytest.mark.parametrize(
    ("action", "values"),
    [
        ("attach", {}),
        ("attach", {"moved": [0, 1], "target": [0, 2, "NP"]}),
        ("attach", {"moved": [0, 1, None], "target": None}),
        ("attach", {"moved": [0, 99, "NP"], "target": [0, 2, "NP"]}),
        ("yes", {"moved": [0, 1, "NP"]}),
        ("yes", {"require": [[0, 2, {}]]}),
        ("yes", {"require": [[0, 1, f"X{number}"] for number in range(state.MAX_BRACKETS + 1)]}),
        ("no", {"forbid": [[0, 2]] * (state.MAX_BRACKETS + 1)}),
        ("tag", {"tags": {"9" * 5000: "NN"}}),
        ("tag", {"tags": {"0": "<script> x"}}),
        ("tokens", {"start": 0, "end": 1, "words": ["t", "h"]}),
        ("tokens", {"start": True, "end": 2, "words": ["cat"]}),
        ("done", {"tree": "(TOP (X the))"}),
        ("comment", {"text": "x" * 2001}),
        ("comment", {"text": "x", "start": 0}),
        ("undo", {"text": "x"}),
        ([], {}),
        ("fly", {}),
    ],
)
def test_a_bad_action_is_an_error_that_changes_nothing(annotation: Annotation, action: Any, values: Any) -> None:
    before = annotation.files()
    response = annotation.act(action, **values)
    assert response.status_code == 422 and len(response.json()["detail"]) < 300, response.text
    assert annotation.files() == before


def test_a_deeply_nested_field_is_an_error(annotation: Annotation) -> None:
    response = annotation.client.post("/annotation/events", content=DEEP, headers={"content-type": "application/json"})
    assert response.status_code == 422 and "'comment' has require" in response.text


def test_split_words_stay_within_the_limit_of_words(annotation: Annotation) -> None:
    response = annotation.act("tokens", sentence=1, start=0, end=1, words=["a"] * 30)
    assert response.status_code == 422 and "would have 33 words; expected at most 30" in response.text
    assert annotation.act("tokens", sentence=1, start=0, end=1, words=["a"] * 20 + ["a" * 10]).status_code == 200


def test_annotators_are_limited_because_each_has_an_open_file(
    annotation: Annotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "_MAX_ANNOTATORS", 2)
    statuses = [annotation.act("comment", annotator=name, text="x").status_code for name in ("a", "b", "c", "a/../c")]
    assert statuses == [200, 200, 422, 422]
    assert annotation.act("comment", 1, annotator="b", text="x").status_code == 200


@pytest.mark.parametrize("size", [0, 60])
def test_a_full_disk_leaves_the_log_as_it_was(
    annotation: Annotation, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def sync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert annotation.act("comment", 2, text="first").status_code == 200
    before = annotation.files()
    with monkeypatch.context() as patch:
        if size:
            patch.setattr(events, "MAX_LOG_BYTES", size)
        else:
            patch.setattr(os, "fsync", sync)
        response = annotation.act("comment", text="second")
    assert response.status_code == 507 and "the last action is not saved" in response.json()["detail"]
    assert annotation.files() == before
    assert annotation.act("comment", text="second").status_code == 200
    lines = (annotation.folder / "ann.events.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["first", "second"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"authorization": "Bearer secre"}, 401),
        ({"authorization": ""}, 401),
    ],
)
def test_pages_of_other_origins_and_clients_without_the_token_cannot_act(
    annotation: Annotation, headers: dict[str, str], status: int
) -> None:
    before = annotation.files()
    body = json.dumps({"sentence": 0, "version": 0, "action": "comment", "text": "x"})
    headers = {"content-type": "application/json", **headers}
    assert annotation.client.post("/annotation/events", content=body, headers=headers).status_code == status
    for path in ("info", "queue", "sentences/0", "search?pattern=NP", "agreement"):
        response = annotation.client.get(f"/annotation/{path}", headers=headers)
        assert response.status_code == status or status == 415
    assert annotation.files() == before


def test_a_second_writer_of_the_same_folder_is_refused(annotation: Annotation) -> None:
    with pytest.raises(LockedError, match="is being written by process"):
        Project(annotation.folder, SENTENCES)
    assert annotation.act("comment", text="x").status_code == 200


def test_a_link_in_the_folder_is_not_followed(annotation: Annotation, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("")
    (annotation.folder / "eve.events.jsonl").symlink_to(target)
    assert annotation.act("comment", annotator="eve", text="x").status_code == 507
    assert target.read_text() == ""


@pytest.mark.parametrize(
    "line",
    ["[1]", '{"x": 1}', '{"words": "abc"}', '{"words": [1]}', '{"words": [""]}', '{"words": null}', "null", "[" * 9999],
)
def test_a_line_that_is_no_sentence_is_an_error_with_the_file(tmp_path: Path, line: str) -> None:
    (tmp_path / "sentences.jsonl").write_text(f"{line}\n")
    with pytest.raises(DamagedFileError, match=r"sentences\.jsonl.* expected "):
        Project(tmp_path)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"action": "tokens", "start": 0, "end": 1, "words": [1]}, r"the new words are \[1\]"),
        ({"action": "tag", "tags": {"0": ["DT"]}}, "the tag is"),
        ({"action": "yes", "require": [[0, 2, {}]]}, "require contains"),
        ({"action": "done", "tree": "(TOP"}, "missing at the end"),
        ({"action": "done", "tree": "(TOP (X the))\n(TOP (X cat))"}, "found a second"),
        ({"action": "done", "tree": "(TOP (X dog))"}, "the tree is over 'dog'"),
    ],
)
def test_an_impossible_event_in_a_log_is_left_out_with_a_warning(tmp_path: Path, values: Any, reason: str) -> None:
    Project(tmp_path, SENTENCES).close()
    (tmp_path / "eve.events.jsonl").write_text(json.dumps({"sentence": 0, "version": 0, **values}) + "\n")
    warnings: list[str] = []
    Project(tmp_path, warn=warnings.append).close()
    assert len(warnings) == 1 and re.search(rf"event 1 is left out: .*{reason}", warnings[0]), warnings
    assert (tmp_path / "eve.mrg").read_bytes() == b""
