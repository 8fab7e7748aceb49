import json
import logging
import re

import pytest
from fastapi.testclient import TestClient

from treecrf.parser import Parser
from treecrf.server.app import create_app
from treecrf.server.monitoring import JsonFormatter, Metrics


def log_entries(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [
        json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name.startswith("treecrf")
    ]


def test_a_request_is_logged_without_its_text(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        client.post("/parse", json={"text": "Secret cats sing."}, headers={"X-Request-ID": "mine-1"})
    (entry,) = log_entries(caplog)
    assert (entry["message"], entry["request_id"], entry["status"]) == ("request", "mine-1", 200)
    assert (entry["method"], entry["path"], entry["sentences"], entry["words"]) == ("POST", "/parse", 1, 4)
    assert "ecret" not in json.dumps(entry)


@pytest.mark.parametrize("client_id", ["", "a b", "x" * 65, "{}", "é"])
def test_an_invalid_request_id_is_replaced(client: TestClient, client_id: str) -> None:
    response = client.get("/models", headers={"X-Request-ID": client_id.encode()})
    assert len(response.headers["x-request-id"]) == 32


def test_health_is_not_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        client.get("/health")
    assert not log_entries(caplog)


def test_an_exception_is_logged_with_its_traceback() -> None:
    try:
        raise ValueError("no\nway")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "failed", None, (type(error), error, error.__traceback__))
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert "ValueError: no\nway" in json.loads(text)["traceback"]


def test_requests_are_counted_by_method_path_and_status(client: TestClient) -> None:
    client.post("/parse", json={"tokens": ["a"]})
    client.post("/parse", json={"tokens": 1})
    client.get("/made-up-path-1")
    client.request("BREW", "/made-up-path-2")
    text = client.get("/metrics").text
    for label in (
        'method="POST",path="/parse",status="200"',
        'method="POST",path="/parse",status="422"',
        'method="GET",path="other",status="404"',
        'method="other",path="other",status="404"',
    ):
        assert f"treecrf_requests_total{{{label}}} 1.0" in text
    assert "made-up" not in text
    assert "treecrf_sentences_total 1.0" in text
    assert "treecrf_queue_sentences 0.0" in text


def test_every_route_is_counted_under_its_own_path(parser: Parser) -> None:
    with TestClient(create_app({"small": parser}, corenlp=True)) as client:
        client.post("/sentences", json={"text": "We sing."})
        client.post("/", content=b"We sing.")
        client.post("/tregex", params={"pattern": "NP < ("}, content=b"We sing.")
        for path in ("/ping", "/ready", "/live", "/docs", "/openapi.json", "/main.js"):
            client.get(path)
        text = client.get("/metrics").text
    paths = {("POST", "/sentences", 200), ("POST", "/", 200), ("POST", "/tregex", 422), ("GET", "other", 200)}
    paths |= {("GET", path, 200) for path in ("/ping", "/ready", "/live", "/docs", "/openapi.json")}
    rows = re.findall(r'treecrf_requests_total{method="(\w+)",path="(.*)",status="(\d+)"} 1.0', text)
    assert {(method, path, int(status)) for method, path, status in rows} == paths


def test_each_app_has_its_own_metrics() -> None:
    first, second = Metrics(), Metrics()
    first.record_request("GET", "/models", 200, 0.5)
    first.record_batch(sentences=3, requests=2, seconds=0.25)
    value = first.registry.get_sample_value
    assert value("treecrf_requests_total", {"method": "GET", "path": "/models", "status": "200"}) == 1
    assert value("treecrf_request_seconds_sum", {"path": "/models"}) == 0.5
    assert (value("treecrf_sentences_total"), value("treecrf_batch_requests_sum")) == (3, 2)
    assert second.registry.get_sample_value("treecrf_sentences_total") == 0
    assert value("treecrf_batch_seconds_sum") == 0.25
