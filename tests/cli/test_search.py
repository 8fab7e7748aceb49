import csv
import io
import json
from pathlib import Path

import pytest

from small import FIFTY, random_parser
from treecrf.cli import main
from treecrf.trees.treebank import read_trees

TREES = """\
(TOP (S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NP (NN Kim)) (CC and) (NP (NN me))))))
(TOP (NP (NN dog)))
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return str(path)


@pytest.fixture
def search(capsys):
    def run(*args: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["search", *args])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("pattern", ["/^(a+)+b/", "__ !.. (__ .. (__ .. (__ .. (__ .. (__ .. (__ .. xyz))))))"])
def test_a_search_ends_at_its_time_limit(search, tmp_path, pattern):
    (tmp_path / "hostile.mrg").write_text(f"(S {' '.join(['(NN ' + 'a' * 60 + ')'] * 200)})\n")
    status, output, _ = search(pattern, str(tmp_path / "hostile.mrg"), "--max-seconds", "0.2")
    assert "the search took more than 0.2 seconds; expected a simpler pattern" in str(status) and not output


def test_a_time_limit_must_be_positive(search, file):
    assert "expected a positive number" in str(search("NP", file, "--max-seconds", "-1")[0])
    assert search("NP", file, "--max-seconds", "60")[0] is None


def test_each_match_is_a_line_with_file_tree_and_node(search, file):
    status, output, _ = search("NP < NN", file)
    assert status is None
    assert output.splitlines() == [
        f"{file}:1\t(NP (DT the) (NN cat))",
        f"{file}:1\t(NP (NN Kim))",
        f"{file}:1\t(NP (NN me))",
        f"{file}:2\t(NP (NN dog))",
    ]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (["VP", "--show", "words"], ["saw Kim and me"]),
        (["CC", "--show", "trees"], [TREES.splitlines()[0]]),
        (["NP < NP"], ["(NP (NP (NN Kim)) (CC and) (NP (NN me)))"] * 2),
        (["NP < NP", "--nodes"], ["(NP (NP (NN Kim)) (CC and) (NP (NN me)))"]),
        (["and", "--show", "words"], ["and"]),
        (["NP <# NP"], ["(NP (NP (NN Kim)) (CC and) (NP (NN me)))"]),
        (["NP <# (NP < (NN < Kim))", "--heads", "chinese"], []),
    ],
)
def test_options_choose_what_is_printed(search, file, options, lines):
    _, output, _ = search(*options, file)
    assert output.splitlines() == [f"{file}:1\t{line}" for line in lines]


def test_json_has_spans_names_and_variables(search, file):
    _, output, _ = search("NN=noun > (/^(N)P/#1%x=phrase < DT)", file, "--show", "json")
    record = json.loads(output)
    assert record == {
        "file": file,
        "tree": 1,
        "label": "NN",
        "span": [1, 2],
        "words": ["cat"],
        "node": "(NN cat)",
        "names": {
            "noun": {"label": "NN", "span": [1, 2], "words": ["cat"], "node": "(NN cat)"},
            "phrase": {"label": "NP", "span": [0, 2], "words": ["the", "cat"], "node": "(NP (DT the) (NN cat))"},
        },
        "variables": {"x": "N"},
    }


def test_words_in_context_mark_the_match(search, file, monkeypatch):
    _, output, _ = search("VP|NN", file, "--show", "kwic")
    lines = output.splitlines()
    assert lines[0] == f"{file}:1\t{'the':>40} [cat] saw Kim and me"
    assert lines[1] == f"{file}:1\t{'the cat':>40} [saw Kim and me]"
    assert lines[-1] == f"{file}:2\t{'':>40} [dog]"
    monkeypatch.setattr("treecrf.corpus.terminal.has_colors", lambda stream: True)
    _, output, _ = search("VBD", file, "--show", "kwic")
    assert output == f"{file}:1\t{'the cat':>40} \x1b[1;31m[saw]\x1b[0m Kim and me\n"


def test_csv_has_a_header_and_a_row_for_each_match(search, file):
    _, output, _ = search("NP < CC", file, "--show", "csv")
    header, row = csv.DictReader(io.StringIO(output)).fieldnames, list(csv.DictReader(io.StringIO(output)))
    assert header == ["file", "tree", "label", "start", "end", "before", "words", "after", "node"] and len(row) == 1
    assert (row[0]["label"], row[0]["start"], row[0]["end"]) == ("NP", "3", "6")
    assert (row[0]["before"], row[0]["words"], row[0]["after"]) == ("the cat saw", "Kim and me", "")
    assert row[0]["node"] == "(NP (NP (NN Kim)) (CC and) (NP (NN me)))"


def test_counts_have_one_line_per_file(search, file, monkeypatch, tmp_path):
    monkeypatch.setattr("treecrf.cli.search._BATCH", 1)
    (tmp_path / "empty.mrg").write_text("")
    _, output, _ = search("NP << NN", file, str(tmp_path / "empty.mrg"), "--show", "counts")
    assert output.splitlines() == ["file\tmatches\tnodes\ttrees", f"{file}\t6\t5\t2", f"{tmp_path}/empty.mrg\t0\t0\t0"]


def test_standard_input_is_the_default(search, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TREES.encode())))
    assert search("TOP < NP")[1] == "-:2\t(TOP (NP (NN dog)))\n"


def test_surgery_prints_the_changed_trees(search, file, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text("NP < (NN=n < dog)\n\ndelete n\ninsert (NN cat) >1 np\n")
    assert "the pattern names no node 'np'" in search("--surgery", str(script), file)[0]
    script.write_text("DT=d\n\ndelete d\n\nTOP=t < NP\n\ndelete t\n")
    status, output, errors = search("--surgery", str(script), file)
    assert status is None
    assert output == TREES.splitlines()[0].replace("(DT the) ", "") + "\n"
    assert errors == "treecrf search: the surgery deleted 1 whole tree\n"


def test_problems_are_messages(search, file, tmp_path):
    assert search("NP <", file)[0].endswith("\n  NP <\n      ^")
    assert "expected a pattern" in search()[0]
    script = tmp_path / "script.txt"
    script.write_text("NN=n\n\ndelete n\n")
    assert "--surgery prints trees" in search("--surgery", str(script), "--nodes", file)[0]
    script.write_text("NN=n < dog\n\ndelete n\n")
    assert f"{file}, tree 2: surgery at 'NN=n < dog': 'NP' has no children" in search("--surgery", str(script), file)[0]


def test_expected_counts_of_a_text(search, tmp_path):
    folder, text = tmp_path / "model", tmp_path / "text.txt"
    random_parser(list(read_trees(FIFTY)), tag_head=True).save(folder)
    text.write_text("The cat sleeps. We know it.\n")
    status, output, _ = search("NP", "--expected", "--model", str(folder), "--samples", "50", str(text))
    assert status is None
    header, *sentences, total = (line.split("\t") for line in output.splitlines())
    rows = [dict(zip(header, row, strict=True)) for row in (*sentences, total)]
    assert [(row["sentence"], row["words"]) for row in rows] == [
        ("1", "The cat sleeps ."),
        ("2", "We know it ."),
        ("all", ""),
    ]
    assert float(rows[2]["expected"]) == pytest.approx(sum(float(row["expected"]) for row in rows[:2]), abs=0.002)
    for row in rows:
        assert float(row["low"]) <= float(row["expected"]) <= float(row["high"])
        assert int(row["count_low"]) <= int(row["count_high"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["NP", "--model", "en"], "--model and --samples need --expected"),
        (["NP", "--expected", "--nodes"], "--expected prints numbers"),
        (["--surgery", "x", "--expected"], "--surgery prints trees"),
    ],
)
def test_options_that_exclude_each_other(search, options, message):
    status, _, _ = search(*options)
    assert message in str(status)


def test_folders_and_json_lines_are_searched(search, file, tmp_path):
    lines = [json.dumps({"sentences": [{"tree": str(tree)}]}) for tree in read_trees(file)]
    (tmp_path / "parsed.jsonl").write_text("\n".join([*lines, '{"tree": null}', ""]))
    code, output, _ = search("NP <: NN", str(tmp_path), "--show", "counts")
    assert not code
    assert output == f"file\tmatches\tnodes\ttrees\n{tmp_path}/parsed.jsonl\t3\t3\t2\n{file}\t3\t3\t2\n"
    (tmp_path / "parsed.jsonl").write_text('{"tree": 7}')
    assert "parsed.jsonl:1: expected a tree in brackets, or a line of `treecrf parse" in search("NP", str(tmp_path))[0]
