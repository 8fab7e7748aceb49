import asyncio
import gc
import gzip
import json

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from treecrf.server.errors import ApiError
from treecrf.server.request_body import await_connected, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
MALFORMED = {
    "an empty body": b"",
    "an incomplete object": b"{",
    "a bare word": b"hello",
    "more than one value": b'{"text": "a"} {}',
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"text": ' * 100_000,
    "deep and closed": b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a huge number": b'{"text": "a", "k": ' + b"9" * 100_000 + b"}",
    "NaN": b'{"text": "a", "k": NaN}',
    "infinity": b'{"text": "a", "k": -Infinity}',
    "a name twice": b'{"text": "a", "text": "b"}',
    "one of many names twice": b"{%s}" % b",".join(b'"%d":0' % (number % 80_000) for number in range(80_001)),
    "a name twice inside": b'{"text": "a", "constraints": {"require": [], "require": []}}',
    "a lone surrogate": b'{"text": "\\ud800"}',
    "a reversed surrogate pair": b'{"text": "\\uDE00\\uD83D"}',
    "a lone surrogate in a name": b'{"\\udfff": 1}',
    "a null byte": b'{"text": "a\0b"}',
    "a control character": b'{"text": "a\nb"}',
    "Latin-1": '{"text": "é"}'.encode("latin-1"),
    "UTF-16": '{"text": "a"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"text": "a"}',
    "a surrogate in UTF-8": b'{"text": "\xed\xa0\x80"}',
    "an overlong character": b'{"text": "\xc0\xaf"}',
}
INVALID = {
    "null": b"null",
    "a number": b"1",
    "a list": b'[{"text": "a"}]',
    "a string": b'"text"',
    "null text": b'{"text": null}',
    "a float": b'{"text": "a", "k": 1e999}',
    "a fraction": b'{"text": "a", "k": 1.5}',
    "a string for a number": b'{"text": "a", "k": "2"}',
    "a number for a boolean": b'{"text": "a", "mbr": 1}',
    "an object for text": b'{"text": {"a": 1}}',
    "nested tokens": b'{"tokens": [["a"]]}',
    "null among tokens": b'{"tokens": ["a", null]}',
    "a prototype": b'{"text": "a", "__proto__": {}}',
    "too many constraints": b'{"tokens": ["a"], "constraints": {"forbid": ['
    + b'{"start":0,"end":1},' * 1000
    + b'{"start":0,"end":1}]}}',
    "too many objects": b'{"tokens": ["a"], "constraints": [%s]}' % b",".join([b"{}"] * 50_001),
    "a negative span": b'{"tokens": ["a"], "constraints": {"forbid": [{"start": -1, "end": 1}]}}',
}


def post(client: TestClient, body: bytes, **headers: str) -> int:
    all_headers = {
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    response = client.post("/parse", content=body, headers=all_headers)
    assert response.status_code == 200 or set(response.json()) == {"detail", "request_id"}
    return int(response.status_code)


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_is_status_400(client: TestClient, name: str) -> None:
    assert post(client, MALFORMED[name]) == 400
    assert post(client, b'{"text": "It works."}') == 200


@pytest.mark.parametrize("name", INVALID)
def test_json_that_does_not_match_the_schema_is_status_422(client: TestClient, name: str) -> None:
    assert post(client, INVALID[name]) == 422


@pytest.mark.parametrize(
    "media_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json5", "*/*"],
)
def test_other_media_types_are_status_415(client: TestClient, media_type: str) -> None:
    assert post(client, b'{"text": "a"}', Content_Type=media_type) == 415


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=utf-8", "application/json;x"])
def test_the_media_type_of_json_is_accepted(client: TestClient, media_type: str) -> None:
    assert post(client, b'{"text": "a"}', Content_Type=media_type) == 200


def test_a_compressed_body_is_rejected(client: TestClient) -> None:
    bomb = gzip.compress(b'{"text": "' + b"a" * 10_000_000 + b'"}')
    assert post(client, bomb, Content_Encoding="gzip") == 415
    assert post(client, bomb) == 400


def test_a_body_over_the_limit_is_status_413(client: TestClient) -> None:
    overhead = len(b'{"text": ""}')
    assert post(client, b'{"text": "%s"}' % (b" " * (1_000_000 - overhead))) == 200
    assert post(client, b'{"text": "%s"}' % (b" " * (1_000_001 - overhead))) == 413


@given(VALUES)
def test_every_json_value_survives_a_round_trip(value: object) -> None:
    for is_ascii in (True, False):
        assert parse_json(json.dumps(value, ensure_ascii=is_ascii).encode()) == value


@given(st.binary(max_size=50))
def test_arbitrary_bytes_are_json_or_status_400(data: bytes) -> None:
    try:
        parse_json(data)
    except ApiError as error:
        assert error.status_code == 400


def test_an_error_after_the_client_has_left_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail_when_canceled() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            raise ApiError(422, "too late") from None

    async def disconnect() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def run() -> None:
        with pytest.raises(ApiError, match="499"):
            await await_connected(Request({"type": "http"}, disconnect), fail_when_canceled())
        await asyncio.sleep(0)
        gc.collect()

    asyncio.run(run())
    assert not caplog.records
