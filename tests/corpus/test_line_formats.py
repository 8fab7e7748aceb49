import json

import pytest

from treecrf.corpus.inputs import Line
from treecrf.corpus.line_formats import LineFormatter
from treecrf.corpus.options import ParseOptions
from treecrf.trees.analysis import ParsedSentence
from treecrf.trees.tree import Tree

TEXT = "Dogs ran.  We sang!"
DOGS = ParsedSentence(Tree.parse("(TOP (S (NP (NNS Dogs)) (VP (VBD ran)) (. .)))"), [(0, 4), (5, 8), (8, 9)])
WE = ParsedSentence(Tree.parse("(TOP (S (NP (PRP We)) (VP (VBD sang)) (. !)))"), [(11, 13), (14, 18), (18, 19)])


def format_line(line: Line, *sentences: ParsedSentence, language: str = "en", **options) -> str:
    return LineFormatter(ParseOptions(**options), language).line(sentences, "a.txt", 7, line)


def test_json_has_the_id_of_its_record() -> None:
    line = Line(TEXT, "", 20, id_json='"key": 5')
    record = json.loads(format_line(line, DOGS, WE, format="json"))
    assert record["key"] == 5 and [sentence["words"][0] for sentence in record["sentences"]] == ["Dogs", "We"]
    assert format_line(line, format="json", tokens=True) == '{"key": 5, "tree": null}'
    assert format_line(Line("", "", 1), format="json", tokens=True) == "null"
    assert "key" not in format_line(line, DOGS, format="pretty")


def test_conllu_has_the_place_the_text_and_the_spaces_of_each_sentence() -> None:
    first, second = format_line(Line(TEXT, "", 20), DOGS, WE, format="conllu").split("\n\n")
    assert first.startswith("# sent_id = a.txt-7-1\n# text = Dogs ran.\n")
    assert second.startswith("# sent_id = a.txt-7-2\n# text = We sang!\n") and second.endswith("\n")
    rows = [row.split("\t") for row in first.split("\n")[2:]]
    assert [(row[1], row[9]) for row in rows] == [("Dogs", "_"), ("ran", "SpaceAfter=No"), (".", "_")]
    with pytest.raises(ValueError, match="conllu has rules for English trees, and the language of the model is 'zh'"):
        LineFormatter(ParseOptions(format="conllu"), "zh")


def test_tables_have_a_header_and_rows_with_their_place() -> None:
    line = Line(TEXT, "", 20, id_json='"id": "b"')
    formatter = LineFormatter(ParseOptions(format="csv", rows="sentences"), "en")
    columns = formatter.header.split(",")
    rows = [
        dict(zip(columns, row.split(","), strict=False))
        for row in formatter.line([DOGS, WE], "a.txt", 7, line).split("\n")
    ]
    assert [(row["document"], row["id"], row["line"], row["sentence"]) for row in rows] == [
        ("a.txt", "b", "7", "1"),
        ("a.txt", "b", "7", "2"),
    ]
    heads = format_line(line, DOGS, format="csv")
    assert len(heads.split("\n")) == len(DOGS.tree.spans())
    assert LineFormatter(ParseOptions(format="json"), "en").header == ""
    assert formatter.line([], "a.txt", 8, Line("", "", 1)) == ""
