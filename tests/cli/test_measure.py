import csv
import json
from pathlib import Path

import pytest

from small import FIFTY, random_parser
from treecrf.cli import main
from treecrf.parser import Parser
from treecrf.trees.treebank import read_trees

TEXT = "The cat sleeps. We know that it\nsleeps.\n"
TREE = "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .)))\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model")
    random_parser(list(read_trees(FIFTY)), tag_head=True).save(folder)
    return str(folder)


@pytest.fixture
def measure(capsys):
    def run(*args: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["measure", *args])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.txt").write_text("")
    (folder / "gold.mrg").write_text(TREE)
    return folder


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_a_folder_gives_a_row_for_each_text(measure, model, texts):
    table = texts / "table.csv"
    for _ in range(2):  # the table of the first run is no input of the second
        status, _, errors = measure(str(texts), "-o", str(table), "--model", model, "--samples", "5")
        assert status is None
    assert "table.csv: it is the output" in errors and "b.txt has no sentences" in errors
    assert errors.count("the model has no measures.json") == 1
    text, empty, gold = read_table(table)
    assert [Path(row["file"]).name for row in (text, empty, gold)] == ["a.txt", "b.txt", "gold.mrg"]
    assert (text["S"], empty["S"], gold["S"], gold["W"], gold["T"]) == ("2", "0", "1", "3", "1")
    assert float(text["yngve_low"]) <= float(text["yngve"]) <= float(text["yngve_high"])
    assert float(text["MLT_pop_low"]) <= float(text["MLT"]) <= float(text["MLT_pop_high"])
    assert (gold["C_low"], gold["C_pop_low"]) == ("", "")


def test_words_have_a_row_each(measure, model, texts):
    _, output, _ = measure(str(texts / "a.txt"), str(texts / "gold.mrg"), "--words", "--model", model, "--samples", "5")
    rows = list(csv.DictReader(output.splitlines()))
    gold = [row for row in rows if row["file"].endswith("gold.mrg")]
    assert [(row["sentence"], row["number"], row["word"], row["depth"]) for row in gold] == [
        ("1", "1", "the", "2"),
        ("1", "2", "cat", "2"),
        ("1", "3", "sleeps", "2"),
    ]
    assert {row["sentence"] for row in rows if row["file"].endswith("a.txt")} == {"1", "2"}


def test_trees_need_no_model(measure, texts, monkeypatch):
    monkeypatch.setattr(Parser, "load", None)
    _, output, _ = measure(str(texts / "gold.mrg"))
    assert output.startswith(
        "file,W,S,VP,C,T,DC,CT,CP,CN,MLS,MLT,MLC,C/S,VP/T,C/T,DC/C,DC/T,T/S,CT/T,CP/T,CP/C,CN/T,CN/C"
    )


def test_trees_in_json_lines_and_texts_in_tables_are_read(measure, model, tmp_path):
    (tmp_path / "trees.jsonl").write_text(json.dumps({"sentences": [{"tree": TREE.strip()}]}) + "\n")
    (tmp_path / "text.csv").write_text('id,text\n1,"The cat sleeps."\n2,"We know that it sleeps."\n')
    (tmp_path / "text.txt").write_text(TEXT)
    status, table, _ = measure(
        *(str(tmp_path / name) for name in ("trees.jsonl", "text.csv", "text.txt")), "--model", model, "--samples", "5"
    )
    trees, cells, text = csv.DictReader(table.splitlines())
    assert status is None and (trees["W"], trees["S"]) == ("3", "1")
    assert list(cells.values())[1:] == list(text.values())[1:]
    assert "choose one with --field: id, text" in str(measure(str(tmp_path / "text.csv"), "--field", "body")[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"caf\xe9 \xff", "bad.txt:1: "), ("Go.".encode("utf-16-le"), "zero bytes"), (b"a " * 2001, "2,001 words")],
)
def test_a_bad_text_leaves_no_table(measure, model, tmp_path, content, message):
    (tmp_path / "bad.txt").write_bytes(content)
    status, _, _ = measure(str(tmp_path / "bad.txt"), "-o", str(tmp_path / "table.csv"), "--model", model)
    assert message in str(status) and "bad.txt" in str(status)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_one_sample_is_refused(measure, texts):
    status, _, _ = measure(str(texts), "--samples", "1")
    assert "--samples is 1" in str(status)
