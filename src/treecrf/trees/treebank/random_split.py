"""Random splits of a treebank into train, dev and test, by documents.

Neighboring sentences are similar. A split of single sentences would put neighbors into different parts, and scores on
test would be too high. So whole documents go into one part. If every file is a document, files are documents; otherwise
short runs of consecutive trees are.
"""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeVar

from treecrf.files import Source
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import OnError, write_trees
from treecrf.trees.treebank.releases import SPLITS, CleanTrees, report_left_out, size_table

Item = TypeVar("Item")

MIN_FILES = 20  # at least so many files are taken as documents
_RUN_TREES = 20  # consecutive trees that are taken as a document
_MIN_RUNS = 50


@dataclass(frozen=True, kw_only=True)
class SplitShares:
    """The shares of the trees for dev and test; train has the rest."""

    dev: float = 0.1
    test: float = 0.1

    def __post_init__(self) -> None:
        if not (0 < self.dev < 1 and 0 < self.test < 1 and self.dev + self.test < 1):
            raise ValueError(
                f"the shares of dev and test are {self.dev} and {self.test}; expected two numbers above 0 whose sum is "
                "less than 1"
            )


@dataclass(frozen=True, kw_only=True)
class RandomSplit:
    """The trees that `split_files` wrote: all trees and the trees of each part, with their counts."""

    trees: CleanTrees
    parts: dict[str, CleanTrees]
    has_file_documents: bool
    seen: dict[str, int]  # sentences of dev and test with the same words as a sentence in train


def split_files(
    files: Sequence[Source],
    out: Path,
    *,
    shares: SplitShares = SplitShares(),  # noqa: B008  # immutable
    seed: int = 1,
    keep_labels: bool = False,
    encoding: str | None = None,
    on_error: OnError = "raise",
) -> RandomSplit:
    """Cleans the trees of files and writes them to train.mrg, dev.mrg and test.mrg in the folder `out`."""
    for split in SPLITS:
        if (path := out / f"{split}.mrg").exists():
            raise FileExistsError(f"{path} exists; name a new folder, so that no part of another split remains")
    trees = CleanTrees(files=files, keep_labels=keep_labels, encoding=encoding, on_error=on_error)
    has_file_documents = len(files) >= MIN_FILES
    documents = [list(file) for file in trees.by_file()] if has_file_documents else list(runs_of_trees(list(trees)))
    split_of_document = assign_documents([len(document) for document in documents], shares=shares, seed=seed)
    pairs = list(zip(documents, split_of_document, strict=True))
    parts = {split: list(chain(*(document for document, name in pairs if name == split))) for split in SPLITS}
    out.mkdir(parents=True, exist_ok=True)
    for split, part in parts.items():
        write_trees(out / f"{split}.mrg", part)
    return RandomSplit(
        trees=trees,
        parts={split: _count(out / f"{split}.mrg") for split in SPLITS},
        has_file_documents=has_file_documents,
        seen=_count_seen(parts),
    )


def report_split(split: RandomSplit) -> list[str]:
    """The report on a treebank that was split at random."""
    lines = [*size_table(split.parts, None), *report_left_out({"all": split.trees})]
    lines += [
        f"note: {count:,} of the sentences of {name} have the words of a sentence in train"
        for name, count in split.seen.items()
        if count
    ]
    documents = "each file was" if split.has_file_documents else "runs of consecutive trees were"
    return [*lines, f"{documents} put into one part as a whole"]


def assign_documents(sizes: Sequence[int], *, shares: SplitShares, seed: int) -> list[str]:
    """The part of each document, drawn at random, for documents with these numbers of trees.

    >>> assign_documents([1] * 5, shares=SplitShares(dev=0.2, test=0.2), seed=1)
    ['train', 'train', 'test', 'dev', 'train']
    """
    total = sum(sizes)
    wanted = {"test": max(1, round(shares.test * total)), "dev": max(1, round(shares.dev * total))}
    counts = dict.fromkeys(SPLITS, 0)
    assigned = ["train"] * len(sizes)
    order = list(range(len(sizes)))
    random.Random(seed).shuffle(order)
    for number in order:
        # a document goes where it brings the number of trees nearer to the wanted one
        split = next((name for name in wanted if counts[name] + sizes[number] / 2 <= wanted[name]), "train")
        assigned[number] = split
        counts[split] += sizes[number]
    empty = [split for split in SPLITS if not counts[split]]
    if empty:
        raise ValueError(
            f"{total:,} trees in {len(sizes):,} documents are too few or too unequal to fill {' and '.join(empty)}; "
            "add trees, or choose larger shares"
        )
    return assigned


def runs_of_trees(trees: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Runs of consecutive trees, at least `_MIN_RUNS` of them if there are as many trees."""
    size = max(1, min(_RUN_TREES, len(trees) // _MIN_RUNS))
    return (trees[start : start + size] for start in range(0, len(trees), size))


def _count(path: Path) -> CleanTrees:
    """The counts of the trees in a file."""
    trees = CleanTrees(files=[path], keep_labels=True)
    deque(trees, maxlen=0)
    return trees


def _count_seen(parts: dict[str, list[Tree]]) -> dict[str, int]:
    train = {tuple(tree.words) for tree in parts["train"]}
    return {split: sum(tuple(tree.words) in train for tree in parts[split]) for split in ("dev", "test")}
