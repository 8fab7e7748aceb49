import json

import pytest
from pydantic import BaseModel

from treecrf.server.errors import ApiError, error_response, validate


class Numbers(BaseModel):
    numbers: list[int]


def test_an_error_response_is_ascii_json_with_its_headers() -> None:
    response = error_response("id-1", 503, "caf\u00e9 \ud800", {"retry-after": "2"})
    assert response.status_code == 503 and response.headers["retry-after"] == "2"
    assert bytes(response.body).isascii()
    assert json.loads(response.body) == {"detail": "caf\u00e9 \ud800", "request_id": "id-1"}


def test_a_validation_error_names_five_fields_and_repeats_no_input() -> None:
    with pytest.raises(ApiError) as error:
        validate(Numbers, {"numbers": ["a secret"] * 9})
    assert error.value.status_code == 422 and "secret" not in error.value.detail
    assert [part.partition(":")[0] for part in error.value.detail.split("; ")] == [f"numbers.{n}" for n in range(5)]
