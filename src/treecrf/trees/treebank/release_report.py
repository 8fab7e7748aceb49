"""Reports on prepared trees: the sizes of each split beside the paper's sizes, and the trees that were left out."""

from collections.abc import Mapping

from treecrf.trees.treebank.random_split import RandomSplit
from treecrf.trees.treebank.releases import SPLITS, CleanTrees, PreparedRelease, ReleaseSizes, count_sizes

_HEADER = ("part", "sentences", "paper", "tokens", "labels", "paper", "binarized", "paper")
_SIZE_NAMES = ("sentences of train", "sentences of dev", "sentences of test", "labels", "binarized labels")


def report_trees(trees: CleanTrees) -> list[str]:
    """The report on trees that are not a release."""
    return [*_size_table({"all": trees}, None), *_left_out({"all": trees})]


def report_release(release: PreparedRelease, expected: ReleaseSizes | None) -> list[str]:
    """The report on a release; `expected` is the paper's sizes."""
    lines = [*_size_table(release.splits, expected), *_left_out(release.splits)]
    lines += [f"missing: {part}" for part in release.missing]
    return [*lines, *_differences(release, expected)] if expected else lines


def report_split(split: RandomSplit) -> list[str]:
    """The report on a treebank that was split at random."""
    lines = [*_size_table(split.parts, None), *_left_out({"all": split.trees})]
    lines += [
        f"note: {count:,} of the sentences of {name} have the words of a sentence in train"
        for name, count in split.seen.items()
        if count
    ]
    documents = "each file was" if split.has_file_documents else "runs of consecutive trees were"
    return [*lines, f"{documents} put into one part as a whole"]


def _size_table(splits: Mapping[str, CleanTrees], expected: ReleaseSizes | None) -> list[str]:
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


def _left_out(splits: Mapping[str, CleanTrees]) -> list[str]:
    skipped = sum(split.skipped for split in splits.values())
    wordless = sum(split.wordless for split in splits.values())
    lines = [f"skipped, because they could not be read: {skipped:,} trees"] if skipped else []
    return lines + ([f"dropped, because no words were left: {wordless:,} trees"] if wordless else [])


def _differences(release: PreparedRelease, expected: ReleaseSizes) -> list[str]:
    sizes = zip(_SIZE_NAMES, count_sizes(release.splits), expected, strict=True)
    differences = [f"differs: {ours:,} {name}, {paper:,} in the paper" for name, ours, paper in sizes if ours != paper]
    return differences or ["all numbers agree with the paper"]
