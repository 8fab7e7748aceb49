"""Trees as EVALB sees them: words with tags, and labelled brackets between positions.

EVALB reads on where a tree is malformed, and scores what it has. `read_brackets` does the same, so that a broken line
of a file has the numbers that EVALB gives it; what was wrong is kept in `faults`.
"""

import re
from dataclasses import dataclass, field

from treecrf.tree import Tree

UNCLOSED = -1  # the end of a bracket that nothing closes
UNREADABLE = "Reading sentence"  # EVALB never gets past a word outside brackets

_SPACE = r" \t\n\r\f\v"
# a label after "(", and where it is a tag, its word with all the ")" behind; a ")" of its own; anything else
_TOKEN = re.compile(rf"\(([^{_SPACE}()]*)(?:[{_SPACE}]+([^{_SPACE}()]*)(\)[{_SPACE})]*))?|(\))|([^{_SPACE}])")


@dataclass(slots=True)
class Brackets:
    """One tree: bracket `i` is `labels[i]` over `words[starts[i]:ends[i]]`; brackets stand in the order they open."""

    tags: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    readable: bool = True


def tree_brackets(tree: Tree | None) -> Brackets:
    """The brackets of a tree; no tree has none, and no words."""
    result = Brackets()
    tags, words, labels, starts, ends = result.tags, result.words, result.labels, result.starts, result.ends
    opened: list[int] = []
    nodes: list[Tree | None] = [tree] if tree else []  # None closes a bracket
    while nodes:
        node = nodes.pop()
        if node is None:
            ends[opened.pop()] = len(words)
        elif isinstance(word := node.children[0], str):
            tags.append(node.label)
            words.append(word)
        else:
            opened.append(len(labels))
            labels.append(node.label)
            starts.append(len(words))
            ends.append(UNCLOSED)
            nodes.append(None)
            nodes += node.children[::-1]  # type: ignore[arg-type]  # str was the case above
    return result


def read_brackets(line: str) -> Brackets:
    """The brackets of a line, which may hold no tree, several or half a tree."""
    result = Brackets()
    tags, words, labels, starts, ends = result.tags, result.words, result.labels, result.starts, result.ends
    opened: list[int] = []
    surplus: list[int] = []  # where a ")" came too many
    for label, word, closing, lone, stray in _TOKEN.findall(line):
        if closing:
            tags.append(label)
            words.append(word)
        elif stray:
            result.faults.append(UNREADABLE)
            result.readable = False
            return result
        elif not lone:
            opened.append(len(labels))
            labels.append(label)
            starts.append(len(words))
            ends.append(UNCLOSED)
        for _ in range(closing.count(")") - 1 if closing else len(lone)):
            if len(opened) < len(surplus):
                result.faults.append("Bracketing unbalance (too many close bracket)")
            if opened:
                ends[opened.pop()] = len(words)
            else:
                surplus.append(len(words))
                # EVALB reads below its stack, finds a zero there and closes the first bracket once more
                ends[:1] = surplus[-1:] if ends else []
    if ends[:1] == [UNCLOSED] and surplus:
        ends[0] = surplus[-1]  # closed before it opened
    if len(opened) != len(surplus):
        result.faults.append("Bracketing is unbalanced (too many open bracket)")
    return result
