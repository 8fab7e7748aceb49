"""Checks a file of trees that was edited by hand: words, labels, tags and productions."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from treecrf.files import Source
from treecrf.parser import Parser
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import TreeReader
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.well_formed import Production, productions

Kind = Literal["brackets", "words", "label", "tag", "production"]


class Finding(NamedTuple):
    """Something to look at in a line; an unseen production alone is no error."""

    line: int
    kind: Kind
    text: str

    @property
    def is_error(self) -> bool:
        return self.kind != "production"


@dataclass(frozen=True)
class Inventory:
    """The labels, tags and productions that trees may have."""

    labels: Collection[str]
    tags: Collection[str]
    productions: Collection[Production]

    @staticmethod
    def of_parser(parser: Parser) -> "Inventory":
        labels = {*LabelSet(parser.vocabulary.labels).names, parser.root}
        return Inventory(labels, {*parser.vocabulary.tags}, {*parser.productions})

    @staticmethod
    def of_trees(trees: Iterable[Tree]) -> "Inventory":
        nodes = [node for tree in trees for node in tree.walk()]
        labels, tags = ({node.label for node in nodes if node.is_leaf == is_leaf} for is_leaf in (False, True))
        return Inventory(labels, tags, {_production(node) for node in nodes if not node.is_leaf})

    def __or__(self, other: "Inventory") -> "Inventory":
        names = ("labels", "tags", "productions")
        return Inventory(*({*getattr(self, name), *getattr(other, name)} for name in names))


class _PlacedTree(NamedTuple):
    """A tree with the line of each node, parents before children."""

    tree: Tree
    lines: Sequence[int]


class _Reader(TreeReader):
    """Reads trees with their lines; trees that cannot be read become findings."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.findings: list[Finding] = []

    def _fail(self, line: int, reason: str) -> None:
        self.findings.append(Finding(line, "brackets", reason))

    def placed_trees(self) -> Iterator[_PlacedTree]:
        for first, text in self.texts():
            lines = [first + number for number, line in enumerate(text.split("\n")) for _ in range(line.count("("))]
            trees = self.parse(first, text)
            sizes = [sum(1 for _ in tree.walk()) for tree in trees]
            is_exact = sum(sizes) == len(lines)  # otherwise a word has a bracket
            for tree, size in zip(trees, sizes, strict=True):
                yield _PlacedTree(tree, lines[:size] if is_exact else [first] * size)
                lines = lines[size:]


def check_trees(edited: Source, against: Source | None = None, *, parser: Parser | None = None) -> list[Finding]:
    """Compares edited trees with the original trees and with the labels, tags and productions of a parser.

    The words must equal the words of `against`. Labels and tags must occur in `against` or be known to the parser.
    Productions that neither has are listed. The findings are in the order of lines.
    """
    if against is None and parser is None:
        raise ValueError("there is nothing to compare with; give the original trees, a parser, or both")
    reader = _Reader(edited)
    trees = list(reader.placed_trees())
    findings = reader.findings
    known = Inventory((), (), ())
    if against is not None:
        original_reader = _Reader(against)
        originals = list(original_reader.placed_trees())
        if original_reader.findings:
            line, _, text = original_reader.findings[0]
            raise ValueError(f"{original_reader.name}:{line}: {text}; expected original trees that can be read")
        findings = findings + list(_compare_words(trees, originals, unreadable=len(findings)))
        known |= Inventory.of_trees(tree for tree, _ in originals)
    if parser is not None:
        known |= Inventory.of_parser(parser)
    findings = findings + [finding for placed in trees for finding in _unknown(placed, known)]
    return sorted(findings, key=lambda finding: finding.line)


def _compare_words(
    trees: Sequence[_PlacedTree], originals: Sequence[_PlacedTree], *, unreadable: int
) -> Iterator[Finding]:
    """Compares words tree by tree; if the numbers of trees differ, trees with equal words belong together."""
    if len(trees) == len(originals):
        for placed, original in zip(trees, originals, strict=True):
            yield from _different_words(placed, original)
        return
    new, old = ([tuple(placed.tree.words) for placed in each] for each in (trees, originals))
    for _, start, end, new_start, new_end in _changes(old, new):
        common = min(end - start, new_end - new_start)
        for i in range(common):
            yield from _different_words(trees[new_start + i], originals[start + i])
        line = trees[min(new_start, len(trees) - 1)].lines[0] if trees else 1
        missing = originals[start + common : end]
        for original in missing if len(missing) > unreadable else ():  # unreadable trees are not missing
            yield Finding(line, "words", f"near here, {_name(original)} of the original is missing")
        for placed in trees[new_start + common : new_end]:
            yield Finding(placed.lines[0], "words", f"{_name(placed, has_line=False)} is not in the original")


def _name(placed: _PlacedTree, *, has_line: bool = True) -> str:
    return f"the tree {f'in line {placed.lines[0]} ' if has_line else ''}({' '.join(placed.tree.words):.60})"


def _different_words(placed: _PlacedTree, original: _PlacedTree) -> Iterator[Finding]:
    new, old = placed.tree.words, original.tree.words
    word_lines = [
        line for line, node in zip(placed.lines, placed.tree.walk(), strict=True) if node.is_leaf and not node.is_empty
    ]
    for kind, start, end, new_start, new_end in _changes(old, new):
        line = word_lines[min(new_start, len(word_lines) - 1)] if word_lines else placed.lines[0]
        edited, expected = (" ".join(words) for words in (new[new_start:new_end], old[start:end]))
        where = f"word {start + 1} of line {original.lines[0]} of the original"
        texts = {
            "replace": f"{edited!r} instead of {expected!r}, {where}",
            "delete": f"{expected!r} is missing, {where}",
            "insert": f"{edited!r} is not in the original, before {where}",
        }
        yield Finding(line, "words", texts[kind])


def _changes(old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[str, int, int, int, int]]:
    """The changes of a sequence, as `SequenceMatcher.get_opcodes` gives them.

    Its time is quadratic where much is repeated, so what is equal at both ends is left out.
    """
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    matcher = SequenceMatcher(None, old[first : len(old) - last], new[first : len(new) - last], autojunk=False)
    for kind, *places in matcher.get_opcodes():
        if kind != "equal":
            start, end, new_start, new_end = (first + place for place in places)
            yield kind, start, end, new_start, new_end


def _common(old: Sequence[Any], new: Sequence[Any]) -> int:
    """The number of equal items at the beginning."""
    pairs = enumerate(zip(old, new))  # noqa: B905 - one may be longer
    return next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)))


def _production(node: Tree) -> Production:
    return next(productions(node))


def _unknown(placed: _PlacedTree, known: Inventory) -> Iterator[Finding]:
    nodes = list(placed.tree.walk())
    texts = _texts(nodes)
    for line, node in zip(placed.lines, nodes, strict=True):
        if node.is_leaf:
            if node.label not in known.tags:
                yield Finding(line, "tag", f"the tag {node.label} of {node.children[0]!r} is not known")
        elif node.label not in known.labels:
            yield Finding(line, "label", f"the label {node.label or '(empty)'} over {texts[id(node)]!r} is not known")
        elif (production := _production(node)) not in known.productions:
            label, *children = production
            yield Finding(line, "production", f"{label} -> {' '.join(children)} is unseen, over {texts[id(node)]!r}")


def _texts(nodes: Sequence[Tree]) -> dict[int, str]:
    """The first words of each node by its identity; parents stand before children."""
    texts: dict[int, str] = {}
    for node in reversed(nodes):
        words = node.words if node.is_leaf else filter(None, (texts[id(child)] for child in node.child_trees))
        texts[id(node)] = " ".join(words)[:60]
    return texts
