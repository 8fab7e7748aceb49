"""Trees as EVALB reads them: tagged words, and labeled brackets over word positions.

EVALB also scores malformed trees. `read_brackets` reads them in the same way, so that a malformed line has EVALB's
numbers, and lists the errors in `faults`.
"""

import re
from dataclasses import dataclass, field

from treecrf.trees.tree import Tree

UNCLOSED = -1  # the end of a bracket without ")"
UNREADABLE = "Reading sentence"  # EVALB's message for a word outside brackets, where it stops

_SPACE = r" \t\n\r\f\v"
# a label after "(", and for a tag also its word and the ")" after it; a single ")"; any other character
_TOKEN = re.compile(rf"\(([^{_SPACE}()]*)(?:[{_SPACE}]+([^{_SPACE}()]*)(\)[{_SPACE})]*))?|(\))|([^{_SPACE}])")


@dataclass(slots=True)
class Brackets:
    """A tree: bracket `i` is `labels[i]` over `words[starts[i]:ends[i]]`; brackets are in the order they open."""

    tags: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    readable: bool = True


def tree_brackets(tree: Tree | None) -> Brackets:
    """The brackets of a tree; None has no brackets and no words."""
    result = Brackets()
    tags, words, labels, starts, ends = result.tags, result.words, result.labels, result.starts, result.ends
    open_brackets: list[int] = []
    nodes: list[Tree | None] = [tree] if tree else []  # None closes a bracket
    while nodes:
        node = nodes.pop()
        if node is None:
            ends[open_brackets.pop()] = len(words)
        elif isinstance(word := node.children[0], str):
            tags.append(node.label)
            words.append(word)
        else:
            open_brackets.append(len(labels))
            labels.append(node.label)
            starts.append(len(words))
            ends.append(UNCLOSED)
            nodes.append(None)
            nodes += node.children[::-1]  # type: ignore[arg-type]  # str was the case above
    return result


def read_brackets(line: str) -> Brackets:
    """The brackets of a line, which may have no tree, several trees, or a malformed tree."""
    result = Brackets()
    tags, words, labels, starts, ends = result.tags, result.words, result.labels, result.starts, result.ends
    open_brackets: list[int] = []
    surplus: list[int] = []  # positions of ")" without "("
    for label, word, closing, lone, stray in _TOKEN.findall(line):
        if closing:
            tags.append(label)
            words.append(word)
        elif stray:
            result.faults.append(UNREADABLE)
            result.readable = False
            return result
        elif not lone:
            open_brackets.append(len(labels))
            labels.append(label)
            starts.append(len(words))
            ends.append(UNCLOSED)
        for _ in range(closing.count(")") - 1 if closing else len(lone)):
            if len(open_brackets) < len(surplus):
                result.faults.append("Bracketing unbalance (too many close bracket)")
            if open_brackets:
                ends[open_brackets.pop()] = len(words)
            else:
                surplus.append(len(words))
                # EVALB reads below its stack, finds a zero there, and closes the first bracket again
                ends[:1] = surplus[-1:] if ends else []
    if ends[:1] == [UNCLOSED] and surplus:
        ends[0] = surplus[-1]  # closed before it opens
    if len(open_brackets) != len(surplus):
        result.faults.append("Bracketing is unbalanced (too many open bracket)")
    return result
