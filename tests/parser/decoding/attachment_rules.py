"""The reading of one tree by the rules of `attachments.py`, one word after the other, for English and its tags."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from treecrf.parser.decoding import attachments as rules
from treecrf.trees.search.heads import READINGS
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import chain_spans, unary_chain

Reading = tuple[tuple[int, bool] | None, ...]  # of each word: where its unit attaches, and whether it heads a clause


@dataclass(eq=False)
class Node:
    start: int
    end: int
    label: str
    children: "list[Node]" = field(default_factory=list)
    parent: "Node | None" = None

    @property
    def is_leaf(self) -> bool:
        return not self.children


def reading(tree: Tree, is_word: Sequence[bool] = ()) -> Reading:
    """What is the same for trees of the same reading."""
    tags = tree.tags
    is_word = is_word or [True] * len(tags)
    root = _build([] if tree.is_leaf else chain_spans(tree.spans()), tags, is_word)
    heads = _heads(root, tags, is_word)
    nodes = list(heads)
    governors = {word: word for word in range(len(tags))}
    for node in nodes:
        if node.parent is not None and heads[node] != heads[node.parent]:
            governors[heads[node]] = heads[node.parent]
    _follow_verbs(nodes, heads, governors, tags)
    _lean(nodes, heads, governors, tags, is_word)
    units = _units(nodes, heads, governors, tags)
    heads_of_clauses = {heads[node] for node in nodes if not node.is_leaf and node.label in rules._CLAUSES}
    nouns = {heads[node] for node in nodes if not node.is_leaf and node.label == "NP" and heads[node] > node.start}
    verbs = {
        word
        for word, tag in enumerate(tags)
        if tag in rules._VERBS and (word not in nouns or tag in rules._FINITE_VERBS)
    }
    with_dependents = {units[governors[word]] for word in governors if governors[word] != word and is_word[word]}
    attached = {units[word]: units[word] for word in governors}
    attached |= {units[word]: units[governors[word]] for word in governors if units[governors[word]] != units[word]}
    return tuple(
        (
            attached[word] if units[word] == word else units[word],
            word in with_dependents and (word in verbs or word in heads_of_clauses),
        )
        if is_word[word]
        else None
        for word in range(len(tags))
    )


def _build(chains: Sequence[Span], tags: Sequence[str], is_word: Sequence[bool]) -> Node:
    root = Node(0, len(tags), "")
    stack = [root]
    phrases = [span for span in chains if sum(is_word[span.start : span.end]) > 1]
    nodes = [Node(span.start, span.end, unary_chain(span.label)[-1]) for span in phrases]
    nodes += [Node(word, word + 1, tag) for word, tag in enumerate(tags)]
    for node in sorted(nodes, key=lambda node: (node.start, -node.end)):
        while node.start >= stack[-1].end:
            stack.pop()
        node.parent = stack[-1]
        stack[-1].children.append(node)
        if node.end - node.start > 1:
            stack.append(node)
    return root


def _heads(node: Node, tags: Sequence[str], is_word: Sequence[bool]) -> dict[Node, int]:
    if node.is_leaf:
        return {node: node.start}
    heads: dict[Node, int] = {}
    for child in node.children:
        heads |= _heads(child, tags, is_word)
    return {node: heads[_head_child(node, tags, is_word)], **heads}


def _head_child(node: Node, tags: Sequence[str], is_word: Sequence[bool]) -> Node:
    children = [child for child in node.children if not child.is_leaf or is_word[child.start]] or node.children
    for child in reversed(children):
        if _is_conjunction(child, tags, is_word):
            return child
    if node.label not in rules._CLAUSES:
        for child in children:
            verbs = [tag for tag in tags[child.start : child.end] if tag in rules._VERBS]
            is_verbal = child.label in ("VP", *rules._VERBS)
            is_verbal = is_verbal and (child.label != "VB" or child.start == node.start)
            if is_verbal and verbs and verbs[0] in rules._HEAD_VERBS:
                return child
    if node.label == "NP":
        prepositions = [child.start for child in node.children if child.is_leaf and child.label == "IN"]
        children = [c for c in children if not prepositions or c.start <= prepositions[0]] or children
    labels = [child.label for child in children]
    return children[READINGS.head_child(node.label, labels, [child.is_leaf for child in children])]


def _is_conjunction(node: Node, tags: Sequence[str], is_word: Sequence[bool]) -> bool:
    """Whether a node is the conjunction of its parent, or begins or ends with one."""
    parent = node.parent
    if parent is None:
        return False
    is_later = any(is_word[parent.start : node.start])
    if node.label in rules._CONJUNCTIONS and is_later:
        return True
    if tags[node.start] in rules._CONJUNCTIONS:
        if not node.is_leaf and is_later:
            return True
        if not is_later and _is_conjunction(parent, tags, is_word):
            return True
    return not node.is_leaf and tags[node.end - 1] in rules._CONJUNCTIONS


def _follow_verbs(
    nodes: Sequence[Node], heads: dict[Node, int], governors: dict[int, int], tags: Sequence[str]
) -> None:
    for node in nodes:
        if node.is_leaf or node.label != "VP" or tags[heads[node]] not in rules._VERBS:
            continue
        verb = None
        for child in node.children:
            if verb is not None and heads[child] != heads[node]:
                governors[heads[child]] = verb
            if child.is_leaf and child.label in rules._VERBS:
                verb = child.start


def _lean(
    nodes: Sequence[Node],
    heads: dict[Node, int],
    governors: dict[int, int],
    tags: Sequence[str],
    is_word: Sequence[bool],
) -> None:
    for symbols, parents, following in rules._LEANING:
        for parent in nodes:
            for child, after in zip(parent.children, parent.children[1:], strict=False):
                is_next = not after.is_leaf or is_word[after.start]
                is_next = (
                    is_next
                    and tags[after.start] != "TO"
                    and (not following or after.label in following)
                    and heads[child] != heads[parent]
                )
                if is_next and child.label in symbols and parent.label in parents:
                    governors[heads[child]] = heads[after]
    for parent in nodes:
        for child in parent.children:
            is_inside = child.label in rules._DETERMINERS and parent.label in rules._MODIFIERS
            if is_inside and heads[child] != heads[parent]:
                assert parent.parent is not None
                governors[heads[child]] = heads[parent.parent]


def _units(
    nodes: Sequence[Node], heads: dict[Node, int], governors: dict[int, int], tags: Sequence[str]
) -> dict[int, int]:
    """The first word of each word's unit."""
    units = {word: word for word in governors}
    for node in nodes:
        parent = node.parent
        if parent is None or heads[node] == heads[parent]:
            continue
        first, second = sorted((heads[node], governors[heads[node]]))
        if (
            parent.label in (*rules._CLAUSES, "PP", "")
            and (parent.label == "VP" or node.label in ("VP", *rules._VERBS))
            and tags[first] in rules._AUXILIARIES
            and tags[second] in rules._VERBS
        ):
            units = {
                word: min(units[first], units[second]) if unit in (units[first], units[second]) else unit
                for word, unit in units.items()
            }
    return units
