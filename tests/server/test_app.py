import json

import pytest
from fastapi.testclient import TestClient

from small import random_parser
from toygrammar import toy_trees
from treecrf.decoding.constraints import Constraints
from treecrf.parser import Parser
from treecrf.parser.formats import Parsed, Style
from treecrf.server import schema
from treecrf.server.app import create_app
from treecrf.server.limits import Limits
from treecrf.text import sentences

TEXT = "The old cat sees a garden. Does she (often) sing? 😀"
WORDS = ["the", "old", "cat", "sees", "a", "garden", "."]


def sentences_of(client: TestClient, **body: object) -> list[dict[str, object]]:
    answer = client.post("/parse", json=body)
    assert answer.status_code == 200, answer.text
    assert schema.ParseAnswer.model_validate(answer.json())
    return list(answer.json()["sentences"])


def test_a_text_is_parsed_as_the_command_line_does(client: TestClient, parser: Parser) -> None:
    every = list(sentences(TEXT))
    trees = parser.parse_many(every)
    offsets = [[(token.start, token.end) for token in tokens] for tokens in every]
    line = Style(format="json", is_text=True).line(list(map(Parsed, trees, offsets)))
    assert client.post("/parse", json={"text": TEXT}).json() == {"model": "small", **json.loads(line)}
    assert len(every) > 1


def test_words_are_parsed_as_one_sentence(client: TestClient, parser: Parser) -> None:
    (sentence,) = sentences_of(client, tokens=WORDS)
    assert sentence["tree"] == str(parser.parse(WORDS))
    assert sentence["words"] == WORDS
    assert [" ".join(WORDS)[start:end] for start, end in sentence["offsets"]] == WORDS


def test_given_tags_stand_in_the_tree(client: TestClient) -> None:
    (sentence,) = sentences_of(client, tokens=["the", "cat"], tags=["X", "Y"])
    assert sentence["tags"] == ["X", "Y"]


def test_alternatives_and_probabilities_are_those_of_the_parser(client: TestClient, parser: Parser) -> None:
    (sentence,) = sentences_of(client, tokens=WORDS, k=3, probabilities=True)
    analysis = parser.analyze(WORDS, k=3)
    assert [other["tree"] for other in sentence["kbest"]] == [str(other.tree) for other in analysis.alternatives]
    assert sentence["log_prob"] == pytest.approx(analysis.log_prob, abs=1e-4)
    found = [span["probability"] for span in sentence["spans"]]
    assert found == pytest.approx([constituent.probability for constituent in analysis.constituents], abs=1e-4)


@pytest.mark.parametrize("probabilities", [False, True])
def test_marginals_are_those_of_the_distribution(client: TestClient, parser: Parser, probabilities: bool) -> None:
    (sentence,) = sentences_of(client, tokens=WORDS, marginals=True, probabilities=probabilities)
    marginals = parser.crf(WORDS).marginals[0]
    for start, row in enumerate(sentence["marginals"]):
        assert row == pytest.approx(marginals[start, start + 1 :].tolist(), abs=1e-4)
    assert [len(row) for row in sentence["marginals"]] == [7, 6, 5, 4, 3, 2, 1]


def test_trees_meet_constraints(client: TestClient, parser: Parser) -> None:
    known = {"require": [{"start": 1, "end": 3, "label": "NP"}], "forbid": [{"start": 0, "end": 2}]}
    (sentence,) = sentences_of(client, tokens=WORDS, constraints=known)
    constraints = Constraints(require=[(1, 3, "NP")], forbid=[(0, 2)])
    assert sentence["tree"] == str(parser.parse(WORDS, constraints=constraints)) != str(parser.parse(WORDS))


def test_each_sentence_of_a_text_has_its_own_constraints(client: TestClient) -> None:
    known = [None, {"require": [{"start": 1, "end": 3, "label": "QP"}]}]
    first, second = sentences_of(client, text="The cat sang. We saw it.", constraints=known)
    assert (1, 3, "QP") in [(span["start"], span["end"], span["label"]) for span in second["spans"]]
    assert first == sentences_of(client, text="The cat sang.")[0]


def test_a_batch_answers_each_input_in_its_place(client: TestClient) -> None:
    inputs: list[dict[str, object]] = [{"text": TEXT}, {"text": " "}, {"tokens": WORDS}, {"tokens": []}]
    answer = client.post("/parse/batch", json={"inputs": inputs, "probabilities": True}).json()
    assert schema.BatchAnswer.model_validate(answer)
    assert answer["model"] == "small"
    alone = [{"sentences": sentences_of(client, **given, probabilities=True)} for given in inputs]
    assert [[one["tree"] for one in each["sentences"]] for each in answer["results"]] == [
        [one["tree"] for one in each["sentences"]] for each in alone
    ]


def test_brackets_and_drawings_are_plain_text(client: TestClient, parser: Parser) -> None:
    answer = client.post("/parse", json={"tokens": WORDS, "format": "brackets"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == f"{parser.parse(WORDS)}\n"
    lines = client.post("/parse/batch", json={"inputs": [{"text": ""}, {"tokens": WORDS}], "format": "brackets"}).text
    assert lines == f"\n{parser.parse(WORDS)}\n"
    drawing = client.post("/parse", json={"tokens": WORDS, "format": "pretty", "k": 2}).text
    assert parser.parse(WORDS).pretty() in drawing and "log-probability" in drawing


def test_the_best_scoring_tree_can_be_asked_for(client: TestClient, parser: Parser) -> None:
    for tree in toy_trees(5, seed=9):
        (sentence,) = sentences_of(client, tokens=tree.words, mbr=False)
        assert sentence["tree"] == str(parser.parse(tree.words, mbr=False))


def test_a_request_names_its_model(parser: Parser) -> None:
    other = random_parser(toy_trees(20, seed=8), tag_size=8)
    with TestClient(create_app({"small": parser, "other": other})) as client:
        names = [model["name"] for model in client.get("/models").json()["models"]]
        answer = client.post("/parse", json={"tokens": ["a", "b"], "tags": ["X", "Y"], "model": "other"}).json()
        assert answer["model"] == "other" and names == ["small", "other"]
        tree = other.parse(["a", "b"], tags=["X", "Y"])
        assert answer["sentences"][0]["tree"] == str(tree)
        refused = client.post("/parse", json={"tokens": ["a", "b"], "model": "other"})
        assert refused.status_code == 422 and "expected tokens with tags" in refused.json()["detail"]


def test_models_are_listed_with_their_labels_and_the_limits(client: TestClient, parser: Parser) -> None:
    answer = client.get("/models").json()
    (listed,) = answer["models"]
    assert listed["labels"] == ["ADVP", "FRAG", "NP", "PP", "QP", "S", "SBAR", "TOP", "VP"]
    assert (listed["language"], listed["root"], listed["has_tags"], listed["reads_tags"]) == ("en", "TOP", True, False)
    assert answer["limits"]["words"] == Limits().words


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "expected either text or tokens"),
        ({"text": "a", "tokens": ["a"]}, "expected either text or tokens"),
        ({"text": "a", "tags": ["X"]}, "1 tags and 0 tokens"),
        ({"tokens": ["a", "b"], "tags": ["X"]}, "1 tags and 2 tokens"),
        ({"tokens": [1]}, "tokens.0: Input should be a valid string"),
        ({"text": "a", "kbest": 2}, "kbest: Extra inputs are not permitted"),
        ({"text": "a", "k": -1}, "k: "),
        ({"text": "a", "k": True}, "k: "),
        ({"text": "a", "k": 21}, "k: 21 alternatives; the limit of this server is 20"),
        ({"text": "a", "k": 2, "format": "brackets"}, "brackets hold one tree"),
        ({"text": "a", "marginals": True, "format": "pretty"}, "expected them with format json"),
        ({"text": "a", "model": "klingon"}, "there is no 'klingon' here; expected one of small"),
        ({"tokens": ["a"] * 301}, "sentence 0 has 301 words; the limit of this server is 300"),
        ({"tokens": ["a"] * 101, "marginals": True}, "the limit of this server for marginals is 100"),
        ({"text": "Yes.\n\n" * 1001}, "more than 1000 sentences"),
        ({"text": "One. Two.", "constraints": {"forbid": []}}, "constraints of 1 sentences, but there are 2"),
        ({"tokens": ["a"], "constraints": {"require": [{"start": 0, "end": 2}]}}, "sentence 0: require a constituent"),
        ({"tokens": ["a"], "constraints": {"forbid": [{"start": 0, "end": 10**30}]}}, "sentence of 1 words"),
        ({"tokens": ["a"], "constraints": {"forbid": [{"start": 0, "end": 1, "label": "X"}]}}, "no such label"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(client: TestClient, body: dict[str, object], message: str) -> None:
    answer = client.post("/parse", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_a_refused_input_of_a_batch_is_named(client: TestClient) -> None:
    crossing = {"require": [{"start": 0, "end": 2}, {"start": 1, "end": 3}]}
    inputs = [{"text": "Yes."}, {"tokens": WORDS, "constraints": crossing}]
    answer = client.post("/parse/batch", json={"inputs": inputs})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("inputs.1: sentence 0: require a constituent over words[0:2]")


def test_odd_words_come_back_as_they_were(client: TestClient) -> None:
    odd = ["", " ", "\n", "\0", "(", ")", "a b", "\u2028", "é", "😀", "</script>", '"', "\\", "x" * 5000]
    (sentence,) = sentences_of(client, tokens=odd, probabilities=True, k=2)
    assert sentence["words"] == odd


def test_a_failure_of_our_own_is_a_500_without_details(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Parser, "parse_many", fail)
    with TestClient(create_app({"small": parser})) as client:
        answer = client.post("/parse", json={"tokens": ["a"]})
        assert answer.status_code == 500
        assert "secret" not in answer.text and answer.json()["request_id"] in answer.text
        assert client.get("/health").status_code == 200


def test_pages_exist_or_do_not(client: TestClient) -> None:
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
    for path in (
        "/nowhere",
        "/../app.py",
        "/%2e%2e/app.py",
        "/%00",
        "/page/index.html",
        "/index.html",
        "//etc/passwd",
        "/a" * 2000,
    ):
        assert client.get(path).status_code == 404, path
    assert client.post("/health").status_code == 405
    assert client.get("/parse").status_code == 405


def test_the_reference_needs_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "POST /parse/batch" in page and "marginals" in page
    assert "http:" not in page and "https:" not in page and "<script" not in page
