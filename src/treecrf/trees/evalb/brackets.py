"""Trees as EVALB reads them: tagged words, and labeled brackets over word positions.

EVALB also scores malformed trees. `read_brackets` reads them in the same way, so that a malformed line has EVALB's
numbers, and lists the errors in `faults`. Files have one tree per line; trees that span several lines are joined.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from treecrf.files import DECOMPRESSION_ERRORS, open_stream
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


STDIN = "-"
_END = " \t\n\v\f\r()"  # characters that end a label or a word
_LABEL_WITH_ZERO = re.compile(rf"(\([^{_END}\0]*)\0[^{_END}]*")
_WORD_WITH_ZERO = re.compile(rf"(\([^{_END}]*[ \t\v\f\r]+[^{_END}\0]*)\0[^{_END}]*(?=\))")


def read_lines(name: str) -> list[str]:
    """The lines of a file, plain or gzipped, or of standard input. Bytes that are not UTF-8 become surrogates."""
    with open_stream(name) as stream:
        try:
            data = stream.read()
        except DECOMPRESSION_ERRORS as error:
            raise ValueError(f"{name}: damaged gzip file: {error}") from error
    text = data.decode("utf-8-sig", "surrogateescape")
    lines = text.removesuffix("\n").split("\n") if text else []
    lines = [_cut_zero_bytes(line) if "\0" in line else line for line in lines]
    return list(_join_trees(lines)) if _has_indented_trees(lines) else lines


def _cut_zero_bytes(line: str) -> str:
    """The line that EVALB reads: a zero byte ends a label, the word of a leaf or, elsewhere, the line."""
    line = _WORD_WITH_ZERO.sub(r"\1", _LABEL_WITH_ZERO.sub(r"\1", line))
    return line.partition("\0")[0]


def printable(text: str) -> str:
    """Replaces surrogates, which cannot be printed."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _has_indented_trees(lines: Sequence[str]) -> bool:
    """Whether trees span several lines: their later lines are indented, and all brackets are balanced."""
    depth = 0
    is_indented = False
    for line in lines:
        if depth > 0 and line.startswith("("):
            return False
        is_indented = is_indented or (depth > 0 and line[:1].isspace())
        depth += line.count("(") - line.count(")")
    return is_indented and depth == 0


def _join_trees(lines: Sequence[str]) -> Iterator[str]:
    tree_lines: list[str] = []
    depth = 0
    for line in lines:
        tree_lines.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            tree = " ".join(tree_lines).strip()
            if tree:
                yield tree
            tree_lines = []
