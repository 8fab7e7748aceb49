"""Property-based tests: the responses of a server match its OpenAPI document."""

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks

from server_process import ServerProcess

ROUTES = {
    **dict.fromkeys(("/parse", "/parse/batch", "/sentences", "/search", "/dependencies"), "POST"),
    **dict.fromkeys(("/models", "/labels", "/health", "/metrics"), "GET"),
}
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.status_code_conformance,
]
SETTINGS = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def document(server: ServerProcess) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


def test_every_route_is_tested(document: schemathesis.BaseSchema) -> None:
    routes = {operation.ok().path: operation.ok().method.upper() for operation in document.get_all_operations()}
    assert routes == ROUTES


@pytest.mark.parametrize(
    ("path", "mode"),
    [(path, mode) for path in ROUTES for mode in GenerationMode if mode.is_positive or ROUTES[path] == "POST"],
)
def test_no_request_causes_a_server_error(document: schemathesis.BaseSchema, path: str, mode: GenerationMode) -> None:
    operation = document[path][ROUTES[path]]

    @SETTINGS
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS)
        if isinstance(case.body, dict) and case.body.pop("model", None) is not None:
            case.call_and_validate(checks=CHECKS)  # without an unknown model, the request may reach the parser

    run()


def test_the_docs_page_needs_no_external_resources(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "POST /parse/batch" in page and "marginals" in page
    assert "http:" not in page and "https:" not in page and "<script>" not in page
