from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from small import random_parser
from toygrammar import toy_trees
from treecrf.parser import Parser
from treecrf.server.app import create_app
from treecrf.server.limits import Limits
from treecrf.server.models import load_parsers


def test_a_parser_has_the_name_of_its_folder(model: Path) -> None:
    assert list(load_parsers([str(model)], "cpu")) == ["small"]
    with pytest.raises(ValueError, match="two models have the name 'small'"):
        load_parsers([str(model), f"{model}/../small"], "cpu")


def test_models_are_listed_with_their_labels_and_the_limits(client: TestClient, parser: Parser) -> None:
    response = client.get("/models").json()
    (info,) = response["models"]
    assert info["labels"] == ["ADVP", "FRAG", "NP", "PP", "QP", "S", "SBAR", "TOP", "VP"]
    assert info["description"] == "English, LSTM"
    assert (info["language"], info["root"], info["has_tags"], info["reads_tags"]) == ("en", "TOP", True, False)
    assert response["limits"]["words"] == Limits().words


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
