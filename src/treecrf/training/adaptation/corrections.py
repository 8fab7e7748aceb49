"""Corrected sentences: full trees, partial trees and constraints of a user, read from files and scored.

Of a full tree, every constituent counts. Of a partial tree, its brackets count: each should be in the predicted tree,
or, if it is forbidden, not.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles
from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Bracket
from treecrf.parser.evaluate import predict_trees
from treecrf.training.partial import PartialTree, parse_partial, read_partial
from treecrf.trees.bootstrap import Interval, percentile_interval, resampled_totals
from treecrf.trees.evalb import COLLINS, Rules, evaluate
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean, read_trees
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.cleaning import strip_label
from treecrf.trees.treebank.lines import read_text

SENTENCES, EVENTS = "sentences.jsonl", ".events.jsonl"  # files of an annotation folder that have no trees
_RESAMPLES = 2000


class Source(NamedTuple):
    """A file, and its numbers of full and of partial trees."""

    name: str
    trees: int
    partial: int


@dataclass(frozen=True)
class Corrections:
    """Full trees and partial trees, in this order where both are numbered."""

    trees: Sequence[Tree] = ()
    partial: Sequence[PartialTree] = ()
    sources: Sequence[Source] = ()

    @staticmethod
    def read(paths: Iterable[str | Path], parser: Parser) -> "Corrections":
        """Reads files and annotation folders, with the labels as the parser has them."""
        files = [file for path in paths for file in _files(Path(path))]
        found = [_read_file(file, parser) for file in files]
        corrections = Corrections(
            [tree for each in found for tree in each.trees],
            [tree for each in found for tree in each.partial],
            [Source(file.name, len(each.trees), len(each.partial)) for file, each in zip(files, found, strict=True)],
        )
        if not len(corrections):
            raise ValueError(f"{' and '.join(map(str, files)) or 'the folder'} has no trees; expected at least one")
        return corrections

    @staticmethod
    def of(trees: "Iterable[Tree | PartialTree] | str | Path", parser: Parser) -> "Corrections":
        """The corrections of a file or folder, or of trees in memory."""
        if isinstance(trees, (str, Path)):
            return Corrections.read([trees], parser)
        items = list(trees)
        full = [adopt_labels(item, parser) for item in items if isinstance(item, Tree)]
        return Corrections(full, [item for item in items if isinstance(item, PartialTree)])

    def __len__(self) -> int:
        return len(self.trees) + len(self.partial)

    @property
    def words(self) -> list[list[str]]:
        return [tree.words for tree in self.trees] + [tree.words for tree in self.partial]

    def select(self, numbers: Iterable[int]) -> "Corrections":
        chosen, count = sorted(numbers), len(self.trees)
        return Corrections(
            [self.trees[number] for number in chosen if number < count],
            [self.partial[number - count] for number in chosen if number >= count],
        )

    def parse(self, parser: Parser) -> list[Tree]:
        """The parser's trees of the same words."""
        return [*predict_trees(parser, self.trees), *parser.parse_many([tree.words for tree in self.partial])]

    def counts(self, predicted: Sequence[Tree], rules: Rules = COLLINS) -> Doubles:
        """The gold, predicted and matched brackets of each sentence, whether all are right, and 1: (sentences, 5).

        A partial tree has as many predicted brackets as it has brackets.
        """
        full = predicted[: len(self.trees)]
        score = evaluate(self.trees, full, rules=replace(rules, max_error=None), use_gold_tags=True)
        counts = [each.counts for each in score.sentences]
        rows = [(c.gold, c.predicted, c.matched, c.gold == c.predicted == c.matched, 1) for c in counts]
        for sentence, tree in zip(self.partial, predicted[len(self.trees) :], strict=True):
            right = [_is_right(tree, *each) for each in _brackets(sentence)]
            rows.append((len(right), len(right), sum(right), all(right), 1))
        return np.array(rows, float).reshape(-1, 5)


class Measure(NamedTuple):
    """A percentage before and after, the interval of the difference, and the probability that it is above 0."""

    before: float
    after: float
    interval: Interval
    probability: float

    @property
    def difference(self) -> float:
        return self.after - self.before

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.before:.2f} -> {self.after:.2f} ({self.difference:+.2f}, 95% interval {low:+.2f} to {high:+.2f})"


def compare(before: Doubles, after: Doubles) -> dict[str, Measure]:
    """The F1 of brackets and the share of sentences without an error, from the counts of the same sentences."""
    both = np.concatenate([before, after], axis=1)
    totals = np.concatenate([both.sum(0, keepdims=True), resampled_totals(both, _RESAMPLES, seed=0)])
    old, new = np.split(totals, 2, axis=1)
    return {name: _measure(share(old), share(new)) for name, share in (("brackets", _f1), ("sentences", _right))}


def f1(counts: Doubles) -> float:
    """The F1 of the brackets of all sentences, in percent; the share of brackets that are right for partial trees."""
    return float(_f1(counts.sum(0, keepdims=True))[0])


def _measure(before: Doubles, after: Doubles) -> Measure:
    """The first numbers are of all sentences, the others of resamples."""
    difference = after[1:] - before[1:]
    return Measure(float(before[0]), float(after[0]), percentile_interval(difference), float((difference > 0).mean()))


def _f1(totals: Doubles) -> Doubles:
    gold, predicted, matched = totals.T[:3]
    scores: Doubles = 200 * matched / np.maximum(gold + predicted, 1)
    return scores


def _right(totals: Doubles) -> Doubles:
    return 100 * totals[:, 3] / np.maximum(totals[:, 4], 1)


def adopt_labels(tree: Tree, parser: Parser) -> Tree:
    """The tree with the root and the kind of labels that the parser has, without empty elements."""
    names = LabelSet(parser.vocabulary.labels).names
    cleaned = clean(tree, keep_labels=any(strip_label(name) != name for name in names))
    if cleaned is None:
        raise ValueError(f"the tree {tree!s:.80} has no words")
    return Tree(parser.root, cleaned.children)


def _brackets(sentence: PartialTree) -> list[tuple[Bracket, bool]]:
    """The brackets over two words or more, and whether the tree should have them."""
    kinds = ((sentence.constraints.require, True), (sentence.constraints.forbid, False))
    brackets = [(Bracket(*item), wanted) for items, wanted in kinds for item in items]
    return [(bracket, wanted) for bracket, wanted in brackets if bracket.end - bracket.start > 1]


def _is_right(tree: Tree, bracket: Bracket, wanted: bool) -> bool:
    labels = {span.label for span in tree.spans() if span[:2] == bracket[:2]}
    return wanted == (bool(labels) if bracket.label is None else bracket.label in labels)


def _files(path: Path) -> list[Path]:
    """The file, or the files of trees in an annotation folder."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}; expected trees, or the folder of an annotation")
    if not path.is_dir():
        return [path]
    if not (path / SENTENCES).exists():
        raise ValueError(f"{path} is a folder without {SENTENCES}; expected files, or a folder of treecrf annotate")
    files = [*path.glob("*.mrg"), *path.glob("*.partial.jsonl")]
    return sorted(file for file in files if file.stat().st_size)


def _read_file(path: Path, parser: Parser) -> Corrections:
    """Reads the trees of a file, whose content decides on their notation."""
    name, text = path.name.removesuffix(".gz"), read_text(path)
    has_notation = name.endswith(".txt") and text.lstrip()[:1] != "("
    if has_notation or (name.endswith(".jsonl") and '"words"' in text.lstrip().partition("\n")[0]):
        return Corrections(partial=read_partial(path))
    items: list[Tree | PartialTree] = []
    if text.lstrip().startswith("{"):
        items += read_trees(path)
    else:
        items += _read_trees(text, path) or _read_lines(text, path)
    names, tags = {*LabelSet(parser.vocabulary.labels).names, parser.root}, {*parser.vocabulary.tags}
    pairs = [(item, _partial(item, names - tags)) for item in items]
    full = [adopt_labels(item, parser) for item, other in pairs if isinstance(item, Tree) and other is None]
    return Corrections(full, [other for _, other in pairs if other is not None])


def _partial(item: Tree | PartialTree, names: set[str]) -> PartialTree | None:
    """A partial tree, also one that reads like a tree because every word has a bracket; None for a full tree.

    A full tree has a tag above each word.
    """
    if isinstance(item, Tree):
        return PartialTree.of_tree(item) if item.is_leaf or names.intersection(item.tags) else None
    return item


def _read_trees(text: str, path: Path) -> list[Tree]:
    """Reads full trees; none if the text has anything else, such as words without a tag."""
    try:
        trees = list(read_trees(io.StringIO(text)))
        leaves = sum(node.is_leaf for tree in trees for node in tree.walk())
        return trees if leaves == len(parse_partial(text, ".mrg", str(path)).words) else []
    except ValueError:
        return []


def _read_lines(text: str, path: Path) -> Iterator[Tree | PartialTree]:
    """Reads a text with a full or a partial tree in each line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            trees = _read_trees(line, path)
            yield from trees if trees else [parse_partial(line, ".mrg", f"{path}:{number}")]
