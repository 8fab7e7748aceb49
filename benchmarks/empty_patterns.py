"""The baseline of empty elements: the pattern matcher of Johnson (ACL 2002), scored as `treecrf evaluate --full` does.

    python benchmarks/empty_patterns.py --train FULL.mrg.gz ... --test FULL.mrg.gz[=PARSED.mrg] ...

A pattern is the minimal connected fragment of a training tree that contains an empty element and the constituents with
its index; auxiliaries and transitive verbs have tags of their own. A pattern is kept if it is right more often than
wrong, by the lower bound of a confidence interval of 67 %. Trees are traversed from the root, and the deepest pattern
that matches at a node inserts its empty elements. Without PARSED, the trees are the gold ones.
"""

import gc
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import sqrt
from pathlib import Path

from common import command_line, print_head, print_row, read_text
from treecrf.trees.evalb.full_score import score_full_trees
from treecrf.trees.notation import split_label
from treecrf.trees.placed_nodes import PlacedNode, place_nodes
from treecrf.trees.tree import Tree, parse_trees

AUXILIARIES = frozenset(
    "am is are was were be been being 's 're 'm have has had having 've 'd do does did doing done".split()  # noqa: SIM905
)
STANDARD_SCORE = 0.97  # standard errors on each side of a 67 % confidence interval
Pattern = Tree  # indices count from 1; the one child of a node that the pattern does not expand is FRONTIER
FRONTIER = Tree("_", ("_",))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--train", nargs="+", type=Path, required=True)
    parser.add_argument("--test", nargs="+", metavar="FULL[=PARSED]", required=True)
    args = parser.parse_args()
    gc.disable()  # millions of small objects live to the end
    train = [tree for path in args.train for tree in parse_trees(read_text(path))]
    matcher = Matcher.learn(train)
    print(f"{sum(map(len, matcher.patterns.values()))} patterns of {len(train)} trees\n")
    print_head("trees", "F1", "\\*PRO\\* as \\*", "with antecedents")
    for pair in args.test:
        full, _, parsed = pair.partition("=")
        gold = list(parse_trees(read_text(Path(full))))
        plain = list(parse_trees(read_text(Path(parsed)))) if parsed else [tree.plain() for tree in gold]
        restored = list(map(matcher.restore, plain))
        scores = [score_full_trees(gold, restored, merge_pro=merge_pro) for merge_pro in (False, True)]
        cells = [score.total("empties").f1 for score in scores]
        cells.append(scores[1].total("empties_with_antecedents").f1)
        print_row(f"{'parsed' if parsed else 'gold'}, {full}", *(f"{cell:.1f}" for cell in cells))


class Matcher:
    """Patterns by the label and the children of their root, the deepest first."""

    def __init__(self, patterns: Iterable[Pattern], transitive: set[str]) -> None:
        self.transitive = transitive
        self.patterns: defaultdict[tuple[str, ...], list[Pattern]] = defaultdict(list)
        for pattern in sorted(patterns, key=lambda pattern: (-pattern.height(), str(pattern))):
            self.patterns[production(pattern)].append(pattern)

    @staticmethod
    def learn(trees: Sequence[Tree]) -> "Matcher":
        transitive = transitive_verbs(trees)
        counts: Counter[Pattern] = Counter()
        for tree in trees:
            counts.update(extract(tree, transitive))
        matcher = Matcher(counts, transitive)
        matches: Counter[Pattern] = Counter()
        for tree in trees:
            for node in tree.plain().subtrees(lambda node: not node.is_leaf):
                matches.update(pattern for pattern in matcher.candidates(node) if matcher.match(pattern, node))
        return Matcher((pattern for pattern in counts if is_reliable(counts[pattern], matches[pattern])), transitive)

    def candidates(self, node: Tree) -> list[Pattern]:
        return self.patterns.get((node.label, *(symbol(child, self.transitive) for child in node.child_trees)), [])

    def match(self, pattern: Pattern, node: Tree) -> bool:
        """Whether the pattern without empty elements is the top of a tree."""
        if is_frontier(pattern):
            return pattern.category == symbol(node, self.transitive)
        children = [child for child in pattern.child_trees if not is_empty(child)]
        return (
            pattern.category == node.label
            and len(children) == len(node.child_trees)
            and all(map(self.match, children, node.child_trees))
        )

    def restore(self, tree: Tree) -> Tree:
        """The tree with the empty elements of the patterns that match."""
        root = Node(tree)
        stack, numbers = [root], count(1)
        while stack:
            node = stack.pop()
            stack += reversed(node.children)
            pattern = next((pattern for pattern in self.candidates(node.tree) if self.match(pattern, node.tree)), None)
            if pattern is not None:
                indices: dict[int, int] = {}
                node.number(pattern, indices, numbers)
                node.insert(pattern, indices)
        return root.build()


@dataclass
class Node:
    """A node of a tree that receives an index and empty elements."""

    tree: Tree
    index: int | None = None
    insertions: list[tuple[int, Tree]] = field(default_factory=list)  # the number of children before each

    def __post_init__(self) -> None:
        self.children = [Node(child) for child in self.tree.child_trees]

    def pairs(self, pattern: Pattern) -> Iterator[tuple["Node", Pattern]]:
        """The children with their patterns."""
        patterns = [child for child in pattern.child_trees if not is_empty(child)]
        return zip([] if is_frontier(pattern) else self.children, [] if is_frontier(pattern) else patterns, strict=True)

    def number(self, pattern: Pattern, indices: dict[int, int], numbers: Iterator[int]) -> None:
        """Gives the constituents with an index in the pattern an index of the tree."""
        if pattern.index is not None:
            self.index = self.index or next(numbers)
            indices[pattern.index] = self.index
        for child, child_pattern in self.pairs(pattern):
            child.number(child_pattern, indices, numbers)

    def insert(self, pattern: Pattern, indices: dict[int, int]) -> None:
        """Inserts the empty elements of the pattern, unless a larger pattern has inserted others."""
        empties = [] if self.insertions else [child for child in pattern.child_trees if is_empty(child)]
        for empty in empties:
            place = sum(not is_empty(child) for child in pattern.child_trees[: pattern.child_trees.index(empty)])
            self.insertions.append((place, empty.fold(lambda node, children: renumber(node, children, indices))))
        for child, child_pattern in self.pairs(pattern):
            child.insert(child_pattern, indices)

    def build(self) -> Tree:
        """The tree with its insertions."""
        if self.tree.is_leaf:
            return self.tree
        children: list[Tree] = []
        for place, child in enumerate([*self.children, None]):
            children += [tree for insertion, tree in self.insertions if insertion == place]
            children += [] if child is None else [child.build()]
        return Tree(self.tree.label + ("" if self.index is None else f"-{self.index}"), tuple(children))


def renumber(node: Tree, children: list[Tree], indices: dict[int, int]) -> Tree:
    """The node of an insertion with the indices of the tree."""
    index = indices.get(node.index) if node.index is not None else None
    suffix = "" if index is None else f"-{index}"
    return Tree(node.label, (f"{node.kind}{suffix}",)) if node.is_empty else Tree(node.category + suffix, children)


def production(pattern: Pattern) -> tuple[str, ...]:
    return (pattern.category, *(child.category for child in pattern.child_trees if not is_empty(child)))


def is_frontier(pattern: Pattern) -> bool:
    return pattern.child_trees[:1] == (FRONTIER,)


def is_empty(node: Tree) -> bool:
    """Whether all leaves below are empty elements."""
    return all(leaf.is_empty for leaf in node.preterminals(empties=True))


def is_reliable(right: int, matched: int) -> bool:
    """Whether the lower bound of the share of right matches is above one half."""
    share = min(1.0, right / max(matched, 1))
    deviation = sqrt(share * (1 - share) / max(matched, 1))
    return share - STANDARD_SCORE * deviation > 0.5


def symbol(node: Tree, transitive: set[str]) -> str:
    """The category, or the tag with a mark for auxiliaries and transitive verbs."""
    word = str(node.children[0]).lower() if node.is_leaf else ""
    if not word or not node.label.startswith("VB"):
        return split_label(node.label).category
    return f"AUX{node.label[2:]}" if word in AUXILIARIES else node.label + "_t" * (word in transitive)


def transitive_verbs(trees: Iterable[Tree]) -> set[str]:
    """The verbs that have a noun phrase without functions after them at least every second time."""
    all_verbs: Counter[str] = Counter()
    transitive: Counter[str] = Counter()
    for tree in trees:
        for phrase in tree.subtrees(lambda node: node.category == "VP"):
            for child, after in zip(phrase.child_trees, [*phrase.child_trees[1:], None], strict=True):
                if child.is_leaf and child.label.startswith("VB"):
                    word = str(child.children[0]).lower()
                    all_verbs[word] += 1
                    transitive[word] += after is not None and after.category == "NP" and not after.functions
    return {word for word, count in all_verbs.items() if 2 * transitive[word] >= count}


def extract(tree: Tree, transitive: set[str]) -> Iterator[Pattern]:
    """The pattern of each empty element; siblings share one."""
    nodes = place_nodes(tree)
    by_index: defaultdict[int, list[PlacedNode]] = defaultdict(list)
    for node in nodes:
        if node.tree.index is not None and not node.tree.is_empty:
            by_index[node.tree.index].append(node)
    found: dict[int, PlacedNode] = {}  # the highest node without words above each empty element
    for node in nodes:
        if node.start == node.end and node.parent is not None and node.parent.start < node.parent.end:
            found.setdefault(id(node.parent), node)
    for top in found.values():
        parent = top.parent
        assert parent is not None
        empties = [node for node in nodes if node.tree.is_empty and is_below(node, parent)]
        empties = [node for node in empties if highest_empty(node).parent is parent]
        members = [parent, *empties]
        indices = {node.tree.index for node in empties} - {None}
        members += [node for index in indices if index is not None for node in by_index[index]]
        root = lowest_common_ancestor(members)
        inside = {id(node) for node in members if node.children}
        for node in members:
            for ancestor in node.ancestors():
                if is_below(ancestor, root):
                    inside.add(id(ancestor))
        inside -= {id(node) for node in members if node.tree.index in indices and not holds(node, members)}
        yield fragment(
            root, inside | {id(root)}, {index: n for n, index in enumerate(sorted(map(str, indices)), 1)}, transitive
        )


def holds(node: PlacedNode, members: list[PlacedNode]) -> bool:
    return any(other is not node and is_below(other, node) for other in members)


def is_below(node: PlacedNode, top: PlacedNode) -> bool:
    return node is top or any(ancestor is top for ancestor in node.ancestors())


def highest_empty(node: PlacedNode) -> PlacedNode:
    while node.parent is not None and node.parent.start == node.parent.end:
        node = node.parent
    return node


def lowest_common_ancestor(nodes: list[PlacedNode]) -> PlacedNode:
    ancestor = nodes[0]
    while not all(is_below(node, ancestor) for node in nodes):
        assert ancestor.parent is not None
        ancestor = ancestor.parent
    return ancestor


def fragment(node: PlacedNode, inside: set[int], indices: dict[str, int], transitive: set[str]) -> Pattern:
    """The fragment of the nodes `inside` with all their children."""
    number = indices.get(str(node.tree.index))
    suffix = f"-{number}" if number is not None else ""
    if node.tree.is_empty:
        return Tree("-NONE-", (f"{node.tree.kind}{suffix}",))
    label = symbol(node.tree, transitive) + suffix
    if node.start == node.end or (id(node) in inside and node.children):
        return Tree(label, tuple(fragment(child, inside, indices, transitive) for child in node.children))
    return Tree(label, (FRONTIER,))


if __name__ == "__main__":
    main()
