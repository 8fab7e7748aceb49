import csv
import gzip
import io
import json
import os
import random
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.corpus import parse_files
from treecrf.corpus.outputs import Sink
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.pipeline import DEFAULT_BATCHING, SentenceReader
from treecrf.trees.tables import csv_text
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = toy_trees(30, seed=3)
SENTENCES = [" ".join(tree.words) for tree in TREES]
RECORDS = {".treecrf.run", "deep/.treecrf.run"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    random_parser(TREES, tag_head=True).save(folder)
    return folder


@pytest.fixture(scope="module")
def parser(model: Path) -> Parser:
    return Parser.load(model, "cpu")


@pytest.fixture(autouse=True)
def loaded_once(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treecrf.parser.Parser.load", lambda model, device, precision: parser)


def parse(*args: object, mode: str = "--tokens") -> object:
    with pytest.raises(SystemExit) as ended:
        main(["parse", mode, *map(str, args)])
    return ended.value.code


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "in.txt", *SENTENCES)


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_model_is_loaded_by_its_name(
    model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert not parse(file, "-o", tmp_path / "out", "--model", model, "--device", "cpu")
    assert len((tmp_path / "out").read_text().splitlines()) == len(SENTENCES)
    assert "holds no model" in str(parse(file, "--model", tmp_path))
    assert "there is no model 'klingon'" in str(parse(file, "--model", "klingon"))


def test_precision_is_passed_to_the_parser(
    model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert not parse(file, "-o", tmp_path / "out", "--model", model, "--device", "cpu", "--precision", "float32")
    exact = Parser.load(model, "cpu", precision="float32")
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == list(exact.brackets_many([tree.words for tree in TREES], exact=False))


@pytest.mark.parametrize("options", [[], ["--no-mbr"]])
def test_each_sentence_of_a_file_is_parsed(parser: Parser, file: Path, tmp_path: Path, options: list[str]) -> None:
    assert not parse(file, "-o", tmp_path / "new" / "out.mrg", *options)
    expected = parser.parse_many([tree.words for tree in TREES], mbr=not options)
    assert list(read_trees(tmp_path / "new" / "out.mrg")) == list(expected)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [".out.mrg.run", "out.mrg"]


def test_standard_input_is_parsed_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin(monkeypatch, "the cat\r\nAda sang ☺\n".encode())
    assert not parse()
    words = [Tree.parse(line).words for line in capsysbinary.readouterr().out.decode().splitlines()]
    assert words == [["the", "cat"], ["Ada", "sang", "☺"]]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=12), min_size=1))
def test_each_input_line_becomes_one_output_line_with_its_words(tmp_path: Path, lines: list[str]) -> None:
    path = write(tmp_path / "in.txt", *lines)
    lines[0] = lines[0].removeprefix("\ufeff")
    expected = [[word for word in re.split("[ \t\r\f\v]", line) if word] for line in lines]
    assert not parse(path, "-o", tmp_path / "exact", "--exact")
    trees = (tmp_path / "exact").read_bytes().decode().removesuffix("\n").split("\n")
    assert [Tree.parse(tree).words if tree else [] for tree in trees] == expected
    assert not parse(path, "-o", tmp_path / "out.mrg")
    for line, words in zip((tmp_path / "out.mrg").read_bytes().decode().splitlines(), expected, strict=True):
        words_read = Tree.parse(line).words if line else []
        assert words_read == [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in words]
    assert not parse(path, "-o", tmp_path / "json", "--format", "json")
    objects = [json.loads(line) for line in (tmp_path / "json").read_bytes().decode().splitlines()]
    assert [(object or {"words": []})["words"] for object in objects] == expected


@pytest.mark.parametrize("mode", ["--tokens", "--text"])
def test_json_has_words_spans_probabilities_and_the_best_trees(parser: Parser, tmp_path: Path, mode: str) -> None:
    line = "the (old) cat sang ."
    path = write(tmp_path / "in.txt", line, "")
    assert not parse(path, "-o", tmp_path / "out", "--format", "json", "--probs", "--kbest", 3, mode=mode)
    first, empty = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert empty == (None if mode == "--tokens" else {"sentences": []})
    sentence = first if mode == "--tokens" else first["sentences"][0]
    assert [line[start:end] for start, end in sentence["offsets"]] == sentence["words"]
    analysis = parser.analyze(line.split() if mode == "--tokens" else line, k=3)
    assert sentence["words"] == analysis.tree.words and sentence["tags"] == analysis.tree.tags
    assert sentence["tree"].replace("-LRB-", r"\u{28}").replace("-RRB-", r"\u{29}") == str(analysis.tree)
    for span, c in zip(sentence["spans"], analysis.constituents, strict=True):
        assert (span["start"], span["end"], span["label"]) == (c.start, c.end, c.label)
        assert span["probability"] == pytest.approx(c.probability, abs=1e-4)
        start, end = span["offsets"]
        assert line[start:end].replace(" ", "") == "".join(sentence["words"][c.start : c.end])
    assert sentence["log_prob"] == pytest.approx(analysis.log_prob, abs=1e-4)
    assert [best["log_prob"] for best in sentence["kbest"]] == pytest.approx(
        [best.log_prob for best in analysis.alternatives], abs=1e-4
    )


def test_raw_text_of_several_sentences_stays_on_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "in.txt", "The cat sang. Didn't Ada (we asked)?", "  \t", "She slept.")
    assert not parse(path, "-o", tmp_path / "out", "--exact", mode="--text")
    first, second, third = (tmp_path / "out").read_text().splitlines()
    assert second == "" and Tree.parse(third).words == ["She", "slept", "."]
    words = [tree.words for tree in read_trees(io.StringIO(first))]
    assert words == [["The", "cat", "sang", "."], ["Did", "n't", "Ada", "(", "we", "asked", ")", "?"]]


def test_pretty_format_has_trees_and_probabilities(parser: Parser, tmp_path: Path) -> None:
    path = write(tmp_path / "in.txt", "the cat", "", "we sang")
    assert not parse(path, "-o", tmp_path / "out", "--format", "pretty", "--probs", "--kbest", 2)
    text = (tmp_path / "out").read_text()
    analysis = parser.analyze(["the", "cat"], k=2)
    for c, line in zip(analysis.constituents, re.findall(r".* \d\.\d\d\d$", text, re.MULTILINE), strict=False):
        assert line.endswith(f"{c.label}  {c.calibrated:.3f}")
    assert all(other.tree.pretty() in text for other in analysis.alternatives)
    assert not parse(path, "-o", tmp_path / "plain", "--format", "pretty")
    first, second = parser.parse(["the", "cat"]).pretty(), parser.parse(["we", "sang"]).pretty()
    assert (tmp_path / "plain").read_text() == f"{first}\n\n\n{second}\n\n"


def test_compressed_files_are_read_and_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert not parse(tmp_path / "in.gz", "-o", tmp_path / "a.gz") and not parse(file, "-o", tmp_path / "b.gz")
    assert not parse(file, "-o", tmp_path / "plain")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == (tmp_path / "plain").read_bytes()
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    (tmp_path / "cut.gz").write_bytes((tmp_path / "in.gz").read_bytes()[:-20])
    assert re.search(r"cut\.gz:\d+: the compressed data is damaged", str(parse(tmp_path / "cut.gz")))


BAD = {
    b"the cat\n\xff sang\nwe\n": r"in\.txt:2: byte 1 of the line, 0xff, is not UTF-8",
    b"the cat\nthe \xe2\x82\nwe\n": r"in\.txt:2: byte 5 of the line, 0xe2, is not UTF-8",
    b"the cat\n"
    + b"x" * 10_000_000
    + b"\nwe\n": r"in\.txt:2: a line of 10,000,001 bytes; .*1,000,000.*--max-line-bytes",
    b"the cat\n" + b"x " * 2001 + b"\nwe\n": r"in\.txt:2: a sentence of 2,001 words; .* 2,000, and --max-words raises",
}


@pytest.mark.parametrize(("data", "message"), BAD.items(), ids=range(len(BAD)))
def test_a_line_that_cannot_be_parsed_is_an_error_or_left_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, message: str
) -> None:
    (tmp_path / "in.txt").write_bytes(data)
    (tmp_path / "out").write_text("older")
    assert re.search(message, str(parse(tmp_path / "in.txt", "-o", tmp_path / "out")))
    assert (tmp_path / "out").read_text() == "older"
    assert not parse(tmp_path / "in.txt", "-o", tmp_path / "out", "--skip-bad")
    first, second, third = (tmp_path / "out").read_text().splitlines()
    assert second == "" and Tree.parse(first).words == ["the", "cat"] and Tree.parse(third).words == ["we"]
    assert re.search(message, capsys.readouterr().err)


def test_limits_can_be_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "in.txt", "x" * 10, "a b c")
    assert not parse(path, "-o", tmp_path / "out", "--max-line-bytes", 10, "--max-words", 3)
    assert "the limit is 9," in str(parse(path, "--max-line-bytes", 9))
    assert "in.txt:2: a sentence of 3 words; the limit is 2," in str(parse(path, "--max-words", 2))


def test_outputs_have_the_folder_structure_of_inputs(file: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    (texts / "deep").mkdir(parents=True)
    (texts / "a.txt").write_text("the cat\n")
    (texts / "deep" / "b.txt.gz").write_bytes(gzip.compress(b"we sang\n"))
    (texts / ".hidden").write_bytes(b"\xff")
    out = texts / "out"
    for arguments in ([texts], [texts / "**" / "*"], [texts / "a.txt", texts / "d*"], [f"{texts}/"]):
        assert not parse(*arguments, "-o", out)
        names = {
            str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path.name != ".treecrf.run"
        }
        assert names == {"a.mrg", "deep/b.mrg.gz"}
        shutil.rmtree(out)
    assert not parse(texts, "-o", out) and not parse(texts, "-o", out)  # outputs of the first are no inputs
    assert Tree.parse(gzip.decompress((out / "deep" / "b.mrg.gz").read_bytes()).decode()).words == ["we", "sang"]
    assert not parse(texts / "a.txt", "-o", f"{tmp_path}/one/", "--format", "json")
    assert json.loads((tmp_path / "one" / "a.jsonl").read_text())["words"] == ["the", "cat"]


def test_several_inputs_are_written_to_standard_output_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [write(tmp_path / name, name) for name in "ab"]
    assert not parse(*paths)
    assert [Tree.parse(line).words for line in capsys.readouterr().out.splitlines()] == [["a"], ["b"]]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEFAULT_BATCHING, "cpu", replace(DEFAULT_BATCHING["cpu"], window=4))


def run_interrupted(after: int, *args: object) -> None:
    """Runs until some blocks are written, and interrupts after the next one."""
    real, stops = parse_files._write_batch, iter([*repeat(False, after), True])

    def write_batch(sink: Sink, lines: list[str], ends_block: bool) -> None:
        real(sink, lines, ends_block)
        if next(stops):
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse_files, "_write_batch", write_batch)
        assert parse(*args) == 130


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("after", [0, 1, 4])
def test_an_interrupted_run_can_be_resumed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], after: int
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert not parse(file, "-o", whole)
    run_interrupted(after, file, "-o", out)
    assert "interrupted; --resume continues" in capsys.readouterr().err
    assert not out.exists() and (tmp_path / ".out.part").exists()
    parsed: list[int] = []
    read_window = SentenceReader.window
    monkeypatch.setattr(
        SentenceReader,
        "window",
        lambda self, sentences: parsed.append(len(sentences)) or read_window(self, sentences),
    )
    assert not parse(file, "-o", out, "--resume")
    assert out.read_bytes() == whole.read_bytes()
    assert sum(parsed) == len(SENTENCES) - 4 * (after + 1)
    assert [path.name for path in tmp_path.glob(".out*")] == [".out.run"]
    assert not parse(file, "-o", out, "--resume") and sum(parsed) == len(SENTENCES) - 4 * (after + 1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["out.mrg", "out.mrg.gz"])
def test_a_run_interrupted_at_any_byte_ends_with_the_same_output(file: Path, tmp_path: Path, name: str) -> None:
    out, part, record = (tmp_path / form.format(name) for form in ("{}", ".{}.part", ".{}.run"))
    assert not parse(file, "-o", out)
    whole = out.read_bytes()
    run_interrupted(0, file, "-o", out)
    record_text = record.read_text()
    for cut in [0, 1, len(whole) - 1, len(whole), *random.Random(1).sample(range(len(whole)), 12)]:
        out.unlink(missing_ok=True)
        part.write_bytes(whole[:cut])
        record.write_text(record_text)
        assert not parse(file, "-o", out, "--resume")
        assert out.read_bytes() == whole


def test_csv_has_a_row_for_each_constituent(parser: Parser, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'Dogs, (cats) "ran".  We sang.'
    assert not parse(write(tmp_path / "a.txt", "", text), "--format", "csv", "--probs", mode="--text")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    first, second = parser.parse_text(text)
    analysis = parser.analyze(text.split("  ")[0], k=0)
    spans = [(row["start"], row["end"], row["label"]) for row in rows]
    assert spans == [tuple(map(str, span)) for tree in (first.tree, second.tree) for span in tree.spans()]
    assert {(row["document"], row["id"], row["line"]) for row in rows} == {(str(tmp_path / "a.txt"), "", "2")}
    assert [row["sentence"] for row in rows] == ["1"] * len(first.tree.spans()) + ["2"] * len(second.tree.spans())
    assert all(text[int(row["start_char"]) : int(row["end_char"])] == row["text"] for row in rows)
    assert float(rows[1]["calibrated"]) == pytest.approx(analysis.constituents[1].calibrated, abs=1e-5)
    assert rows[0]["depth"] == "0" and max(int(row["depth"]) for row in rows) > 0
    assert rows[0]["head"] == first.tree.words[first.tree.heads()[0]]


def test_csv_has_a_row_for_each_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.jsonl", '{"id": 7, "tokens": ["we", "sang"]}', '{"id": "b", "tokens": "dogs ran"}')
    assert not parse(file, file, "--format", "csv", "--rows", "sentences")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["id"] for row in rows] == ["7", "b"] * 2  # and one header for two inputs
    assert [row["text"] for row in rows[:2]] == ["we sang", "dogs ran"]
    assert Tree.parse(rows[1]["tree"]).words == ["dogs", "ran"]
    assert rows[0]["log_prob"] == ""


def test_parquet_has_the_values_of_csv(file: Path, tmp_path: Path) -> None:
    assert not parse(file, "--format", "csv", "--probs", "-o", tmp_path / "a.csv")
    assert not parse(file, "--format", "parquet", "--probs", "-o", tmp_path / "a.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pylist()
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert [csv_text([row.values()]) for row in rows] == lines[1:]
    assert [path.name for path in tmp_path.glob(".a.parquet*")] == [".a.parquet.run"]


def test_conllu_has_the_text_and_the_spaces_of_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not parse(write(tmp_path / "a.txt", "", "Dogs ran.  We sang!"), "--format", "conllu", mode="--text")
    first, second, rest = capsys.readouterr().out.split("\n\n")
    assert first.split("\n")[:2] == [f"# sent_id = {tmp_path / 'a.txt'}-2-1", "# text = Dogs ran."]
    rows = [line.split("\t") for line in first.split("\n")[2:]]
    spaces = [("1", "Dogs", "_"), ("2", "ran", "SpaceAfter=No"), ("3", ".", "_")]
    assert [(row[0], row[1], row[9]) for row in rows] == spaces
    assert second.startswith("# sent_id") and rest == ""


def test_conllu_needs_an_english_model(parser: Parser, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "language", "zh")
    assert "--format conllu has rules for English trees" in str(parse(file, "--format", "conllu"))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["out.conllu", "out.csv", "out.csv.gz", "out.parquet"])
def test_outputs_with_several_lines_per_line_can_be_resumed(file: Path, tmp_path: Path, name: str) -> None:
    write(file, *SENTENCES[:9], "", "", *SENTENCES[9:])
    out, part, index = (tmp_path / form.format(name) for form in ("{}", ".{}.part", ".{}.part.blocks"))
    arguments = [file, "--format", name.split(".")[1], "-o", out]
    assert not parse(*arguments)
    whole = out.read_bytes()
    out.unlink()
    run_interrupted(3, *arguments)
    lines, sizes = part.read_bytes(), index.read_bytes()
    for cut in (len(lines), len(lines) - 1, len(lines) // 2, 1):
        part.write_bytes(lines[:cut])
        index.write_bytes(sizes)
        assert not parse(*arguments, "--resume")
        assert out.read_bytes() == whole
        assert [path.name for path in tmp_path.glob(f".{name}*")] == [f".{name}.run"]
        out.unlink()


def test_parquet_without_pyarrow_says_what_to_install(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    message = str(parse(file, "--format", "parquet", "-o", tmp_path / "a.parquet"))
    assert "--format parquet needs pyarrow: pip install 'treecrf[tables]'" in message
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.usefixtures("small_blocks")
def test_a_run_is_only_resumed_with_the_same_settings(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_interrupted(1, file, "-o", tmp_path / "out")
    message = str(parse(file, "-o", tmp_path / "out", "--resume", "--format", "json"))
    assert "started with other settings: format was 'brackets', not 'json'" in message
    monkeypatch.setattr("treecrf.corpus.options.__version__", "9.9")
    assert "treecrf was '0." in str(parse(file, "-o", tmp_path / "out", "--resume"))
    assert not parse(file, "-o", tmp_path / "out", "--format", "json")
    assert len((tmp_path / "out").read_text().splitlines()) == len(SENTENCES)


def test_trees_are_written_to_a_pipe(tmp_path: Path, file: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as pool:
        text = pool.submit((tmp_path / "pipe").read_text)
        assert not parse(file, "-o", tmp_path / "pipe")
    assert len(text.result().splitlines()) == len(SENTENCES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.txt"], "nothing to read at absent.txt"),
        (["*.absent"], r"nothing to read at \*.absent"),
        (["in.txt", "-o", "in.txt"], "in.txt is an input and would be overwritten"),
        (["in.txt", "in.txt", "-o", "out"], r"several inputs would be written to out/in.mrg"),
        (["in.txt", "other.txt", "-o", "in.txt"], "in.txt is an input and would be overwritten"),
        (["in.txt", "--kbest", "2"], "--kbest needs --format json or pretty; brackets has one tree"),
        (["in.txt", "--probs"], "--probs needs --format json, pretty, csv or parquet; brackets has no"),
        (["in.txt", "--probs", "--format", "conllu"], "--probs needs --format json, pretty, csv or parquet; conllu"),
        (["in.txt", "--kbest", "2", "--format", "csv"], "--kbest needs --format json or pretty; csv has one tree"),
        (["in.txt", "--format", "parquet"], "--format parquet needs an output file"),
        (["in.txt", "--format", "parquet", "-o", "x.parquet.gz"], "Parquet files are compressed themselves"),
        (["in.txt", "--resume"], "--resume needs an output file"),
        (["in.txt", "-o", "x", "--resume", "--format", "pretty"], "--resume needs an output file"),
        (["in.txt", "--max-words", "0"], "--max-words is 0; expected 1 or more"),
        (["in.txt", "--kbest", "-1", "--format", "json"], "--kbest is -1; expected 0 or more"),
    ],
)
def test_invalid_arguments_are_errors(
    file: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(file.parent)
    write(file.parent / "other.txt", "we sang")
    before = file.read_bytes()
    assert re.search(message, str(parse(*arguments)))
    assert file.read_bytes() == before


def test_a_terminal_shows_a_progress_bar(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert not parse(file, "-o", tmp_path / "out")
    shown = capsys.readouterr().err
    assert "100%" in shown and re.search(rf"{len(SENTENCES)} sentences, .* sentences/s, 0:00:00 left", shown)


def test_paragraphs_are_joined_and_each_becomes_a_line(parser: Parser, tmp_path: Path) -> None:
    file = write(tmp_path / "mail.txt", "The dog", "barks. A cat", "sleeps.", "", "> It rains.")
    assert parse(file, "-o", tmp_path / "trees.mrg", mode="--paragraphs") is None
    lines = (tmp_path / "trees.mrg").read_text().splitlines()
    trees = [[" ".join(tree.words) for tree in read_trees(io.StringIO(line))] for line in lines]
    assert trees == [["The dog barks .", "A cat sleeps ."], ["It rains ."]]


def test_a_text_in_another_language_is_warned_about_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "text.txt", "我们喜欢北京。", "你们呢？")
    assert parse(file, "-o", tmp_path / "trees.mrg", mode="--text") is None
    assert capsys.readouterr().err.count("the text looks Chinese") == 1


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("out.csv", "document,id,line,"),
        ("out.jsonl.gz", '{"tree": '),
        ("out.json", '{"tree": '),
        ("out.txt", "(TOP "),
        ("out", "(TOP "),
    ],
)
def test_the_name_of_the_output_selects_the_format(file: Path, tmp_path: Path, name: str, start: str) -> None:
    assert not parse(file, "-o", tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data).decode().startswith(start)


def test_a_picture_is_not_a_format(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(file, "-o", "out.svg") == 2
    assert "to draw the trees of a text: treecrf draw TEXT -o out.svg" in capsys.readouterr().err
    assert parse(file, "-o", "out.xlsx") == 2
    assert "parse writes no .xlsx files; for a table, write .csv or .parquet: -o out.csv" in capsys.readouterr().err


def test_several_inputs_are_written_to_one_named_file(tmp_path: Path) -> None:
    texts = [write(tmp_path / "texts" / name, f"{name} sang", "we sang") for name in ("a", "b")]
    assert not parse(*texts, "-o", tmp_path / "all.mrg")
    assert [tree.words[0] for tree in read_trees(tmp_path / "all.mrg")] == ["a", "we", "b", "we"]
    assert not parse(tmp_path / "texts", "-o", tmp_path / "all.csv", "--rows", "sentences")
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [Path(row["document"]).name + row["line"] for row in rows] == ["a1", "a2", "b1", "b2"]
    assert "--resume continues one output for each input" in str(parse(*texts, "-o", tmp_path / "all.mrg", "--resume"))
    named = write(tmp_path / "in.mrg", str(TREES[0]))
    assert "is an input and would be overwritten" in str(parse(texts[0], named, "-o", named))


def test_the_words_of_trees_are_parsed(parser: Parser, tmp_path: Path) -> None:
    path = write(tmp_path / "gold.mrg", "(TOP", "  (NN cats))", "(TOP (X (NN a) (NN dog)))")
    assert not parse(path, "-o", tmp_path / "out.mrg", mode="--text")
    assert list(read_trees(tmp_path / "out.mrg")) == list(parser.parse_many([["cats"], ["a", "dog"]]))


def test_given_tags_are_in_the_trees(parser: Parser, tmp_path: Path) -> None:
    words, tags = ["the", "and/or", "cat", "/", "a/"], ["X", "Y", None, None, None]
    tree = parser.parse(words, tags=tags)
    path = write(tmp_path / "in.txt", "the/X and/or/Y cat / a/")
    assert not parse(path, "--tags", "-o", tmp_path / "out.mrg")
    assert list(read_trees(tmp_path / "out.mrg")) == [tree] and tree.tags[:2] == ["X", "Y"]
    path = write(tmp_path / "in.jsonl", json.dumps({"tokens": words, "tags": tags}), json.dumps({"tokens": ["a"]}))
    assert not parse(path, "--tags", "-o", tmp_path / "out.csv", "--rows", "sentences")
    assert str(tree) in (tmp_path / "out.csv").read_text()
    path = write(tmp_path / "gold.mrg", "(TOP (NP (X the) (Y cat)))")
    assert not parse(path, "--tags", "-o", tmp_path / "out.mrg", "--format", "brackets", mode="--text")
    assert next(read_trees(tmp_path / "out.mrg")).tags == ["X", "Y"]


def test_records_have_constraints(parser: Parser, tmp_path: Path) -> None:
    words = ["the", "old", "cat", "sang"]
    record = {"tokens": words, "require": [[1, 3]], "forbid": [[0, 2]]}
    assert not parse(write(tmp_path / "in.jsonl", json.dumps(record)), "-o", tmp_path / "out.mrg")
    constraints = Constraints(require=[(1, 3)], forbid=[(0, 2)])
    assert list(read_trees(tmp_path / "out.mrg")) == [parser.parse(words, constraints=constraints)]


@pytest.mark.parametrize(
    ("record", "mode", "message"),
    [
        ({"tokens": ["a"], "tags": ["X", "Y"]}, "--tokens", "1 words and 2 tags; expected a tag for each word"),
        ({"tokens": ["a"], "tags": "X"}, "--tokens", "'tags' is not a list of tags and nulls"),
        ({"tokens": ["a"], "require": [[0]]}, "--tokens", "require contains [0]; expected (start, end)"),
        ({"text": "a", "forbid": [[0, 1]]}, "--text", "'require' and 'forbid' number words"),
    ],
)
def test_conditions_that_cannot_be_read_are_errors(tmp_path: Path, record: object, mode: str, message: str) -> None:
    assert message in str(parse(write(tmp_path / "in.jsonl", json.dumps(record)), "--tags", mode=mode))
