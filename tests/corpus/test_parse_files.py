import gzip
import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toygrammar import toy_trees
from treecrf.corpus import parse_files as module
from treecrf.corpus.inputs import InputFile, Line
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.outputs import Sink
from treecrf.corpus.parse_files import LineParser, parse_files
from treecrf.parser import Parser
from treecrf.trees.tree import Tree, parse_trees
from treecrf.trees.treebank import word_table

TREES = toy_trees(30, seed=3)
LINES = [" ".join(tree.words) for tree in TREES]


class RecordingSink(Sink):
    """Keeps what is written and where blocks end."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.blocks: list[list[str]] = [[]]

    def write(self, lines) -> None:
        self.blocks[-1] += lines

    def end_block(self) -> None:
        self.blocks.append([])


def line(text: str, problem: str = "") -> Line:
    return Line(text, problem, len(text) + 1)


def write_trees(parser: Parser, lines: Iterator[Line], block: int = 4, **options) -> tuple[RecordingSink, list]:
    line_parser = LineParser(parser, ParseOptions(tokens=True, **options), pytest.fail)
    line_parser.block_lines = block
    sink, reports = RecordingSink(), []
    line_parser.write_trees(lines, sink, lambda *numbers: reports.append(numbers), name="in", first=1)
    return sink, reports


@pytest.mark.parametrize("output_format", ["brackets", "json"])
def test_lines_are_written_in_blocks_and_reported(parser: Parser, output_format) -> None:
    sink, reports = write_trees(parser, map(line, [*LINES[:5], "", *LINES[5:9]]), format=output_format)
    assert [len(block) for block in sink.blocks] == [4, 4, 2, 0]
    assert [sentences for sentences, _ in reports] == [4, 3, 2]
    assert sum(size for _, size in reports) == sum(len(text) + 1 for text in [*LINES[:9], ""])
    output = [text for block in sink.blocks for text in block]
    words = [Tree.parse(text).words if text else [] for text in output] if output_format == "brackets" else []
    words = words or [(json.loads(text) or {"words": []})["words"] for text in output]
    assert words == [text.split() for text in [*LINES[:5], "", *LINES[5:9]]]


@pytest.mark.parametrize(
    ("options", "has_probabilities", "alternatives"),
    [({}, False, 0), ({"probs": True}, True, 0), ({"kbest": 2}, False, 2), ({"probs": True, "kbest": 3}, True, 3)],
    ids=str,
)
def test_probabilities_and_alternatives_are_written_on_request(
    parser: Parser, options, has_probabilities: bool, alternatives: int
) -> None:
    analyzed: list[int] = []
    original = parser.analyze_many
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            parser, "analyze_many", lambda *args, k, **others: analyzed.append(k) or original(*args, k=k, **others)
        )
        sink, _ = write_trees(parser, iter([line(LINES[0])]), format="json", **options)
    ((output,), *_) = sink.blocks
    assert ("log_prob" in json.loads(output)) == has_probabilities
    assert len(json.loads(output).get("alternatives", json.loads(output).get("kbest", []))) == alternatives
    assert analyzed == ([alternatives] if options else [])


def test_the_record_of_an_output_has_the_digest_of_a_file(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    line_parser = LineParser(parser, ParseOptions(tokens=True), pytest.fail)
    record = line_parser.output_record([InputFile(str(tmp_path / "in.txt"), Path("in.txt"))])
    assert record.stamp is not None and record.settings["block"] == line_parser.block_lines
    assert line_parser.output_record([InputFile("-", Path("stdin"))]).stamp is None


def test_tables_leave_out_lines_without_sentences(parser: Parser) -> None:
    sink, _ = write_trees(parser, map(line, ["", LINES[0], ""]), format="csv", rows="sentences")
    ((row,), _) = sink.blocks
    assert row.startswith("in,,2,1,")


def test_each_typed_line_is_parsed_before_the_next_is_read(parser: Parser) -> None:
    sink, reports, reports_before = RecordingSink(), [], []

    def typed() -> Iterator[Line]:
        for text in LINES[:3]:
            reports_before.append(len(reports))
            yield line(text)

    line_parser = LineParser(parser, ParseOptions(tokens=True), pytest.fail)
    line_parser.write_trees(
        typed(), sink, lambda *numbers: reports.append(numbers), name="in", first=1, is_interactive=True
    )
    assert len(sink.blocks[0]) == 3 and reports_before == [0, 1, 2]


def test_an_interrupt_waits_for_the_end_of_a_block(parser: Parser) -> None:
    line_parser, sink = LineParser(parser, ParseOptions(tokens=True), lambda _: None), RecordingSink()
    line_parser.block_lines = 4
    large_lines = (Line(text, "", 1 << 22) for text in LINES[:12])  # each is a batch of its own
    reports: list[int] = []

    def press_once(sentences: int, size: int) -> None:
        if not reports:
            os.kill(os.getpid(), signal.SIGINT)
        reports.append(sentences)

    with pytest.raises(KeyboardInterrupt):
        line_parser.write_trees(large_lines, sink, press_once, name="in", first=1)
    assert reports == [1] * 4 and [len(block) for block in sink.blocks] == [4, 0]


def test_the_search_for_the_best_scores_is_chosen_by_no_mbr(parser: Parser) -> None:
    for no_mbr in (False, True):
        sink, _ = write_trees(parser, map(line, LINES), block=100, no_mbr=no_mbr, exact=True)
        expected = [str(tree) for tree in parser.parse_many([text.split() for text in LINES], mbr=not no_mbr)]
        assert sink.blocks[0] == expected


def test_blocks_are_small_on_a_cpu(parser: Parser) -> None:
    assert LineParser(parser, ParseOptions(), pytest.fail).block_lines == 256


def test_fields_of_records_follow_the_options(parser: Parser) -> None:
    def fields(**options) -> tuple[str, bool, bool, str]:
        return LineParser(parser, ParseOptions(**options), pytest.fail).fields

    assert fields() == ("text", False, False, "id")
    assert fields(tokens=True, id="key", tags=True) == ("tokens", True, True, "key")
    assert fields(field="body") == ("body", False, False, "id")


def test_records_have_no_paragraphs(parser: Parser, tmp_path: Path) -> None:
    line_parser = LineParser(parser, ParseOptions(paragraphs=True), pytest.fail)
    for name in ("in.jsonl", "in.parquet"):
        file = InputFile(str(tmp_path / name), Path(name))
        with pytest.raises(ValueError, match="--paragraphs is for text files"):
            line_parser.parse_files([file], None, lambda *_: None, resume=False)


def test_paragraphs_of_a_text_file_are_parsed_as_one_text(
    parser: Parser, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "in.txt").write_text("The cat\nsleeps.\n\nWe sing. They see the\ncat.\n\nWe sing. We sing. We sing.\n")
    line_parser = LineParser(parser, ParseOptions(paragraphs=True), pytest.fail)
    line_parser.parse_files([InputFile(str(tmp_path / "in.txt"), Path("in.txt"))], None, lambda *_: None, resume=False)
    lines = capsysbinary.readouterr().out.decode().splitlines()
    words = [[" ".join(tree.words) for tree in parse_trees(text)] for text in lines]
    assert words == [["The cat sleeps ."], ["We sing .", "They see the cat ."], ["We sing ."] * 3]


@pytest.mark.parametrize("output_format", ["pretty", "brackets"])
def test_only_drawn_trees_have_colors_on_a_terminal(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output_format
) -> None:
    (tmp_path / "in.txt").write_text("the cat\n")
    colors: list[bool] = []

    @contextmanager
    def open_sink(*_: object, is_colored: bool, **__: object) -> Iterator[Sink]:
        colors.append(is_colored)
        yield RecordingSink()

    monkeypatch.setattr(module, "open_sink", open_sink)
    file, options = InputFile(str(tmp_path / "in.txt"), Path("in.txt")), ParseOptions(tokens=True, format=output_format)
    for has_colors in (True, False):
        monkeypatch.setattr(module, "has_colors", lambda _, value=has_colors: value)
        LineParser(parser, options, pytest.fail).parse_files([file], None, lambda *_: None, resume=False)
    assert colors == [output_format == "pretty", False]


def test_only_parquet_outputs_have_rows(parser: Parser) -> None:
    for output_format, rows in (("parquet", "constituents"), ("csv", None)):
        line_parser = LineParser(parser, ParseOptions(format=output_format), pytest.fail)  # type: ignore[arg-type]
        assert line_parser.output_file[:2] == (256, rows)


def test_a_table_on_standard_output_has_one_header(
    parser: Parser, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "in.txt").write_text(f"{LINES[0]}\n")
    line_parser = LineParser(parser, ParseOptions(tokens=True, format="csv", rows="sentences"), pytest.fail)
    file = InputFile(str(tmp_path / "in.txt"), Path("in.txt"))
    for _ in range(2):
        line_parser.parse_files([file], None, lambda *_: None, resume=False)
    rows = capsysbinary.readouterr().out.decode().splitlines()
    assert [row.startswith("document,") for row in rows] == [True, False, False]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{' '.join(tree.words)}\n" for tree in TREES))
    return path


def parse(
    model: Path, *inputs: object, output: object = "-", resume: bool = False, report: str | None = None, **options
) -> list[str]:
    """Parses files and returns the warnings."""
    warnings: list[str] = []
    settings = ParseOptions(model=str(model), **{"tokens": True, **options})
    arguments = [str(path) for path in inputs]
    parse_files(arguments, str(output), settings, device="cpu", resume=resume, warn=warnings.append, report=report)
    return warnings


def test_one_input_has_a_file_and_a_folder_has_a_folder(model: Path, file: Path, tmp_path: Path) -> None:
    parse(model, file, output=tmp_path / "out.mrg")
    assert (tmp_path / "out.mrg").read_text().count("\n") == len(TREES)
    parse(model, tmp_path / "in*.txt", output=tmp_path / "one.mrg")
    (tmp_path / "texts").mkdir()
    file.rename(tmp_path / "texts" / "in.txt")
    parse(model, tmp_path / "texts", output=tmp_path / "trees")
    parse(model, tmp_path / "texts" / "in.txt", output=f"{tmp_path}/more/")
    expected = (tmp_path / "out.mrg").read_bytes()
    for name in ("one.mrg", "trees/in.mrg", "more/in.mrg"):
        assert (tmp_path / name).read_bytes() == expected


def test_the_output_of_several_inputs_is_none_of_them(model: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.mrg").write_text("the cat\n")
    with pytest.raises(ValueError, match=r"other\.mrg is an input and would be overwritten; choose another -o"):
        parse(model, file, tmp_path / "other.mrg", output=tmp_path / "other.mrg")


def test_a_complete_output_is_skipped_and_another_is_refused(model: Path, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mrg"
    parse(model, file, output=out)
    written = out.stat().st_mtime_ns
    parse(model, file, output=out, resume=True)
    assert out.stat().st_mtime_ns == written
    with pytest.raises(ValueError, match="other settings: no_mbr was False, not True"):
        parse(model, file, output=out, resume=True, no_mbr=True)
    (tmp_path / ".out.mrg.part").touch()  # an empty partial file is unfinished, whatever the record says
    parse(model, file, output=out, resume=True, no_mbr=True)
    assert out.stat().st_mtime_ns != written


ODD_LINES = [
    b"",
    b" \t ",
    b"the  cat\tsang\r",
    b"\xff",
    b"the \0",
    b"( ) \\u{28} \xe3\x80\x80",
    b"the " * 60,
    b"x" * 400,
]


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"max_words": 3}, {"no_mbr": True}, {"max_line_bytes": 300}])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_split_lines_have_the_output_of_lines(
    options: dict[str, object], suffix: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [*(" ".join(tree.words).encode() for tree in [*TREES * 10, *toy_trees(600, seed=9)]), b"end"]
    odd = dict(zip([0, 5, 9, 300, 301, 305, 307, 309], ODD_LINES, strict=True))
    data = b"\n".join(odd.get(number, line) for number, line in enumerate(lines))
    source = tmp_path / f"in.txt{suffix}"
    source.write_bytes(gzip.compress(data) if suffix else data)
    results = []
    for is_split in (True, False):
        monkeypatch.setattr(word_table, "available", is_split)
        warnings = parse(model, source, output=tmp_path / f"out.mrg{suffix}", skip_bad=True, **options)
        results.append((warnings, (tmp_path / f"out.mrg{suffix}").read_bytes()))
    assert results[0] == results[1]
    assert results[0][1].count(b"\n") == len(lines) or suffix


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
def test_an_interrupted_run_goes_on_with_split_lines(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.mrg"
    source.write_text("".join(f"{text}\n" for text in LINES[:9]))
    line_parser = LineParser(parser, ParseOptions(tokens=True), pytest.fail)
    monkeypatch.setattr(LineParser, "output_record", lambda *_: None)
    line_parser.block_lines, line_parser.output_file = 2, line_parser.output_file._replace(block_lines=2)
    file, sizes = InputFile(str(source), Path("in.txt")), []

    def report(sentences: int, size: int) -> None:
        sizes.append(size)
        if len(sizes) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        line_parser.parse_files([file], out, report, resume=False)
    assert (tmp_path / ".out.mrg.part").exists() and not out.exists()
    sizes = [0] * 10
    line_parser.parse_files([file], out, report, resume=True)
    assert sum(sizes) == source.stat().st_size
    assert out.read_text().splitlines() == [
        str(tree) for tree in parser.parse_many([text.split() for text in LINES[:9]])
    ]


def test_standard_input_cannot_be_resumed(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the cat\n")))
    with pytest.raises(ValueError, match="--resume reads its inputs again, and <stdin> is not a file"):
        parse(model, "-", output=tmp_path / "out", resume=True)


def test_bad_lines_are_warned_about(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"the cat\n\xff\n")
    (warning,) = parse(model, tmp_path / "in.txt", output=tmp_path / "out", skip_bad=True)
    assert warning.startswith(f"{tmp_path / 'in.txt'}:2: byte 1")


def test_progress_is_shown_where_the_terminal_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [([InputFile("in.txt", Path("in.txt"))], None)]
    assert not module._shows_progress("out.mrg", jobs)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert module._shows_progress("out.mrg", jobs)
    reader, writer = os.pipe()
    with (tmp_path / "out").open("w") as regular, os.fdopen(reader), os.fdopen(writer, "w") as pipe:
        for stream, is_shown in ((regular, True), (pipe, False)):
            monkeypatch.setattr(sys, "stdout", stream)
            assert module._shows_progress("-", jobs) == is_shown
    typed = io.StringIO()
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    assert not module._shows_progress("out.mrg", [([InputFile("-", Path("stdin"))], None)])


def test_a_folder_of_outputs_is_locked(
    model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[Path] = []
    real = module.lock_folder
    monkeypatch.setattr(module, "lock_folder", lambda folder: locked.append(folder) or real(folder))
    parse(model, file, output=tmp_path / "out.mrg")
    parse(model, file)
    assert not locked
    parse(model, file, output=f"{tmp_path}/trees/")
    assert locked == [tmp_path / "trees"]


def test_a_report_names_skipped_lines_and_doubtful_sentences(model: Path, tmp_path: Path) -> None:
    text, report = tmp_path / "in.txt", tmp_path / "report.tsv"
    text.write_text("It rained.\n| a | b |\nWe left. 1 + 2 = 3 !\n" + "word " * 60 + "\n")
    options = {"tokens": False, "skip_bad": True, "max_words": 20}
    parse(model, text, output=tmp_path / "out.mrg", report=str(report), **options)
    rows = [line.split("\t") for line in report.read_text().splitlines()]
    assert rows[:3] == [
        ["place", "reason", "text"],
        [f"{text}:2", "doubtful: table row", "| a | b |"],
        [f"{text}:3", "doubtful: no words", "1 + 2 = 3 !"],
    ]
    reason = "skipped: a sentence of 60 words; the limit is 20, and --max-words raises it"
    assert rows[3] == [f"{text}:4", reason, ("word " * 60)[:200]]
