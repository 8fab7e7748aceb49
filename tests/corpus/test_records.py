"""Tests of JSON lines and Parquet files as inputs of `treecrf parse`."""

import csv
import gzip
import io
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treecrf.cli import main
from treecrf.corpus.inputs import InputFile, RecordFields, read_lines
from treecrf.corpus.records import open_parquet, read_rows, read_texts

RECORDS: list[dict[str, Any]] = [
    {"id": 7, "tokens": ["the", "cat", "sang"], "text": "The cat\nsang. We slept."},
    {"id": "b\u2028c", "tokens": "we  sang\nslowly", "text": ""},
    {"id": None, "tokens": None, "text": None},
    {"id": 8, "tokens": ["New York", "(", "\u00a0"], "text": "We (Ada) sang."},
]


@pytest.fixture
def parse(model: Path, tmp_path: Path) -> Any:
    def run(path: Path, *options: str) -> list[str]:
        with pytest.raises(SystemExit) as ended:
            main(["parse", str(path), "--model", str(model), "--device", "cpu", "-o", str(tmp_path / "out"), *options])
        assert not ended.value.code, ended.value.code
        return (tmp_path / "out").read_bytes().decode().removesuffix("\n").split("\n")

    return run


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The same records as JSON lines, plain and compressed, and as Parquet."""
    plain = write_lines(tmp_path / "in.jsonl", RECORDS)
    (tmp_path / "in.ndjson.gz").write_bytes(gzip.compress(plain.read_bytes()))
    texts = [{"key": record["id"] and str(record["id"]), "text": record["text"]} for record in RECORDS]
    pq.write_table(pa.Table.from_pylist(texts), tmp_path / "in.parquet")
    return [plain, tmp_path / "in.ndjson.gz", tmp_path / "in.parquet"]


def test_raw_text_in_records_is_parsed_like_lines_of_text(files: list[Path], tmp_path: Path, parse: Any) -> None:
    (tmp_path / "in.txt").write_text("The cat sang. We slept.\n\n\nWe (Ada) sang.\n")
    expected = parse(tmp_path / "in.txt")
    assert [parse(path) for path in files] == [expected] * 3


def test_words_in_records_may_have_any_characters(files: list[Path], parse: Any) -> None:
    first, second, third, fourth = map(json.loads, parse(files[0], "--tokens", "--format", "json"))
    assert first["words"] == ["the", "cat", "sang"] and second["words"] == ["we", "sang", "slowly"] and third is None
    assert fourth["words"] == ["New York", "(", "\u00a0"]
    assert fourth["offsets"] == [[0, 8], [9, 10], [11, 12]] and second["offsets"] == [[0, 2], [4, 8], [9, 15]]
    assert r"New\u{20}York" in parse(files[0], "--tokens")[3]


def test_the_id_of_a_record_is_copied_into_json(files: list[Path], parse: Any) -> None:
    for path, field, expected in (
        (files[0], "id", [7, "b\u2028c", None, 8]),
        (files[2], "key", ["7", "b\u2028c", None, "8"]),
    ):
        lines = parse(path, "--format", "json", "--id", field)
        assert [json.loads(line).get(field) for line in lines] == expected
    empty = write_lines(files[0].with_name("empty.jsonl"), [{"id": 1, "tokens": []}])
    assert parse(empty, "--tokens", "--format", "json") == ['{"id": 1, "tree": null}']


BAD: dict[str, str] = {
    "{": r"in\.jsonl:2: the line is not JSON",
    "[1]": r"in\.jsonl:2: the line is a list; expected an object",
    '{"body": "x"}': r"in\.jsonl:2: the record has no field 'tokens'; choose one of its fields with --field: body",
    '{"tokens": 3}': r"in\.jsonl:2: 'tokens' is a number; expected a string or a list of words",
    '{"tokens": ["a", ""]}': r"in\.jsonl:2: 'tokens' has an empty string at index 1; expected a word",
    '{"tokens": ["a", null]}': r"in\.jsonl:2: 'tokens' has null at index 1",
    '{"tokens": ["\\ud800"]}': r"in\.jsonl:2: 'tokens' has an unpaired surrogate",
}


@pytest.mark.parametrize(("line", "message"), BAD.items())
def test_a_bad_record_is_an_error_or_left_empty(
    tmp_path: Path, model: Path, parse: Any, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    (tmp_path / "in.jsonl").write_text(f'{{"tokens": ["we"]}}\n{line}\n\n')
    with pytest.raises(SystemExit) as ended:
        main(["parse", "--tokens", str(tmp_path / "in.jsonl"), "--model", str(model), "--device", "cpu"])
    assert re.search(message, str(ended.value.code))
    assert parse(tmp_path / "in.jsonl", "--tokens", "--skip-bad")[1:] == ["", ""]
    assert re.search(message, capsys.readouterr().err)


def test_reading_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"reading Parquet needs pyarrow: pip install 'treecrf\[tables\]'"):
        open_parquet("in.parquet")


def test_any_range_of_parquet_rows_is_read(tmp_path: Path) -> None:
    texts = [f"row {number}" for number in range(5000)]
    pq.write_table(pa.table({"text": texts, "id": range(5000)}), tmp_path / "in.pq", row_group_size=1500)
    for first, count in ((0, 5000), (0, 1), (1499, 2), (1600, 3000), (4999, 1), (3000, 0)):
        lines = list(read_rows(str(tmp_path / "in.pq"), RecordFields(), limit=1000, first=first, count=count))
        assert [line.text for line in lines] == texts[first : first + count]
        assert [line.id_json for line in lines] == [f'"id": {number}' for number in range(first, first + count)]
    with pytest.raises(ValueError, match="has no column 'body'; choose one with --field: text, id"):
        list(read_rows(str(tmp_path / "in.pq"), RecordFields("body"), limit=1000))
    for limit in (4, 5):  # a text has at least 5 bytes
        line = next(read_rows(str(tmp_path / "in.pq"), RecordFields(), limit=limit))
        assert (line.text, line.size, line.id_json) == ("" if limit == 4 else "row 0", 5, '"id": 0')
        assert bool(line.problem) == (limit == 4)


def test_texts_of_records_are_read_up_to_a_problem(tmp_path: Path) -> None:
    texts = read_texts(write_lines(tmp_path / "in.jsonl", [{"text": "a"}, {"text": "b"}, {"words": "c"}]))
    assert [next(texts), next(texts)] == ["a", "b"]
    with pytest.raises(ValueError, match=r"in\.jsonl, record 3: the record has no field 'text'"):
        next(texts)


def test_an_id_that_is_not_a_number_is_a_problem(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", "b"], "id": [math.nan, 1.5]}), tmp_path / "in.pq")
    bad, good = read_rows(str(tmp_path / "in.pq"), RecordFields(), limit=9)
    assert bad.problem.startswith("'id' is nan, which JSON cannot write") and not bad.text
    assert (good.text, good.id_json, good.problem) == ("b", '"id": 1.5', "")


@pytest.mark.parametrize(("name", "delimiter"), [("in.csv", ","), ("in.tsv", "\t"), ("in.csv.gz", ",")])
def test_rows_of_csv_and_tsv_are_read(tmp_path: Path, name: str, delimiter: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows([["id", "text"], ["7", 'She, "Kim",\nsang.'], ["8", ""]])
    data = stream.getvalue().encode("utf-8-sig")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    lines = list(read_lines(InputFile(str(tmp_path / name), Path(name)), limit=100))
    assert [(line.text, line.id_text) for line in lines] == [('She, "Kim",\nsang.', "7"), ("", "8")]
    lines = list(read_lines(InputFile(str(tmp_path / name), Path(name)), limit=5))
    assert "the limit is 5" in lines[0].problem and not lines[1].problem


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n1,2\n", "has no column 'text'; choose one with --field: a, b"),
        (b"text\n\xff\n", "expected CSV in UTF-8"),
    ],
)
def test_csv_that_cannot_be_read_is_an_error(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "in.csv").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        list(read_lines(InputFile(str(tmp_path / "in.csv"), Path("in.csv")), limit=100))
