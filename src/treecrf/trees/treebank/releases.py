"""Treebank releases and their standard splits: from a release's folder to train, dev and test files.

The expected sizes are the paper's (Zhang, Zhou and Li, 2020, table 1).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import OnError, clean, read_trees, write_trees
from treecrf.trees.treebank.binarize import to_spans
from treecrf.trees.treebank.lines import Source

SPLITS = ("train", "dev", "test")


class ReleaseSizes(NamedTuple):
    """Sentences of each split, and distinct labels of train, before and after binarization."""

    train: int
    dev: int
    test: int
    labels: int
    binarized_labels: int


class SplitFiles(NamedTuple):
    """The files of each split, and descriptions of missing files."""

    files: dict[str, list[Path]]
    missing: list[str]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A treebank release: how to find the files of its splits, and their expected sizes."""

    title: str
    layout: str
    find: Callable[[Path], SplitFiles]
    expected: ReleaseSizes | None = None
    dissolve: frozenset[str] = frozenset()  # labels of constituents to replace by their children


@dataclass(kw_only=True)
class CleanTrees:
    """Iterates over the cleaned trees of files, and counts them."""

    files: Sequence[Source]
    dissolve: frozenset[str] = frozenset()
    keep_labels: bool = False
    encoding: str | None = None
    on_error: OnError = "raise"
    sentences: int = 0
    tokens: int = 0
    skipped: int = 0
    wordless: int = 0
    labels: set[str] = field(default_factory=set)
    binarized_labels: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Tree]:
        return chain.from_iterable(self.by_file())

    def by_file(self) -> Iterator[Iterator[Tree]]:
        """Yields the trees of each file; an error if there are no trees in any of them."""
        yield from map(self._read, self.files)
        if not self.sentences:
            more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
            raise ValueError(f"no trees in {self.files[0]}{more}")

    def _read(self, file: Source) -> Iterator[Tree]:
        reader = read_trees(file, encoding=self.encoding, on_error=self.on_error)
        for raw in reader:
            tree = clean(raw, keep_labels=self.keep_labels, dissolve=self.dissolve)
            if tree is None:
                self.wordless += 1
            else:
                self._count(tree)
                yield tree
        self.skipped += reader.skipped

    def _count(self, tree: Tree) -> None:
        spans = to_spans(tree)
        self.sentences += 1
        self.tokens += (len(spans) + 1) // 2
        self.labels.update(span.label for span in tree.spans()[1:])
        self.binarized_labels.update(span.label for span in spans)


class PreparedRelease(NamedTuple):
    """The trees that `prepare` wrote, and descriptions of missing files."""

    splits: dict[str, CleanTrees]
    missing: list[str]


def prepare(
    release: Release, source: Path, out: Path, *, encoding: str | None = None, on_error: OnError = "raise"
) -> PreparedRelease:
    """Writes the cleaned trees of a release to train.mrg, dev.mrg and test.mrg in the folder `out`."""
    if not source.is_dir():
        raise ValueError(f"{source} is not a folder; expected {release.layout}")
    files, missing = release.find(source)
    for split in SPLITS:
        if not files[split]:
            raise ValueError(f"no files for {split} under {source}; expected {release.layout}")
    out.mkdir(parents=True, exist_ok=True)
    splits: dict[str, CleanTrees] = {}
    for split in SPLITS:
        splits[split] = CleanTrees(files=files[split], dissolve=release.dissolve, encoding=encoding, on_error=on_error)
        write_trees(out / f"{split}.mrg", splits[split])
    return PreparedRelease(splits, missing)


def count_sizes(splits: dict[str, CleanTrees]) -> ReleaseSizes:
    """The sizes of a prepared release."""
    train, dev, test = (splits[split].sentences for split in SPLITS)
    return ReleaseSizes(train, dev, test, len(splits["train"].labels), len(splits["train"].binarized_labels))


def _parse_ranges(ranges: str) -> set[int]:
    """The numbers in a text such as "1-3 7"."""
    numbers: set[int] = set()
    for item in ranges.split():
        first, _, last = item.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def _format_ranges(numbers: Iterable[int], universe: Iterable[int]) -> str:
    """Numbers as text; numbers that are adjacent in the sorted `universe` form a range."""
    members = set(numbers)
    runs = [list(run) for is_member, run in groupby(sorted(universe), key=members.__contains__) if is_member]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _articles(source: Path, names: re.Pattern[str], folder: str) -> dict[int, Path]:
    """Files by the number in their name; if any are in folders named `folder`, only those."""
    paths = [path for path in sorted(source.rglob("*")) if names.fullmatch(path.name) and path.is_file()]
    articles: dict[int, Path] = {}
    for path in [path for path in paths if path.parent.name.lower() == folder] or paths:
        number = int(re.findall(r"\d+", path.name)[0])
        if number in articles:
            raise ValueError(f"{articles[number]} and {path} are the same article; name a folder with only one of them")
        articles[number] = path
    return articles


def _find_sections(source: Path) -> SplitFiles:
    """Finds sections of the Wall Street Journal: article 0213 is in section 02."""
    articles = _articles(source, re.compile(r"wsj_\d{4}\.mrg(\.gz)?", re.IGNORECASE), "")
    splits = {"train": range(2, 22), "dev": range(22, 23), "test": range(23, 24)}
    files = {
        split: [articles[n] for n in sorted(articles) if n // 100 in sections] for split, sections in splits.items()
    }
    missing = set(range(2, 24)) - {number // 100 for number in articles}
    return SplitFiles(files, [f"WSJ sections {_format_ranges(missing, range(2, 24))}"] if missing else [])


def _find_articles(source: Path, *, release: str, dev: str, test: str, train: str = "") -> SplitFiles:
    """Finds articles of the Chinese Treebank; the default for train is all articles outside dev and test."""
    pattern = re.compile(r"chtb_\d+\.(?!raw|seg|pos)[a-z]+(\.gz)?", re.IGNORECASE)
    articles = _articles(source, pattern, "bracketed")
    numbers = {"dev": _parse_ranges(dev), "test": _parse_ranges(test)}
    others = (_parse_ranges(release) | set(articles)) - numbers["dev"] - numbers["test"]
    numbers["train"] = _parse_ranges(train) if train else others
    files = {split: [articles[n] for n in sorted(articles) if n in numbers[split]] for split in SPLITS}
    expected = _parse_ranges(release) & (numbers["train"] | numbers["dev"] | numbers["test"])
    missing = expected - set(articles)
    return SplitFiles(files, [f"CTB articles {_format_ranges(missing, expected)}"] if missing else [])


def _find_listed(source: Path, documents: dict[str, list[str]], locate: Callable[[str], Path]) -> SplitFiles:
    """Finds the documents that a release lists for each split."""
    paths = {split: {name: source / locate(name) for name in names} for split, names in documents.items()}
    missing = [name for names in paths.values() for name, path in names.items() if not path.is_file()]
    files = {split: [path for path in names.values() if path.is_file()] for split, names in paths.items()}
    return SplitFiles(files, [f"documents {', '.join(missing)}"] if missing else [])


def _find_gum(source: Path) -> SplitFiles:
    documents: dict[str, list[str]] = {split: [] for split in SPLITS}
    section = ""
    for line in (source / "splits.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif section in documents and line.strip().startswith("* "):
            documents[section].append(line.strip()[2:])
    files, missing = _find_listed(source, documents, lambda name: Path("const", f"{name}.ptb"))
    masked = {path for paths in files.values() for path in paths if "reddit" in path.name and _is_masked(path)}
    files = {split: [path for path in paths if path not in masked] for split, paths in files.items()}
    if masked:
        missing = [*missing, f"the words of {len(masked)} documents from Reddit, which this copy leaves blank"]
    return SplitFiles(files, missing)


def _is_masked(path: Path) -> bool:
    first = next(read_trees(path, on_error="skip"), None)
    return first is not None and all(set(word) == {"_"} for word in first.words)


def _find_craft(source: Path) -> SplitFiles:
    folder = source / "articles" / "ids"
    documents = {split: (folder / f"craft-ids-{split}.txt").read_text(encoding="utf-8").split() for split in SPLITS}
    penn = Path("structural-annotation", "treebank", "penn")
    return _find_listed(source, documents, lambda name: penn / f"{name}.tree")


_CTB5_RELEASE = "1-325 400-454 500-554 590-596 600-885 900-931 1001-1078 1100-1151"

RELEASES = {
    "ptb": Release(
        title="Penn Treebank, Wall Street Journal (LDC99T42): train 02-21, dev 22, test 23",
        layout="the release, with parsed/mrg/wsj/NN/wsj_NNNN.mrg somewhere below",
        find=_find_sections,
        expected=ReleaseSizes(39832, 1700, 2416, 26, 138),
    ),
    "ctb5": Release(
        title="Chinese Treebank 5.1 (LDC2005T01U01): train 001-270 and 440-1151, dev 301-325, test 271-300",
        layout="the release, with data/bracketed/chtb_NNN.fid somewhere below",
        find=partial(_find_articles, release=_CTB5_RELEASE, train="1-270 440-1151", dev="301-325", test="271-300"),
        expected=ReleaseSizes(18104, 352, 348, 26, 162),
    ),
    "ctb7": Release(
        title="Chinese Treebank 7.0 (LDC2010T07), the split that its manual suggests",
        layout="the release, with data/utf-8/bracketed/chtb_NNNN.nw and others somewhere below",
        find=partial(
            _find_articles,
            release=f"{_CTB5_RELEASE} 2000-3145 4000-4411",
            dev="41-80 1120-1129 2140-2159 2280-2294 2550-2569 2775-2799 3080-3109",
            test="1-40 901-931 1018 1020 1036 1044 1060-1061 1072 1118-1119 1132 1141-1142 1148"
            " 2165-2180 2295-2310 2570-2602 2800-2819 3110-3145",
        ),
        expected=ReleaseSizes(46572, 2079, 2796, 28, 265),
    ),
    "gum": Release(
        title="Georgetown University Multilayer Corpus: the parts of its splits.md",
        layout="a copy of its repository, with splits.md and const/*.ptb",
        find=_find_gum,
    ),
    "craft": Release(
        title="Colorado Richly Annotated Full-Text corpus: the parts of its articles/ids",
        layout="a copy of its repository, with articles/ids and structural-annotation/treebank/penn/*.tree",
        find=_find_craft,
        dissolve=frozenset({"TITLE", "HEADING", "CAPTION"}),  # parts of the document, not of the sentence
    ),
}
