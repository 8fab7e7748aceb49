"""Trees to files."""

import gzip
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import trees
from treecrf.tree import Tree
from treecrf.treebank import read_trees, write_trees

CAT = Tree.parse("(TOP (NN cat))")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trees")


@pytest.mark.parametrize("name", ["trees.mrg", "trees.mrg.gz"])
@given(forest=st.lists(trees(max_words=5), max_size=4))
def test_what_is_written_is_read_again(folder: Path, name: str, forest: list[Tree]) -> None:
    assert write_trees(folder / name, forest) == len(forest)
    assert list(read_trees(folder / name)) == forest
    raw = (folder / name).read_bytes()
    lines = gzip.decompress(raw) if name.endswith(".gz") else raw
    assert lines == "".join(f"{tree}\n" for tree in forest).encode()


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def broken() -> Iterator[Tree]:
        yield CAT
        raise RuntimeError("no more")

    path = tmp_path / "trees.mrg"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_trees(path, broken())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_may_be_written_over_while_it_is_read(tmp_path: Path) -> None:
    write_trees(tmp_path / "trees.mrg", [CAT] * 3)
    write_trees(tmp_path / "trees.mrg", read_trees(tmp_path / "trees.mrg"))
    assert list(read_trees(tmp_path / "trees.mrg")) == [CAT] * 3


def test_the_same_trees_make_the_same_compressed_file(tmp_path: Path) -> None:
    write_trees(tmp_path / "a.gz", [CAT])
    write_trees(tmp_path / "b.gz", [CAT])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.mrg").symlink_to(tmp_path / "trees.mrg")
    write_trees(tmp_path / "link.mrg", [CAT])
    assert (tmp_path / "link.mrg").is_symlink()
    assert list(read_trees(tmp_path / "trees.mrg")) == [CAT]


def test_trees_go_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[Tree] = []
    reader = threading.Thread(target=lambda: found.extend(read_trees(pipe)))
    reader.start()
    write_trees(pipe, [CAT, CAT])
    reader.join(timeout=30)
    assert found == [CAT, CAT]


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"directory|denied"):
        write_trees(tmp_path, [CAT])
