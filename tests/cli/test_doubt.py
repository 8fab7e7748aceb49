"""`treecrf doubt`: text, CSV and JSON, and wrong options."""

import csv
import json

import pytest

from treecrf.cli import main

TEXT = "The cat sleeps. She saw the man with a telescope on the hill.\n"


def run(*arguments):
    with pytest.raises(SystemExit) as error:
        main(["doubt", *map(str, arguments)])
    return error.value.code


def test_tables_by_the_ending_of_the_output(tmp_path, capsys):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(TEXT)
    assert run(corpus) is None
    out = capsys.readouterr().out
    assert out.startswith("expected precision") and "2. She saw the man" in out and "97.0%" in out
    assert run(corpus, "-o", tmp_path / "a.csv") is None
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [row["sentence"] for row in rows] == ["2", "1"] and float(rows[0]["gain"]) > float(rows[1]["gain"])
    assert run(corpus, "-o", tmp_path / "a.json", "--limit", 1, "--below", 0.999, "--target-precision", 0.8) is None
    record = json.loads((tmp_path / "a.json").read_text())
    assert len(record["sentences"]) == 1 and record["sentences"][0]["doubted"]
    assert record["coverage"][-1]["precision"] == 0.8
    assert run(corpus, "-o", tmp_path / "a.txt") is None
    assert (tmp_path / "a.txt").read_text().startswith("errors/min")


def test_the_texts_of_a_table_are_a_corpus(tmp_path, capsys):
    (tmp_path / "corpus.csv").write_text('id,body\n1,"She saw the man with a telescope on the hill."\n2,It rained.\n')
    assert run(tmp_path / "corpus.csv", "--field", "body") is None
    out = capsys.readouterr().out
    assert "She saw the man" in out and "It rained ." in out and "id,body" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "a.xlsx"], "expected one of .txt, .csv, .json"),
        (["--below", "2"], "--below is 2.0; expected a number between 0 and 1"),
        (["--target-precision", "97"], "--target-precision is 97.0"),
        (["--limit", "0"], "--limit is 0"),
    ],
)
def test_wrong_options_are_errors(tmp_path, options, message):
    (tmp_path / "c.txt").write_text(TEXT)
    assert message in run(tmp_path / "c.txt", *options)


def test_an_empty_corpus_is_an_error(tmp_path):
    (tmp_path / "c.txt").touch()
    assert "has no sentences" in run(tmp_path / "c.txt")
