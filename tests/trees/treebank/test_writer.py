"""Tests of `write_trees` and `penn_format`."""

import gzip
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import trees
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees
from treecrf.trees.treebank.writer import penn_format

CAT = Tree.parse("(TOP (NN cat))")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trees")


@pytest.mark.parametrize("name", ["trees.mrg", "trees.mrg.gz"])
@given(forest=st.lists(trees(max_words=5), max_size=4))
def test_written_trees_are_read_back(folder: Path, name: str, forest: list[Tree]) -> None:
    assert write_trees(folder / name, forest) == len(forest)
    assert list(read_trees(folder / name)) == forest
    raw = (folder / name).read_bytes()
    lines = gzip.decompress(raw) if name.endswith(".gz") else raw
    assert lines == "".join(f"{tree}\n" for tree in forest).encode()


def test_an_exception_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    def failing_trees() -> Iterator[Tree]:
        yield CAT
        raise RuntimeError("no more")

    path = tmp_path / "trees.mrg"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_trees(path, failing_trees())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_can_be_replaced_while_it_is_read(tmp_path: Path) -> None:
    write_trees(tmp_path / "trees.mrg", [CAT] * 3)
    write_trees(tmp_path / "trees.mrg", read_trees(tmp_path / "trees.mrg"))
    assert list(read_trees(tmp_path / "trees.mrg")) == [CAT] * 3


def test_the_same_trees_make_the_same_compressed_file(tmp_path: Path) -> None:
    write_trees(tmp_path / "a.gz", [CAT])
    write_trees(tmp_path / "b.gz", [CAT])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_symbolic_link_is_kept(tmp_path: Path) -> None:
    (tmp_path / "link.mrg").symlink_to(tmp_path / "trees.mrg")
    write_trees(tmp_path / "link.mrg", [CAT])
    assert (tmp_path / "link.mrg").is_symlink()
    assert list(read_trees(tmp_path / "trees.mrg")) == [CAT]


def test_trees_are_written_to_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    trees_read: list[Tree] = []
    reader = threading.Thread(target=lambda: trees_read.extend(read_trees(pipe)))
    reader.start()
    write_trees(pipe, [CAT, CAT])
    reader.join(timeout=30)
    assert trees_read == [CAT, CAT]


def test_writing_to_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"directory|denied"):
        write_trees(tmp_path, [CAT])


def test_trees_have_the_lines_of_stanford_s_programs():
    tree = Tree.parse(
        "(ROOT (S (NP (NP (DT The) (NN cat)) (CC and) (NP (NNS dogs))) (ADVP (RB often))"
        " (VP (VBP see) (NN x) (CC or) (NN y) (PP (IN of) (NP (-LRB- -LRB-) (NN it)))) (. .) (. .)))"
    )
    assert penn_format(tree).split("\n") == [
        "(ROOT",
        "  (S",
        "    (NP",
        "      (NP (DT The) (NN cat))",
        "      (CC and)",
        "      (NP (NNS dogs)))",
        "    (ADVP (RB often))",
        "    (VP (VBP see) (NN x)",
        "      (CC or)",
        "      (NN y)",
        "      (PP (IN of)",
        "        (NP (-LRB- -LRB-) (NN it))))",
        "    (. .) (. .)))",
    ]


def test_a_word_and_a_deep_tree_have_a_format():
    assert penn_format(Tree.parse("(NN cat)")) == "(NN cat)"
    depth = 3000
    tree = Tree("NN", ("cat",))
    for _ in range(depth):
        tree = Tree("NP", (tree,))
    lines = penn_format(tree).split("\n")
    assert len(lines) == depth and lines[-1].endswith("(NP (NN cat)" + ")" * depth)
    assert penn_format(Tree("A(B", (Tree("NN", ("c)d",)),))) == "(A-LRB-B (NN c-RRB-d))"
