import json

import pytest

from treecrf.parser.formats import Formatter
from treecrf.trees.analysis import Alternative, Analysis, Constituent, ParsedSentence
from treecrf.trees.tree import Tree

TREE = Tree.parse(r"(TOP (NP (DT a) (NN \u{28})))")
OFFSETS = [(0, 1), (2, 3)]
CONSTITUENTS = (Constituent(0, 2, "TOP", 1.0, 1.0), Constituent(0, 2, "NP", 0.12345678, 0.25))
OTHER = Alternative(TREE, -2.0, 0.1, 0.25, CONSTITUENTS, ("NP is new",))
ANALYSIS = Analysis(TREE, -1.0, 0.5, 0.75, CONSTITUENTS, (OTHER,), False, ([0.1234567, 1.0], [0.5]))
SENTENCE = ParsedSentence(TREE, OFFSETS, ANALYSIS)


def test_parentheses_of_brackets_are_those_of_treebanks_unless_exact() -> None:
    assert Formatter().sentence(SENTENCE) == "(TOP (NP (DT a) (NN -LRB-)))"
    assert Formatter(exact=True).line([SENTENCE, SENTENCE]) == f"{TREE} {TREE}"


def test_json_has_the_requested_probabilities_with_six_digits() -> None:
    plain = json.loads(Formatter(format="json").sentence(ParsedSentence(TREE, OFFSETS)))
    assert plain == {
        "tree": "(TOP (NP (DT a) (NN -LRB-)))",
        "words": ["a", "("],
        "tags": ["DT", "NN"],
        "offsets": [[0, 1], [2, 3]],
        "spans": [{"start": 0, "end": 2, "label": label, "offsets": [0, 3]} for label in ("TOP", "NP")],
    }
    full = json.loads(Formatter(format="json", probs=True, kbest=1).sentence(SENTENCE))
    assert full["spans"][1]["probability"] == 0.123457 and full["spans"][1]["calibrated"] == 0.25
    assert (full["log_prob"], full["calibrated"], full["entropy"]) == (-1.0, 0.5, 0.75)
    assert (full["kbest"][0]["probability"], full["kbest"][0]["log_prob"]) == (0.25, -2.0)
    assert full["kbest"][0]["differences"] == ["NP is new"] and full["kbest"][0]["spans"] == full["spans"]
    assert full["kbest_exact"] is False and full["marginals"] == [[0.123457, 1.0], [0.5]]


@pytest.mark.parametrize(
    ("formatter", "count", "expected"),
    [
        (Formatter(format="json", is_text=True), 2, '{"sentences": [x, x]}'),
        (Formatter(format="json", is_text=True), 0, '{"sentences": []}'),
        (Formatter(format="json"), 1, "x"),
        (Formatter(format="json"), 0, "null"),
        (Formatter(), 2, "x x"),
        (Formatter(format="pretty"), 2, "x\nx"),
    ],
)
def test_a_line_joins_its_sentences(formatter: Formatter, count: int, expected: str) -> None:
    assert formatter.join(["x"] * count) == expected


def test_json_has_no_character_that_ends_a_line() -> None:
    tree = Tree.parse("(TOP (X a\u2028b\x85))")
    text = Formatter(format="json").sentence(ParsedSentence(tree, [(0, 4)]))
    assert r"\u2028" in text and r"\u0085" in text and len(text.splitlines()) == 1
    assert json.loads(text)["words"] == ["a\u2028b\x85"]


def test_a_drawing_has_probabilities_and_alternatives() -> None:
    lines = Formatter(format="pretty", probs=True, kbest=1).sentence(SENTENCE).split("\n")
    assert lines[1].endswith("  0.250") and "log-probability -1.000, calibrated 0.500, entropy 0.750" in lines
    assert "1: probability 0.250 of the reading" in lines and "NP is new" in lines
    assert any("Other readings may have more probable trees" in line for line in lines)
    assert Formatter(format="pretty").sentence(SENTENCE) == TREE.pretty() + "\n"
