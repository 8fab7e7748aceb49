import json

import pytest
from pydantic import BaseModel, ValidationError

from treecrf.server.errors import error_response, validation_error


class Numbers(BaseModel):
    numbers: list[int]


def test_an_error_response_is_ascii_json_with_its_headers() -> None:
    response = error_response("id-1", 503, "caf\u00e9 \ud800", {"retry-after": "2"})
    assert response.status_code == 503 and response.headers["retry-after"] == "2"
    assert bytes(response.body).isascii()
    assert json.loads(response.body) == {"detail": "caf\u00e9 \ud800", "request_id": "id-1"}


def test_a_validation_error_names_five_fields_and_repeats_no_input() -> None:
    with pytest.raises(ValidationError) as error:
        Numbers.model_validate({"numbers": ["a secret"] * 9})
    api_error = validation_error(error.value)
    assert api_error.status_code == 422 and "secret" not in api_error.detail
    assert [part.partition(":")[0] for part in api_error.detail.split("; ")] == [f"numbers.{n}" for n in range(5)]
