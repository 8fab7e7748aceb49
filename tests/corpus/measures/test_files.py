import csv
import io
from pathlib import Path

import pytest

from small import FIFTY, random_parser
from treecrf.corpus.inputs import InputFile, has_trees
from treecrf.corpus.measures.files import TableWriter
from treecrf.corpus.terminal import ProgressBar
from treecrf.parser import Parser
from treecrf.trees.treebank import read_trees


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(list(read_trees(FIFTY)), tag_head=True)


def write_table(parser: Parser | None, *files: Path, words: bool = False) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of a table by column, and the warnings."""
    stream, warnings = io.BytesIO(), []
    progress = ProgressBar(None, unit="sentences")
    table = TableWriter(stream=stream, parser=parser, samples=5, seed=1, warn=warnings.append, progress=progress)
    inputs = [InputFile(str(file), Path(file.name)) for file in files]
    (table.write_words if words else table.write_texts)(inputs)
    return list(csv.DictReader(io.StringIO(stream.getvalue().decode()))), warnings


@pytest.mark.parametrize("name", ["a.mrg", "a.mrg.gz", "b.ptb", "c.txt", "mrg"])
def test_files_of_trees_are_known_by_their_names(name: str) -> None:
    assert has_trees(name) == name.startswith(("a.", "b."))


def test_numbers_have_at_most_six_decimals(tmp_path: Path) -> None:
    (tmp_path / "gold.mrg").write_text("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))\n(S (VP (VB Go)))\n" * 3)
    ((row,), warnings) = write_table(None, tmp_path / "gold.mrg")
    assert (row["W"], row["S"], row["MLS"], row["depth"]) == ("12", "6", "2", "2") and not warnings
    assert row["nodes/W"] == "1.25" and row["W_low"] == "" and row["W_pop_low"] != ""
    (tmp_path / "gold.mrg").write_text("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))\n")
    assert write_table(None, tmp_path / "gold.mrg")[0][0]["nodes/W"] == "1"


def test_texts_have_intervals_and_warnings(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sleeps. We sang.")
    (tmp_path / "b.txt").write_text("")
    (tmp_path / "c.txt").write_text("我们喜欢北京。")
    rows, warnings = write_table(parser, *(tmp_path / f"{name}.txt" for name in "abc"))
    assert [row["S"] for row in rows] == ["2", "0", "1"]
    assert float(rows[0]["depth_low"]) <= float(rows[0]["depth"]) <= float(rows[0]["depth_high"])
    assert "no measures.json" in warnings[0] and "b.txt has no sentences; its measures are 0" in warnings[1]
    assert "c.txt: " in warnings[2] and len(warnings) == 3


def test_words_have_their_place(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sleeps. We sang.")
    rows, warnings = write_table(parser, tmp_path / "a.txt", words=True)
    assert [row["sentence"] for row in rows if row["number"] == "1"] == ["1", "2"] and not warnings
    assert all(row["depth_low"] <= row["depth"] for row in rows)
