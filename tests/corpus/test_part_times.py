from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.part_times import file_seconds, part_seconds
from treecrf.trees.treebank import word_table

TREES = toy_trees(20, seed=2)


@pytest.mark.parametrize("is_split", [True, False])
def test_files_are_parsed_and_each_part_takes_time(
    is_split: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_table, "available", is_split and word_table.available)
    parser, source, target = random_parser(TREES), tmp_path / "in.txt", tmp_path / "out.mrg"
    parser.save(tmp_path / "model")
    source.write_text("".join(f"{' '.join(tree.words)}\n" for tree in TREES))
    options = ParseOptions(model=str(tmp_path / "model"), tokens=True)
    assert file_seconds(parser, source, target, options, repeats=1) > 0
    expected = target.read_text()
    assert expected.splitlines() == list(parser.brackets_many([tree.words for tree in TREES], exact=False))
    target.unlink()
    seconds = part_seconds(parser, source, target)
    assert target.read_text() == expected
    assert seconds["read and split"] > 0 and "network" in seconds
