import json

import jsonschema
import pytest
from fastapi.testclient import TestClient

from parser.test_full_trees import with_functions
from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints, ImpossibleError
from treecrf.parser.formats import Formatter
from treecrf.server.app import create_app
from treecrf.server.limits import Limits
from treecrf.server.request_parsing import RequestOptions, SentenceInput
from treecrf.server.routes import parse_sentences
from treecrf.text import sentences
from treecrf.trees.analysis import ParsedSentence
from treecrf.trees.dependencies import to_dependencies
from treecrf.trees.tree import Tree

TREES = ["(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))", "(TOP (NP (NN rain)))"]
TEXT = "The old cat sees a garden. Does she (often) sing? 😀"
WORDS = ["the", "old", "cat", "sees", "a", "garden", "."]

JSON = Formatter(format="json")
PROBABILITIES = RequestOptions(model="small", formatter=Formatter(format="json", probs=True, kbest=2), marginals=True)


def check_schema(client: TestClient, name: str, response: object) -> None:
    components = client.get("/openapi.json").json()["components"]
    jsonschema.validate(response, {"$ref": f"#/components/schemas/{name}", "components": components})


def parse(client: TestClient, **body: object) -> list[dict[str, object]]:
    response = client.post("/parse", json=body)
    assert response.status_code == 200, response.text
    check_schema(client, "ParseResponse", response.json())
    return list(response.json()["sentences"])


def test_a_text_is_parsed_as_on_the_command_line(client: TestClient, parser: Parser) -> None:
    text_sentences = list(sentences(TEXT))
    trees = parser.parse_many(text_sentences)
    offsets = [[(token.start, token.end) for token in tokens] for tokens in text_sentences]
    line = Formatter(format="json", is_text=True).line(list(map(ParsedSentence, trees, offsets)))
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
    check_schema(client, "BatchResponse", response)
    assert response["model"] == "small"
    single = [{"sentences": parse(client, **one, probabilities=True)} for one in inputs]
    assert [[one["tree"] for one in result["sentences"]] for result in response["results"]] == [
        [one["tree"] for one in result["sentences"]] for result in single
    ]


def test_a_text_is_split_without_parsing_it(client: TestClient) -> None:
    response = client.post("/sentences", json={"text": TEXT})
    check_schema(client, "SplitResponse", response.json())
    parsed = parse(client, text=TEXT)
    assert response.json()["sentences"] == [{name: one[name] for name in ("words", "offsets")} for one in parsed]
    for body in ({"text": "Yes.\n\n" * 1001}, {"text": "a", "model": "klingon"}, {"tokens": ["a"]}):
        assert client.post("/sentences", json=body).status_code == 422


def test_brackets_and_drawings_are_plain_text(client: TestClient, parser: Parser) -> None:
    response = client.post("/parse", json={"tokens": WORDS, "format": "brackets"})
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text == f"{parser.parse(WORDS)}\n"
    lines = client.post("/parse/batch", json={"inputs": [{"text": ""}, {"tokens": WORDS}], "format": "brackets"}).text
    assert lines == f"\n{parser.parse(WORDS)}\n"
    drawing = client.post("/parse", json={"tokens": WORDS, "format": "pretty", "k": 2}).text
    assert parser.parse(WORDS).pretty() in drawing and "of the reading" in drawing


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


def sentence(*words: str, constraints: Constraints | None = None) -> SentenceInput:
    return SentenceInput(words, [(0, 0)] * len(words), None, constraints)


def test_a_sentence_with_impossible_constraints_fails_alone(parser: Parser) -> None:
    possible = Constraints(require=[(0, 2)])
    impossible = Constraints(require=[(0, 2), (1, 3)])
    options = RequestOptions(model="small", formatter=Formatter(format="json", probs=True, kbest=2))
    sentences = [
        sentence("a", "cat", "sang", constraints=constraints) for constraints in (possible, impossible, possible)
    ]
    first, second, third = parse_sentences({"small": parser}, options, sentences)
    assert isinstance(first, str) and first == third
    assert isinstance(second, ImpossibleError) and "these cross" in str(second)


def test_results_have_the_format_of_the_options(parser: Parser) -> None:
    sentences = [sentence("we", "sang"), sentence("she", "paints", "the", "wall")]
    trees = [parser.parse(list(sentence_input.words)) for sentence_input in sentences]
    brackets = parse_sentences({"small": parser}, RequestOptions(model="small", formatter=Formatter()), sentences)
    assert brackets == [str(tree) for tree in trees]
    options = RequestOptions(model="small", formatter=Formatter(format="json"), marginals=True)
    (result, _) = parse_sentences({"small": parser}, options, sentences)
    assert isinstance(result, str)
    assert json.loads(result)["marginals"] == [[1.0, 1.0], [1.0]]


def test_marginals_take_one_run_of_the_network_per_batch(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []
    score = type(parser.scorer).score

    def count(scorer: object, batch: object) -> object:
        scores = score(scorer, batch)
        batches.append(len(scores.lengths))
        return scores

    monkeypatch.setattr(type(parser.scorer), "score", count)
    for options in (RequestOptions(model="small", formatter=JSON, marginals=True), PROBABILITIES):
        results = parse_sentences({"small": parser}, options, [sentence("we", "sang"), sentence("she", "sang")])
        assert all(json.loads(result)["marginals"] == [[1.0, 1.0], [1.0]] for result in results)
    assert batches == [2, 2]


@pytest.mark.parametrize("component", ["functions", "empties"])
def test_a_component_is_refused_by_a_model_without_it(component: str, client: TestClient) -> None:
    response = client.post("/parse", json={"tokens": WORDS, component: True})
    assert response.status_code == 422
    assert response.json()["detail"] == f"{component}: the model small predicts none; models that do: none here"
    assert not client.get("/models").json()["models"][0][f"has_{component}"]


def test_empty_elements_are_added_to_trees_and_sentences() -> None:
    parser, words = Parser.load("en", "cpu"), ["the", "man", "she", "knows"]
    with TestClient(create_app({"en": parser})) as client:
        (sentence,) = parse(client, tokens=words, empties=True)
        assert client.get("/models").json()["models"][0]["has_empties"]
    assert sentence["tree"] == str(parser.parse(words, empties=True))
    assert sentence["words"] == words and "*T*" in [empty["kind"] for empty in sentence["empties"]]


def test_functions_are_added_to_labels_and_spans(parser: Parser) -> None:
    full = with_functions(parser)
    with TestClient(create_app({"small": full})) as client:
        (sentence,) = parse(client, tokens=WORDS, functions=True, probabilities=True, k=2)
        assert client.get("/models").json()["models"][0]["has_functions"]
    assert sentence["tree"] == str(full.parse(WORDS, functions=True))
    assert any(span["functions"] and span["function_probabilities"] for span in sentence["spans"])
    assert all("functions" in span for alternative in sentence["kbest"] for span in alternative["spans"])


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
