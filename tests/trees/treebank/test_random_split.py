"""Tests of random splits of a treebank."""

import math
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toygrammar import toy_trees, write_trees
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.random_split import (
    RandomSplit,
    SplitShares,
    assign_documents,
    report_split,
    runs_of_trees,
    split_files,
)
from treecrf.trees.treebank.releases import SPLITS, CleanTrees


def read_parts(folder: Path) -> dict[str, list[str]]:
    return {split: [str(tree) for tree in read_trees(folder / f"{split}.mrg")] for split in SPLITS}


@given(st.lists(st.integers(1, 5), min_size=30, max_size=60), st.integers(0, 9))
def test_the_parts_have_their_shares_up_to_one_document(sizes: list[int], seed: int) -> None:
    splits = assign_documents(sizes, shares=SplitShares(dev=0.2, test=0.1), seed=seed)
    counts = {split: sum(size for size, name in zip(sizes, splits, strict=True) if name == split) for split in SPLITS}
    assert abs(counts["dev"] - 0.2 * sum(sizes)) <= max(sizes)
    assert abs(counts["test"] - 0.1 * sum(sizes)) <= max(sizes)


def test_a_document_of_two_trees_fills_a_part_of_one() -> None:
    assert set(assign_documents([2] * 5, shares=SplitShares(), seed=1)) == set(SPLITS)


@pytest.mark.parametrize("shares", [{"dev": 0.0}, {"test": 0.0}, {"dev": 1.0}, {"test": 1.0}])
def test_each_part_has_a_share(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected two numbers above 0 whose sum is less than 1"):
        SplitShares(**shares)


@given(st.integers(0, 3000))
def test_runs_have_twenty_trees_and_small_treebanks_have_fifty_runs(count: int) -> None:
    runs = list(runs_of_trees(range(count)))
    assert [tree for run in runs for tree in run] == list(range(count))
    assert len(runs) == math.ceil(count / 20) if count >= 1000 else len(runs) >= min(count, 50)


def test_every_tree_is_in_one_part_and_the_same_seed_gives_the_same_split(tmp_path: Path) -> None:
    trees = toy_trees(200)
    source = write_trees(tmp_path / "all.mrg", trees)
    for name in ("one", "two"):
        split = split_files([source], tmp_path / name)
    parts = read_parts(tmp_path / "one")
    assert parts == read_parts(tmp_path / "two") and not split.has_file_documents
    assert sorted(chain(*parts.values())) == sorted(map(str, trees))
    assert [len(parts[name]) for name in SPLITS] == [160, 20, 20] == [split.parts[name].sentences for name in SPLITS]
    split_files([source], tmp_path / "three", seed=2)
    assert read_parts(tmp_path / "three") != parts


def test_consecutive_trees_stay_together(tmp_path: Path) -> None:
    trees = list(map(str, toy_trees(400)))
    split_files([write_trees(tmp_path / "all.mrg", toy_trees(400))], tmp_path / "out")
    positions = [trees.index(tree) for tree in read_parts(tmp_path / "out")["test"]]
    neighbors = sum(after == before + 1 for before, after in pairwise(positions))
    assert neighbors >= 30  # 40 trees in runs of 8


def test_many_files_are_documents(tmp_path: Path) -> None:
    trees = toy_trees(60)
    files = [write_trees(tmp_path / f"{number}.mrg", trees[3 * number : 3 * number + 3]) for number in range(20)]
    assert split_files(files, tmp_path / "out").has_file_documents
    documents = [set(map(str, read_trees(file))) for file in files]
    for part in read_parts(tmp_path / "out").values():
        assert all(document <= set(part) or not document & set(part) for document in documents)


def test_sentences_that_are_also_in_train_are_counted(tmp_path: Path) -> None:
    tree = toy_trees(1)[0]
    split = split_files([write_trees(tmp_path / "all.mrg", [tree] * 20)], tmp_path / "out")
    assert split.seen == {"dev": 2, "test": 2}


def test_a_split_never_replaces_another_one(tmp_path: Path) -> None:
    source = write_trees(tmp_path / "all.mrg", toy_trees(20))
    split_files([source], tmp_path / "out")
    with pytest.raises(FileExistsError, match=r"train\.mrg exists; name a new folder"):
        split_files([source], tmp_path / "out")


def test_too_few_trees_and_wrong_shares_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 trees in 2 documents are too few or too unequal to fill train"):
        split_files([write_trees(tmp_path / "two.mrg", toy_trees(2))], tmp_path / "out")
    with pytest.raises(ValueError, match=r"the shares of dev and test are 0\.5 and 0\.5"):
        SplitShares(dev=0.5, test=0.5)


@pytest.mark.parametrize("keep_labels", [False, True])
def test_function_tags_are_kept_on_request(tmp_path: Path, keep_labels: bool) -> None:
    trees = [Tree.parse(f"(TOP (NP-SBJ (NN cat{number}) (NN tail)))") for number in range(20)]
    split = split_files([write_trees(tmp_path / "all.mrg", trees)], tmp_path / "out", keep_labels=keep_labels)
    assert split.parts["train"].labels == split.trees.labels == {"NP-SBJ" if keep_labels else "NP"}
    assert all(("NP-SBJ" in line) == keep_labels for line in read_parts(tmp_path / "out")["dev"])


def test_a_split_tells_its_documents_and_repeated_sentences():
    parts = {split: CleanTrees(files=[], sentences=5) for split in SPLITS}
    split = RandomSplit(
        trees=CleanTrees(files=[], sentences=15, skipped=1),
        parts=parts,
        has_file_documents=True,
        seen={"dev": 0, "test": 2},
    )
    assert report_split(split)[-3:] == [
        "skipped, because they could not be read: 1 trees",
        "note: 2 of the sentences of test have the words of a sentence in train",
        "each file was put into one part as a whole",
    ]
