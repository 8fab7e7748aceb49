import io
import json

import pytest

from treecrf.server.tregex import LENGTH_BYTES, READY, find_pattern, run

TREE = f"(S {'(NN a) ' * 30})"


def without_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are for a whole process, and would end the process of the tests."""
    monkeypatch.setattr("treecrf.server.tregex._limit_process", lambda: None)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)


def blocks(data: bytes) -> list[bytes]:
    stream, result = io.BytesIO(data), []
    while length := stream.read(LENGTH_BYTES):
        result.append(stream.read(int.from_bytes(length, "big")))
    return result


@pytest.mark.parametrize("limit", [300, 1000, 5000])
def test_an_answer_is_no_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr("treecrf.server.limits.SEARCH_ANSWER_BYTES", limit)
    answer = find_pattern("__=a .. (__=b .. __=c)", ["(S (NN \u4e2d) (NN \u6587) (NN \u5b57) (NN \u4e32))", TREE])
    assert json.loads(answer) == {"error": f"its matches have more than {limit:,} bytes"}
    assert "sentences" in json.loads(find_pattern("S", ["(S (NN a))"]))


def test_an_answer_has_the_matches_of_each_sentence() -> None:
    answer = json.loads(find_pattern("NN=x", ["(S (NN a) (VB b))", "(S (VB b))", "(S (NN c) (NN d))"]))
    texts = [[match["spanString"] for match in sentence.values()] for sentence in answer["sentences"]]
    assert texts == [["a"], [], ["c", "d"]]
    assert answer["sentences"][2]["1"] == {"match": "(NN d)\n", "namedNodes": [{"x": "(NN d)\n"}], "spanString": "d"}


def test_a_process_answers_requests_until_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    without_limits(monkeypatch)
    requests = [json.dumps({"pattern": pattern, "brackets": ["(S (NN a))"]}).encode() for pattern in ("NN", "(")]
    answers = io.BytesIO()
    run(io.BytesIO(b"".join(len(request).to_bytes(LENGTH_BYTES, "big") + request for request in requests)), answers)
    ready, found, error = blocks(answers.getvalue())
    assert ready == READY and b'"match"' in found and b'"error"' in error


def test_a_process_ends_after_an_error_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pattern: str, brackets: list[str]) -> bytes:
        raise MemoryError

    without_limits(monkeypatch)
    monkeypatch.setattr("treecrf.server.tregex.find_pattern", fail)
    answers = io.BytesIO()
    run(io.BytesIO(b'\0\0\0\x20{"pattern": "a", "brackets": []}' * 2), answers)
    assert [b"too much memory" in block for block in blocks(answers.getvalue())] == [False, True]
