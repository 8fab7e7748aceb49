import io
import json
from typing import Any

import pytest

from treecrf.server.tree_process import LENGTH_BYTES, READY, answer, run
from treecrf.trees.dependencies import to_dependencies
from treecrf.trees.tree import Tree

TREE = f"(S {'(NN a) ' * 30})"


def ask(function: str, trees: list[str], **values: Any) -> dict[str, Any]:
    return dict(json.loads(answer(function, brackets=trees, **values)))


def without_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are for a whole process, and would end the process of the tests."""
    monkeypatch.setattr("treecrf.server.tree_process._limit_process", lambda: None)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)


def blocks(data: bytes) -> list[bytes]:
    stream, result = io.BytesIO(data), []
    while length := stream.read(LENGTH_BYTES):
        result.append(stream.read(int.from_bytes(length, "big")))
    return result


@pytest.mark.parametrize("limit", [300, 1000, 5000])
def test_an_answer_is_no_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr("treecrf.server.limits.SEARCH_ANSWER_BYTES", limit)
    trees = ["(S (NN \u4e2d) (NN \u6587) (NN \u5b57) (NN \u4e32))", TREE]
    assert ask("find_pattern", trees, pattern="__=a .. (__=b .. __=c)") == {
        "error": f"the answer has more than {limit:,} bytes"
    }
    assert "sentences" in ask("find_pattern", ["(S (NN a))"], pattern="S")


def test_an_answer_has_the_matches_of_each_sentence() -> None:
    trees = ["(S (NN a) (VB b))", "(S (VB b))", "(S (NN c) (NN d))"]
    sentences = ask("find_pattern", trees, pattern="NN=x")["sentences"]
    assert [[match["spanString"] for match in sentence.values()] for sentence in sentences] == [["a"], [], ["c", "d"]]
    assert sentences[2]["1"] == {"match": "(NN d)\n", "namedNodes": [{"x": "(NN d)\n"}], "spanString": "d"}


def test_nodes_are_found_once_with_their_tree_and_words() -> None:
    trees = ["(S (NP (DT the) (NN cat)) (VP (VB sat) (-NONE- *)))", "(S (VB b))"]
    np = {"tree": 0, "start": 0, "end": 2, "label": "NP", "text": "the cat"}
    assert ask("find_nodes", trees, pattern="NP < __=x")["matches"] == [np]
    words = [match["text"] for match in ask("find_nodes", trees, pattern="/^VB/ < __")["matches"]]
    assert words == ["sat", "b"]
    assert ask("find_nodes", trees, pattern="X") == {"matches": []}


def test_trees_become_conllu() -> None:
    trees = [Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))"), Tree.parse('(NP (NN "\\u{20}"))')]
    conllu = "".join(to_dependencies(tree).conllu(sentence_id=str(number)) for number, tree in enumerate(trees, 7))
    assert ask("write_conllu", list(map(str, trees)), first=7) == {"conllu": conllu}


@pytest.mark.parametrize(
    "function", [{"function": "find_nodes", "pattern": "NN"}, {"function": "write_conllu", "first": 1}]
)
def test_trees_may_be_deep_and_unreadable_trees_are_an_error(function: dict[str, Any]) -> None:
    deep = "(S " * 50_000 + "(NN a)" + ")" * 50_000
    assert json.loads(answer(**function, brackets=[deep])).keys() < {"matches", "conllu"}
    assert json.loads(answer(**function, brackets=[deep, "(S (NN b)"]))["error"].startswith("trees.1: ")


def test_a_process_answers_requests_until_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    without_limits(monkeypatch)
    values = {"function": "find_pattern", "brackets": ["(S (NN a))"]}
    requests = [json.dumps({**values, "pattern": pattern}).encode() for pattern in ("NN", "(")]
    answers = io.BytesIO()
    run(io.BytesIO(b"".join(len(request).to_bytes(LENGTH_BYTES, "big") + request for request in requests)), answers)
    ready, found, error = blocks(answers.getvalue())
    assert ready == READY and b'"match"' in found and b'"error"' in error


def test_a_process_ends_after_an_error_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> bytes:
        raise MemoryError

    without_limits(monkeypatch)
    monkeypatch.setattr("treecrf.server.tree_process.answer", fail)
    answers = io.BytesIO()
    run(io.BytesIO(b'\0\0\0\x20{"pattern": "a", "brackets": []}' * 2), answers)
    assert blocks(answers.getvalue()) == [READY]
