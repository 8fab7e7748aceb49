import pytest

from treecrf.trees.analysis import Analysis, Constituent, ParsedSentence
from treecrf.trees.search import CHINESE
from treecrf.trees.tables import COLUMNS, Position, csv_text, table_rows
from treecrf.trees.tree import Tree

TREE = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))))")
OFFSETS = [(0, 3), (4, 7), (9, 15)]
TEXT = "the cat  sleeps"
PROBABILITIES = [(1.0, 0.9), (0.8, 0.7), (0.6, 0.5), (0.4, 0.1234567)]
CONSTITUENTS = tuple(Constituent(*span, *numbers) for span, numbers in zip(TREE.spans(), PROBABILITIES, strict=True))
ANALYSIS = Analysis(TREE, -1.23456789, 0.3, 2.5, CONSTITUENTS, (), True)


def rows(sentence: ParsedSentence, kind: str = "constituents", **options: object) -> list[dict[str, object]]:
    found = table_rows(sentence, Position("d", "7", 3, 1), TEXT, kind=kind, **options)
    return [dict(zip(COLUMNS[kind], row, strict=True)) for row in found]


def test_a_constituent_has_its_words_its_depth_and_its_characters():
    *_, noun_phrase, verb_phrase = rows(ParsedSentence(TREE, OFFSETS))
    assert (noun_phrase["start"], noun_phrase["end"], noun_phrase["depth"], noun_phrase["head"]) == (0, 2, 2, "cat")
    assert (verb_phrase["start_char"], verb_phrase["end_char"], verb_phrase["text"]) == (9, 15, "sleeps")
    assert verb_phrase["depth"] == 2 and verb_phrase["probability"] is verb_phrase["calibrated"] is None
    assert [verb_phrase[name] for name in ("document", "id", "line", "sentence")] == ["d", "7", 3, 1]


def test_probabilities_are_rounded_to_six_digits():
    found = rows(ParsedSentence(TREE, OFFSETS, ANALYSIS))
    assert [row["probability"] for row in found] == [1.0, 0.8, 0.6, 0.4]
    assert found[-1]["calibrated"] == 0.123457
    (sentence,) = rows(ParsedSentence(TREE, OFFSETS, ANALYSIS), "sentences")
    assert (sentence["log_prob"], sentence["entropy"], sentence["words"]) == (-1.234568, 2.5, 3)
    assert sentence["text"] == TEXT and Tree.parse(sentence["tree"]) == TREE


def test_offsets_may_count_from_the_start_of_a_document():
    shifted = ParsedSentence(TREE, [(start + 100, end + 100) for start, end in OFFSETS])
    assert [row["text"] for row in rows(shifted, start=100)] == [
        row["text"] for row in rows(ParsedSentence(TREE, OFFSETS))
    ]


@pytest.mark.parametrize(("rules", "head"), [(CHINESE, "b"), (None, None)])
def test_heads_follow_the_given_rules(rules, head):
    tree = Tree.parse("(NP (NP (NN a)) (NP (NN b)))")
    first, *_ = table_rows(ParsedSentence(tree, [(0, 1), (2, 3)]), Position(), "a b", kind="constituents", rules=rules)
    assert dict(zip(COLUMNS["constituents"], first, strict=True))["head"] == head


def test_csv_quotes_what_needs_quotes():
    assert csv_text([("a\nb", None, 1.5), ("x,y", 2, "")]) == '"a\nb",,1.5\n"x,y",2,'
