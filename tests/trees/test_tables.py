import re
import sys

import pytest

from treecrf.trees.analysis import Analysis, Constituent, ParsedSentence
from treecrf.trees.search import CHINESE
from treecrf.trees.tables import COLUMNS, Position, arrow_schema, csv_text, csv_to_parquet, table_rows, trees_to_frame
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


@pytest.mark.parametrize("kind", ["constituents", "sentences"])
def test_offsets_may_count_from_the_start_of_a_document(kind):
    shifted = ParsedSentence(TREE, [(start + 100, end + 100) for start, end in OFFSETS])
    assert [row["text"] for row in rows(shifted, kind, start=100)] == [
        row["text"] for row in rows(ParsedSentence(TREE, OFFSETS), kind)
    ]


@pytest.mark.parametrize(("rules", "head"), [(CHINESE, "b"), (None, None)])
def test_heads_follow_the_given_rules(rules, head):
    tree = Tree.parse("(NP (NP (NN a)) (NP (NN b)))")
    first, *_ = table_rows(ParsedSentence(tree, [(0, 1), (2, 3)]), Position(), "a b", kind="constituents", rules=rules)
    assert dict(zip(COLUMNS["constituents"], first, strict=True))["head"] == head


def test_predicates_have_a_row_each_with_the_texts_of_their_arguments():
    tree = Tree.parse(
        "(S (NP-SBJ-1 (DT The) (NN vote)) (VP (VBD was) (VP (VBN held) (NP (-NONE- *-1)) (NP-TMP (NNP May)) "
        "(PP-LOC (IN in) (NP (NNP Rome)))  (PP (IN by) (NP-LGS (PRP us))))))"
    )
    sentence = ParsedSentence(tree, [(0, 1)] * len(tree.words))
    (row,) = table_rows(sentence, Position(line=3), "", kind="predicates")
    values = dict(zip(COLUMNS["predicates"], row, strict=True))
    assert values["line"] == 3 and values["word"] == 3
    assert {name: value for name, value in values.items() if isinstance(value, str)} == {
        **{"predicate": "held", "voice": "passive", "subject": "The vote", "agent": "us"},
        **{"times": "May", "places": "in Rome"},
    }


def test_csv_quotes_what_needs_quotes():
    assert csv_text([("a\nb", None, 1.5), ("x,y", 2, "")]) == '"a\nb",,1.5\n"x,y",2,'


OTHER = Tree.parse("(TOP (NP (NN rain)))")
OTHER_ANALYSIS = Analysis(
    tree=OTHER,
    log_prob=-0.5,
    calibrated=0.7,
    entropy=0.2,
    constituents=(Constituent(0, 1, "TOP", 1.0, 0.9), Constituent(0, 1, "NP", 0.8, 0.75)),
    alternatives=(),
    alternatives_exact=True,
)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_for_each_constituent(library):
    frame = trees_to_frame([TREE, OTHER], library=library)
    assert list(frame.columns) == list(COLUMNS["constituents"])
    assert frame["label"].to_list() == ["TOP", "S", "NP", "VP", "TOP", "NP"]
    assert frame["depth"].to_list() == [0, 1, 2, 2, 0, 1]
    assert frame["head"].to_list() == ["sleeps", "sleeps", "cat", "sleeps", "rain", "rain"]
    assert frame["sentence"].to_list() == [1, 1, 1, 1, 2, 2]
    assert frame["text"].to_list()[2:4] == ["the cat", "sleeps"]
    assert frame["start_char"].to_list()[2:4] == [0, 8]


def test_a_frame_has_a_row_for_each_sentence():
    table = trees_to_frame([TREE, OTHER], kind="sentences", library="arrow")
    assert table.column("words").to_pylist() == [3, 1]
    assert [Tree.parse(text) for text in table.column("tree").to_pylist()] == [TREE, OTHER]
    assert table.column("log_prob").to_pylist() == [None, None]


def test_offsets_of_parsed_texts_are_those_of_the_document():
    text = "Rain.\n\n the cat  sleeps"
    offsets = [match.span() for match in re.finditer(r"\w+", text)][1:]
    table = trees_to_frame([ParsedSentence(TREE, offsets, text=text[8:])], library="arrow")
    rows = table.select(["start_char", "end_char", "text"]).to_pylist()
    assert [text[row["start_char"] : row["end_char"]] for row in rows] == [row["text"] for row in rows]
    assert rows[0]["text"] == "the cat  sleeps"


def test_analyses_have_probabilities():
    table = trees_to_frame([OTHER_ANALYSIS], library="arrow")
    assert table.column("probability").to_pylist() == [1.0, 0.8]
    assert table.column("calibrated").to_pylist() == [0.9, 0.75]
    sentences = trees_to_frame([OTHER_ANALYSIS], kind="sentences", library="arrow")
    assert (sentences["log_prob"][0].as_py(), sentences["entropy"][0].as_py()) == (-0.5, 0.2)


def test_head_rules_can_be_chosen():
    tree = Tree.parse("(NP (NP (NN a)) (NP (NN b)))")
    assert trees_to_frame([tree], library="arrow")["head"][0].as_py() == "a"
    heads = [trees_to_frame([tree], library="arrow", head_rules=rules)["head"][0].as_py() for rules in (CHINESE, None)]
    assert heads == ["b", None]


def test_no_sentences_make_an_empty_frame():
    assert trees_to_frame([], library="arrow").num_rows == 0


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("pyarrow", r"trees_to_frame\(\) needs pyarrow: pip install 'treecrf\[tables\]'"),
        ("pandas", "library='pandas' needs pandas: pip install pandas"),
    ],
)
def test_missing_libraries_are_named(monkeypatch, module, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        trees_to_frame([TREE])


def test_unknown_libraries_and_kinds_are_errors():
    with pytest.raises(ValueError, match="expected 'arrow', 'pandas' or 'polars'"):
        trees_to_frame([TREE], library="dask")
    with pytest.raises(ValueError, match="expected 'constituents' or 'sentences'"):
        trees_to_frame([TREE], kind="words")


parquet = pytest.importorskip("pyarrow.parquet")


ROW = ("d", None, 1, 2, 0, 3, "NP", 1, "cat", 0, 7, 'the "big"\ncat', 0.5, None)


def test_parquet_keeps_types_missing_values_and_line_breaks(tmp_path):
    (tmp_path / "rows.csv").write_text(csv_text([COLUMNS["constituents"], ROW]) + "\n")
    csv_to_parquet(tmp_path / "rows.csv", tmp_path / "rows.parquet", "constituents")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert table.schema.equals(arrow_schema("constituents"))
    assert tuple(table.to_pylist()[0].values()) == ROW


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"a table needs pyarrow: pip install 'treecrf\[tables\]'"):
        arrow_schema("sentences")
