"""Treebank releases and their standard splits: from a release's folder to train, dev and test files, with a report."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.config import read_data
from treecrf.files import Source
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import OnError, clean, read_trees, write_trees
from treecrf.trees.treebank.binarize import to_spans

SPLITS = ("train", "dev", "test")
_HEADER = ("part", "sentences", "paper", "tokens", "labels", "paper", "binarized", "paper")
_SIZE_NAMES = ("sentences of train", "sentences of dev", "sentences of test", "labels", "binarized labels")


class ReleaseSizes(NamedTuple):
    """Sentences of each split, and distinct labels of train, before and after binarization."""

    train: int
    dev: int
    test: int
    labels: int
    binarized_labels: int


SplitFiles = tuple[dict[str, list[Path]], list[str]]  # the files of each split, and descriptions of missing files


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


def prepare(
    release: Release, source: Path, out: Path, *, encoding: str | None = None, on_error: OnError = "raise"
) -> tuple[dict[str, CleanTrees], list[str]]:
    """Writes the cleaned trees of a release to train.mrg, dev.mrg and test.mrg in the folder `out`.

    Returns the trees of each split, and descriptions of missing files.
    """
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
    return splits, missing


def count_sizes(splits: Mapping[str, CleanTrees]) -> ReleaseSizes:
    """The sizes of a prepared release."""
    train, dev, test = (splits[split].sentences for split in SPLITS)
    return ReleaseSizes(train, dev, test, len(splits["train"].labels), len(splits["train"].binarized_labels))


def report_trees(trees: CleanTrees) -> list[str]:
    """The report on trees that are not a release."""
    return [*size_table({"all": trees}, None), *report_left_out({"all": trees})]


def report_release(
    splits: Mapping[str, CleanTrees], missing: Sequence[str], expected: ReleaseSizes | None
) -> list[str]:
    """The report on a release; `expected` is the paper's sizes."""
    lines = [*size_table(splits, expected), *report_left_out(splits)]
    lines += [f"missing: {part}" for part in missing]
    return [*lines, *_differences(splits, expected)] if expected else lines


def size_table(splits: Mapping[str, CleanTrees], expected: ReleaseSizes | None) -> list[str]:
    """A table of the sizes of each split, beside the paper's sizes."""
    rows = [_HEADER, *(_size_row(name, split, expected) for name, split in splits.items())]
    columns = [column for column, title in enumerate(_HEADER) if expected or title != "paper"]
    widths = {column: max(len(row[column]) for row in rows) for column in columns}
    return [
        "  ".join([row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in columns[1:])]).rstrip()
        for row in rows
    ]


def _size_row(name: str, split: CleanTrees, expected: ReleaseSizes | None) -> tuple[str, ...]:
    paper_sentences = f"{getattr(expected, name):,}" if expected and name in SPLITS else ""
    paper_labels, paper_binarized = (
        (f"{expected.labels:,}", f"{expected.binarized_labels:,}") if expected and name == "train" else ("", "")
    )
    sizes = (split.sentences, split.tokens, len(split.labels), len(split.binarized_labels))
    sentences, tokens, labels, binarized = (f"{size:,}" for size in sizes)
    return name, sentences, paper_sentences, tokens, labels, paper_labels, binarized, paper_binarized


def report_left_out(splits: Mapping[str, CleanTrees]) -> list[str]:
    """The numbers of trees that were left out."""
    skipped = sum(split.skipped for split in splits.values())
    wordless = sum(split.wordless for split in splits.values())
    lines = [f"skipped, because they could not be read: {skipped:,} trees"] if skipped else []
    return lines + ([f"dropped, because no words were left: {wordless:,} trees"] if wordless else [])


def _differences(splits: Mapping[str, CleanTrees], expected: ReleaseSizes) -> list[str]:
    sizes = zip(_SIZE_NAMES, count_sizes(splits), expected, strict=True)
    differences = [f"differs: {ours:,} {name}, {paper:,} in the paper" for name, ours, paper in sizes if ours != paper]
    return differences or ["all numbers agree with the paper"]


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
    return files, [f"WSJ sections {_format_ranges(missing, range(2, 24))}"] if missing else []


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
    return files, [f"CTB articles {_format_ranges(missing, expected)}"] if missing else []


def _find_listed(source: Path, documents: dict[str, list[str]], locate: Callable[[str], Path]) -> SplitFiles:
    """Finds the documents that a release lists for each split."""
    paths = {split: {name: source / locate(name) for name in names} for split, names in documents.items()}
    missing = [name for names in paths.values() for name, path in names.items() if not path.is_file()]
    files = {split: [path for path in names.values() if path.is_file()] for split, names in paths.items()}
    return files, [f"documents {', '.join(missing)}"] if missing else []


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
    return files, missing


def _is_masked(path: Path) -> bool:
    first = next(read_trees(path, on_error="skip"), None)
    return first is not None and all(set(word) == {"_"} for word in first.words)


def _find_craft(source: Path) -> SplitFiles:
    folder = source / "articles" / "ids"
    documents = {split: (folder / f"craft-ids-{split}.txt").read_text(encoding="utf-8").split() for split in SPLITS}
    penn = Path("structural-annotation", "treebank", "penn")
    return _find_listed(source, documents, lambda name: penn / f"{name}.tree")


def _to_release(
    *, title: str, layout: str, finder: str, expected: Sequence[int] = (), dissolve: Sequence[str] = (), **options: Any
) -> Release:
    find = partial(_FINDERS[finder], **options.get("articles", {}))
    sizes = ReleaseSizes(*expected) if expected else None
    return Release(title=title, layout=layout, find=find, expected=sizes, dissolve=frozenset(dissolve))


_FINDERS: dict[str, Callable[..., SplitFiles]] = {
    "sections": _find_sections,
    "articles": _find_articles,
    "gum": _find_gum,
    "craft": _find_craft,
}
RELEASES = {name: _to_release(**table) for name, table in read_data(__file__).items()}
