"""The routes that search and convert trees."""

import pytest
from fastapi.testclient import TestClient

from treecrf.parser import Parser
from treecrf.server.app import create_app
from treecrf.server.limits import Limits
from treecrf.trees.dependencies import to_dependencies
from treecrf.trees.tree import Tree

TREES = ["(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))", "(TOP (NP (NN rain)))"]


def test_trees_are_searched(client: TestClient) -> None:
    answer = client.post("/search", json={"trees": TREES, "pattern": "NP < DT"}).json()
    assert answer == {"matches": [{"tree": 0, "start": 0, "end": 2, "label": "NP", "text": "the cat"}]}


def test_trees_are_converted(client: TestClient) -> None:
    conllu = "".join(to_dependencies(Tree.parse(tree)).conllu(sentence_id=str(i)) for i, tree in enumerate(TREES, 4))
    assert client.post("/dependencies", json={"trees": TREES, "first": 4}).json() == {"conllu": conllu}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("search", {"trees": TREES, "pattern": "NP < ("}, "pattern: "),
        ("search", {"trees": TREES, "pattern": ""}, "pattern: "),
        ("search", {"trees": ["(S", *TREES], "pattern": "NP"}, "trees.0: "),
        ("dependencies", {"trees": [*TREES, "(S (NN a"]}, "trees.2: "),
        ("dependencies", {"trees": TREES * 3}, "6 trees; this server's limit is 5; send several requests"),
    ],
)
def test_errors_name_the_field(parser: Parser, path: str, body: dict[str, object], message: str) -> None:
    with TestClient(create_app({"small": parser}, limits=Limits(sentences=5))) as client:
        answer = client.post(f"/{path}", json=body)
        assert answer.status_code == 422 and answer.json()["detail"].startswith(message)


def test_labels_and_tags_are_explained(client: TestClient) -> None:
    answer = client.get("/labels", params={"model": "small"}).json()
    assert answer["labels"]["NP"] == "noun phrase" and answer["tags"]["DT"] == "determiner"
    assert "this server has no model 'x'" in client.get("/labels", params={"model": "x"}).json()["detail"]
