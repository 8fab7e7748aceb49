"""Treebank releases and their splits: from the folders that people have to train, dev and test.

The figures to expect are those of the paper (Zhang, Zhou and Li, 2020, table 1).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from treecrf.tree import Tree
from treecrf.treebank import OnError, clean, read_trees, write_trees
from treecrf.treebank.binarize import to_spans
from treecrf.treebank.lines import Source

PARTS = ("train", "dev", "test")


class Figures(NamedTuple):
    """What a treebank holds: sentences of each part, and distinct labels of train, as they are and binarized."""

    train: int
    dev: int
    test: int
    labels: int
    binarized: int


class Split(NamedTuple):
    """The files of each part, and what belongs to the parts but is not there, in words."""

    files: dict[str, list[Path]]
    missing: list[str]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A release: how to find the files of its parts, and what is known about them."""

    title: str
    layout: str
    find: Callable[[Path], Split]
    expected: Figures | None = None
    dissolve: frozenset[str] = frozenset()


@dataclass(kw_only=True)
class CleanTrees:
    """The clean trees of some files, counted while they are read."""

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
    binarized: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Tree]:
        for file in self.files:
            reader = read_trees(file, encoding=self.encoding, on_error=self.on_error)
            for raw in reader:
                tree = clean(raw, keep_labels=self.keep_labels, dissolve=self.dissolve)
                if tree is None:
                    self.wordless += 1
                else:
                    self._count(tree)
                    yield tree
            self.skipped += reader.skipped
        if not self.sentences:
            more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
            raise ValueError(f"no trees in {self.files[0]}{more}")

    def _count(self, tree: Tree) -> None:
        spans = to_spans(tree)
        self.sentences += 1
        self.tokens += (len(spans) + 1) // 2
        self.labels.update(span.label for span in tree.spans()[1:])
        self.binarized.update(span.label for span in spans)


class Prepared(NamedTuple):
    """What `prepare` has written, and what the release lacked."""

    parts: dict[str, CleanTrees]
    missing: list[str]


def prepare(
    corpus: Corpus, source: Path, out: Path, *, encoding: str | None = None, on_error: OnError = "raise"
) -> Prepared:
    """Write the clean trees of a release to train.mrg, dev.mrg and test.mrg in a folder."""
    if not source.is_dir():
        raise ValueError(f"{source} is not a folder; expected {corpus.layout}")
    split = corpus.find(source)
    for part in PARTS:
        if not split.files[part]:
            raise ValueError(f"no files for {part} under {source}; expected {corpus.layout}")
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, CleanTrees] = {}
    for part in PARTS:
        files = split.files[part]
        parts[part] = CleanTrees(files=files, dissolve=corpus.dissolve, encoding=encoding, on_error=on_error)
        write_trees(out / f"{part}.mrg", parts[part])
    return Prepared(parts, split.missing)


def figures(parts: dict[str, CleanTrees]) -> Figures:
    """The figures of what was prepared."""
    train, dev, test = (parts[part].sentences for part in PARTS)
    return Figures(train, dev, test, len(parts["train"].labels), len(parts["train"].binarized))


def _numbers(ranges: str) -> set[int]:
    """The numbers that text such as "1-3 7" lists."""
    numbers: set[int] = set()
    for piece in ranges.split():
        first, _, last = piece.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def _as_ranges(numbers: Iterable[int], among: Iterable[int]) -> str:
    """List numbers, with runs of neighbours among all that there are as ranges."""
    wanted = set(numbers)
    runs: list[list[int]] = []
    previous_wanted = False
    for number in sorted(among):
        if number in wanted:
            if not previous_wanted:
                runs.append([])
            runs[-1].append(number)
        previous_wanted = number in wanted
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _articles(source: Path, names: re.Pattern[str], folder: str) -> dict[int, Path]:
    """Files by the number in their name; only those in folders of that name, where there are any."""
    paths = [path for path in sorted(source.rglob("*")) if names.fullmatch(path.name) and path.is_file()]
    found: dict[int, Path] = {}
    for path in [path for path in paths if path.parent.name.lower() == folder] or paths:
        number = int(re.findall(r"\d+", path.name)[0])
        if number in found:
            raise ValueError(f"{found[number]} and {path} are the same article; name the folder that holds one of them")
        found[number] = path
    return found


def _find_sections(source: Path) -> Split:
    """Sections of the Wall Street Journal, which are the hundreds of its articles' numbers."""
    articles = _articles(source, re.compile(r"wsj_\d{4}\.mrg(\.gz)?", re.IGNORECASE), "")
    parts = {"train": range(2, 22), "dev": range(22, 23), "test": range(23, 24)}
    files = {part: [articles[n] for n in sorted(articles) if n // 100 in sections] for part, sections in parts.items()}
    missing = set(range(2, 24)) - {number // 100 for number in articles}
    return Split(files, [f"WSJ sections {_as_ranges(missing, range(2, 24))}"] if missing else [])


def _find_articles(source: Path, *, release: str, dev: str, test: str, train: str = "") -> Split:
    """Articles of the Chinese Treebank; without its own numbers, train is all that is not dev or test."""
    pattern = re.compile(r"chtb_\d+\.(?!raw|seg|pos)[a-z]+(\.gz)?", re.IGNORECASE)
    articles = _articles(source, pattern, "bracketed")
    numbers = {"dev": _numbers(dev), "test": _numbers(test)}
    others = (_numbers(release) | set(articles)) - numbers["dev"] - numbers["test"]
    numbers["train"] = _numbers(train) if train else others
    files = {part: [articles[n] for n in sorted(articles) if n in numbers[part]] for part in PARTS}
    used = _numbers(release) & (numbers["train"] | numbers["dev"] | numbers["test"])
    missing = used - set(articles)
    return Split(files, [f"CTB articles {_as_ranges(missing, used)}"] if missing else [])


def _find_listed(source: Path, listed: dict[str, list[str]], place: Callable[[str], Path]) -> Split:
    """Documents that the release lists for each part."""
    paths = {part: {name: source / place(name) for name in names} for part, names in listed.items()}
    missing = [name for names in paths.values() for name, path in names.items() if not path.is_file()]
    files = {part: [path for path in names.values() if path.is_file()] for part, names in paths.items()}
    return Split(files, [f"documents {', '.join(missing)}"] if missing else [])


def _find_gum(source: Path) -> Split:
    listed: dict[str, list[str]] = {part: [] for part in PARTS}
    part = ""
    for line in (source / "splits.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            part = line[3:].strip()
        elif part in listed and line.strip().startswith("* "):
            listed[part].append(line.strip()[2:])
    split = _find_listed(source, listed, lambda name: Path("const", f"{name}.ptb"))
    masked = {path for paths in split.files.values() for path in paths if "reddit" in path.name and _is_masked(path)}
    files = {part: [path for path in paths if path not in masked] for part, paths in split.files.items()}
    withheld = [f"the words of {len(masked)} documents from Reddit, which this copy leaves blank"] if masked else []
    return Split(files, split.missing + withheld)


def _is_masked(path: Path) -> bool:
    first = next(read_trees(path, on_error="skip"), None)
    return first is not None and all(set(word) == {"_"} for word in first.words)


def _find_craft(source: Path) -> Split:
    ids = source / "articles" / "ids"
    listed = {part: (ids / f"craft-ids-{part}.txt").read_text(encoding="utf-8").split() for part in PARTS}
    return _find_listed(source, listed, lambda name: Path("structural-annotation", "treebank", "penn", f"{name}.tree"))


_CTB5_RELEASE = "1-325 400-454 500-554 590-596 600-885 900-931 1001-1078 1100-1151"

CORPORA = {
    "ptb": Corpus(
        title="Penn Treebank, Wall Street Journal (LDC99T42): train 02-21, dev 22, test 23",
        layout="the release, with parsed/mrg/wsj/NN/wsj_NNNN.mrg somewhere below",
        find=_find_sections,
        expected=Figures(39832, 1700, 2416, 26, 138),
    ),
    "ctb5": Corpus(
        title="Chinese Treebank 5.1 (LDC2005T01U01): train 001-270 and 440-1151, dev 301-325, test 271-300",
        layout="the release, with data/bracketed/chtb_NNN.fid somewhere below",
        find=partial(_find_articles, release=_CTB5_RELEASE, train="1-270 440-1151", dev="301-325", test="271-300"),
        expected=Figures(18104, 352, 348, 26, 162),
    ),
    "ctb7": Corpus(
        title="Chinese Treebank 7.0 (LDC2010T07), the split that its manual suggests",
        layout="the release, with data/utf-8/bracketed/chtb_NNNN.nw and others somewhere below",
        find=partial(
            _find_articles,
            release=f"{_CTB5_RELEASE} 2000-3145 4000-4411",
            dev="41-80 1120-1129 2140-2159 2280-2294 2550-2569 2775-2799 3080-3109",
            test="1-40 900-931 1018 1020 1036 1044 1060-1061 1072 1118-1119 1132 1141-1142 1148"
            " 2165-2180 2295-2310 2570-2602 2800-2819 3110-3145",
        ),
        expected=Figures(46572, 2079, 2796, 28, 265),
    ),
    "gum": Corpus(
        title="Georgetown University Multilayer Corpus: the parts of its splits.md",
        layout="a copy of its repository, with splits.md and const/*.ptb",
        find=_find_gum,
    ),
    "craft": Corpus(
        title="Colorado Richly Annotated Full-Text corpus: the parts of its articles/ids",
        layout="a copy of its repository, with articles/ids and structural-annotation/treebank/penn/*.tree",
        find=_find_craft,
        dissolve=frozenset({"TITLE", "HEADING", "CAPTION"}),  # parts of the document, not of a sentence
    ),
}
