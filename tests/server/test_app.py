import json

import pytest
from fastapi.testclient import TestClient

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.formats import Formatter
from treecrf.server import schema
from treecrf.server.app import create_app
from treecrf.server.limits import Limits
from treecrf.text import sentences
from treecrf.trees.analysis import OutputSentence

TEXT = "The old cat sees a garden. Does she (often) sing? 😀"
WORDS = ["the", "old", "cat", "sees", "a", "garden", "."]


def parse(client: TestClient, **body: object) -> list[dict[str, object]]:
    response = client.post("/parse", json=body)
    assert response.status_code == 200, response.text
    assert schema.ParseResponse.model_validate(response.json())
    return list(response.json()["sentences"])


def test_a_text_is_parsed_as_on_the_command_line(client: TestClient, parser: Parser) -> None:
    text_sentences = list(sentences(TEXT))
    trees = parser.parse_many(text_sentences)
    offsets = [[(token.start, token.end) for token in tokens] for tokens in text_sentences]
    line = Formatter(format="json", is_text=True).line(list(map(OutputSentence, trees, offsets)))
    assert client.post("/parse", json={"text": TEXT}).json() == {"model": "small", **json.loads(line), "warnings": []}
    assert len(text_sentences) > 1


def test_tokens_are_parsed_as_one_sentence(client: TestClient, parser: Parser) -> None:
    (sentence,) = parse(client, tokens=WORDS)
    assert sentence["tree"] == str(parser.parse(WORDS))
    assert sentence["words"] == WORDS
    assert [" ".join(WORDS)[start:end] for start, end in sentence["offsets"]] == WORDS


def test_the_tree_has_the_tags_of_the_request(client: TestClient) -> None:
    (sentence,) = parse(client, tokens=["the", "cat"], tags=["X", "Y"])
    assert sentence["tags"] == ["X", "Y"]


def test_alternatives_and_probabilities_are_the_parser_s(client: TestClient, parser: Parser) -> None:
    (sentence,) = parse(client, tokens=WORDS, k=3, probabilities=True)
    analysis = parser.analyze(WORDS, k=3)
    assert [other["tree"] for other in sentence["kbest"]] == [str(other.tree) for other in analysis.alternatives]
    assert sentence["log_prob"] == pytest.approx(analysis.log_prob, abs=1e-4)
    assert sentence["differences"] == list(analysis.differences)
    probabilities = [span["probability"] for span in sentence["spans"]]
    assert probabilities == pytest.approx([constituent.probability for constituent in analysis.constituents], abs=1e-4)


@pytest.mark.parametrize("probabilities", [False, True])
def test_marginals_are_the_crf_s(client: TestClient, parser: Parser, probabilities: bool) -> None:
    (sentence,) = parse(client, tokens=WORDS, marginals=True, probabilities=probabilities)
    marginals = parser.crf(WORDS).marginals[0]
    for start, row in enumerate(sentence["marginals"]):
        assert row == pytest.approx(marginals[start, start + 1 :].tolist(), abs=1e-4)
    assert [len(row) for row in sentence["marginals"]] == [7, 6, 5, 4, 3, 2, 1]


def test_trees_meet_constraints(client: TestClient, parser: Parser) -> None:
    constraints = {"require": [{"start": 1, "end": 3, "label": "NP"}], "forbid": [{"start": 0, "end": 2}]}
    (sentence,) = parse(client, tokens=WORDS, constraints=constraints)
    tree = parser.parse(WORDS, constraints=Constraints(require=[(1, 3, "NP")], forbid=[(0, 2)]))
    assert sentence["tree"] == str(tree) != str(parser.parse(WORDS))


def test_each_sentence_of_a_text_has_its_own_constraints(client: TestClient) -> None:
    constraints = [None, {"require": [{"start": 1, "end": 3, "label": "QP"}]}]
    first, second = parse(client, text="The cat sang. We saw it.", constraints=constraints)
    assert (1, 3, "QP") in [(span["start"], span["end"], span["label"]) for span in second["spans"]]
    assert first == parse(client, text="The cat sang.")[0]


def test_a_batch_has_one_result_per_input_in_order(client: TestClient) -> None:
    inputs: list[dict[str, object]] = [{"text": TEXT}, {"text": " "}, {"tokens": WORDS}, {"tokens": []}]
    response = client.post("/parse/batch", json={"inputs": inputs, "probabilities": True}).json()
    assert schema.BatchResponse.model_validate(response)
    assert response["model"] == "small"
    single = [{"sentences": parse(client, **one, probabilities=True)} for one in inputs]
    assert [[one["tree"] for one in result["sentences"]] for result in response["results"]] == [
        [one["tree"] for one in result["sentences"]] for result in single
    ]


def test_a_text_is_split_without_parsing_it(client: TestClient) -> None:
    response = client.post("/sentences", json={"text": TEXT})
    assert schema.SplitResponse.model_validate(response.json())
    parsed = parse(client, text=TEXT)
    assert response.json()["sentences"] == [{name: one[name] for name in ("words", "offsets")} for one in parsed]
    for body in ({"text": "Yes.\n\n" * 1001}, {"text": "a", "model": "klingon"}, {"tokens": ["a"]}):
        assert client.post("/sentences", json=body).status_code == 422


def test_a_text_in_another_language_has_a_warning(client: TestClient, parser: Parser) -> None:
    text = "The cat sang. 图书馆在哪里？"
    message = "the text looks Chinese, and the model small reads English; "
    for path in ("/parse", "/sentences"):
        warnings = client.post(path, json={"text": text}).json()["warnings"]
        assert warnings == [f"{message}no model of this server reads it"]
    inputs: list[dict[str, object]] = [{"text": "Yes."}, {"text": text}, {"tokens": ["图书馆"]}]
    results = client.post("/parse/batch", json={"inputs": inputs}).json()["results"]
    assert [len(result["warnings"]) for result in results] == [0, 1, 0]
    chinese = random_parser(toy_trees(5, seed=1))
    chinese.language = "zh"
    with TestClient(create_app({"small": parser, "han": chinese})) as client:
        assert client.post("/sentences", json={"text": text}).json()["warnings"] == [
            f"{message}the model han of this server reads it"
        ]


def test_brackets_and_drawings_are_plain_text(client: TestClient, parser: Parser) -> None:
    response = client.post("/parse", json={"tokens": WORDS, "format": "brackets"})
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text == f"{parser.parse(WORDS)}\n"
    lines = client.post("/parse/batch", json={"inputs": [{"text": ""}, {"tokens": WORDS}], "format": "brackets"}).text
    assert lines == f"\n{parser.parse(WORDS)}\n"
    drawing = client.post("/parse", json={"tokens": WORDS, "format": "pretty", "k": 2}).text
    assert parser.parse(WORDS).pretty() in drawing and "log-probability" in drawing


def test_mbr_false_returns_the_tree_with_the_best_score(client: TestClient, parser: Parser) -> None:
    for tree in toy_trees(5, seed=9):
        (sentence,) = parse(client, tokens=tree.words, mbr=False)
        assert sentence["tree"] == str(parser.parse(tree.words, mbr=False))


def test_a_request_may_name_its_model(parser: Parser) -> None:
    other = random_parser(toy_trees(20, seed=8), tag_size=8)
    with TestClient(create_app({"small": parser, "other": other})) as client:
        names = [model["name"] for model in client.get("/models").json()["models"]]
        response = client.post("/parse", json={"tokens": ["a", "b"], "tags": ["X", "Y"], "model": "other"}).json()
        assert response["model"] == "other" and names == ["small", "other"]
        tree = other.parse(["a", "b"], tags=["X", "Y"])
        assert response["sentences"][0]["tree"] == str(tree)
        rejected = client.post("/parse", json={"tokens": ["a", "b"], "model": "other"})
        assert rejected.status_code == 422 and "expected tokens with tags" in rejected.json()["detail"]


def test_models_are_listed_with_their_labels_and_the_limits(client: TestClient, parser: Parser) -> None:
    response = client.get("/models").json()
    (info,) = response["models"]
    assert info["labels"] == ["ADVP", "FRAG", "NP", "PP", "QP", "S", "SBAR", "TOP", "VP"]
    assert info["description"] == "English, LSTM"
    assert (info["language"], info["root"], info["has_tags"], info["reads_tags"]) == ("en", "TOP", True, False)
    assert response["limits"]["words"] == Limits().words


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
        ({"text": "a", "k": 21}, "k: 21 alternatives; this server's limit is 20"),
        ({"text": "a", "k": 2, "format": "brackets"}, "format brackets has one tree"),
        ({"text": "a", "marginals": True, "format": "pretty"}, "expected format json for marginals"),
        ({"text": "a", "model": "klingon"}, "this server has no model 'klingon'; expected one of small"),
        ({"tokens": ["a"] * 301}, "sentence 0 has 301 words; this server's limit is 300"),
        ({"tokens": ["a"] * 101, "marginals": True}, "this server's limit for marginals is 100"),
        ({"text": "Yes.\n\n" * 1001}, "more than 1000 sentences"),
        ({"text": ("so " * 290 + "\n\n") * 30, "k": 20}, "units of work; this server's limit is 2,000,000"),
        ({str(number): 0 for number in range(101)}, "an object has 101 names; expected at most 100"),
        ({"tokens": [1] * 100_000}, "tokens.0: Input should be a valid string"),
        ({"text": "One. Two.", "constraints": {"forbid": []}}, "constraints for 1 sentences, but the input has 2"),
        ({"tokens": ["a"], "constraints": {"require": [{"start": 0, "end": 2}]}}, "sentence 0: require a constituent"),
        ({"tokens": ["a"], "constraints": {"forbid": [{"start": 0, "end": 10**30}]}}, "sentence of 1 words"),
        ({"tokens": ["a"], "constraints": {"forbid": [{"start": 0, "end": 1, "label": "X"}]}}, "no such label"),
    ],
)
def test_an_invalid_request_is_status_422_with_a_reason(
    client: TestClient, body: dict[str, object], message: str
) -> None:
    response = client.post("/parse", json=body)
    assert response.status_code == 422
    assert message in response.json()["detail"]
    assert response.json()["request_id"] == response.headers["x-request-id"]


def test_an_error_in_a_batch_names_its_input(client: TestClient) -> None:
    crossing = {"require": [{"start": 0, "end": 2}, {"start": 1, "end": 3}]}
    inputs = [{"text": "Yes."}, {"tokens": WORDS, "constraints": crossing}]
    response = client.post("/parse/batch", json={"inputs": inputs})
    assert response.status_code == 422
    assert response.json()["detail"].startswith("inputs.1: sentence 0: require a constituent over words[0:2]")


def test_unusual_words_are_returned_unchanged(client: TestClient) -> None:
    words = ["", " ", "\n", "\0", "(", ")", "a b", "\u2028", "é", "😀", "</script>", '"', "\\", "x" * 5000]
    (sentence,) = parse(client, tokens=words, probabilities=True, k=2)
    assert sentence["words"] == words


def test_an_internal_error_is_status_500_without_details(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Parser, "parse_many", fail)
    with TestClient(create_app({"small": parser})) as client:
        response = client.post("/parse", json={"tokens": ["a"]})
        assert response.status_code == 500
        assert "secret" not in response.text and response.json()["request_id"] in response.text
        assert client.get("/health").status_code == 200


def test_only_files_of_the_page_are_served(client: TestClient) -> None:
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


def test_head_has_the_headers_of_get_without_the_body(client: TestClient) -> None:
    for path in ("/", "/models", "/health", "/docs"):
        head, get = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == get.headers["content-length"]
    assert client.head("/parse").status_code == 405
    assert client.head("/nowhere").status_code == 404


def test_the_docs_page_needs_no_external_resources(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "POST /parse/batch" in page and "marginals" in page
    assert "http:" not in page and "https:" not in page and "<script" not in page
