import pytest
from fastapi.testclient import TestClient


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
