import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from toygrammar import toy_trees
from treecrf.corpus.inputs import InputFile, Line
from treecrf.corpus.line_parser import LineParser
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.outputs import Sink
from treecrf.parser import Parser
from treecrf.trees.tree import Tree

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


def line(text: str) -> Line:
    return Line(text, "", len(text) + 1)


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
    def fields(**options) -> tuple[str, bool, str]:
        return LineParser(parser, ParseOptions(**options), pytest.fail).fields

    assert fields() == ("text", False, "id") and fields(tokens=True, id="key") == ("tokens", True, "key")
    assert fields(field="body") == ("body", False, "id")


def test_records_have_no_paragraphs(parser: Parser, tmp_path: Path) -> None:
    line_parser = LineParser(parser, ParseOptions(paragraphs=True), pytest.fail)
    for name in ("in.jsonl", "in.parquet"):
        file = InputFile(str(tmp_path / name), Path(name))
        with pytest.raises(ValueError, match="--paragraphs is for text files"):
            line_parser.parse_file(file, None, lambda *_: None, resume=False)


def test_only_parquet_outputs_have_rows(parser: Parser) -> None:
    for output_format, rows in (("parquet", "constituents"), ("csv", None)):
        line_parser = LineParser(parser, ParseOptions(format=output_format), pytest.fail)  # type: ignore[arg-type]
        assert line_parser.output_file == (256, rows)


def test_a_table_on_standard_output_has_one_header(
    parser: Parser, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "in.txt").write_text(f"{LINES[0]}\n")
    line_parser = LineParser(parser, ParseOptions(tokens=True, format="csv", rows="sentences"), pytest.fail)
    file = InputFile(str(tmp_path / "in.txt"), Path("in.txt"))
    for _ in range(2):
        line_parser.parse_file(file, None, lambda *_: None, resume=False)
    rows = capsysbinary.readouterr().out.decode().splitlines()
    assert [row.startswith("document,") for row in rows] == [True, False, False]
