"""Bracket notation: escapes in words and labels, the parts of labels, and errors.

In brackets, a word or label cannot contain parentheses or white space, and cannot be empty. The writer escapes such
characters as `\\u{hex}`, and the reader restores them: reading the text of a tree gives an equal tree. Treebank escapes
such as `-LRB-` for a left round bracket are ordinary words; treebanks, tokenizers and other parsers write parentheses
in words this way, and the last functions here convert them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from treecrf import TreecrfError

EMPTY = "-NONE-"  # the tag of an empty element, such as a trace

# characters that end a word or that UTF-8 cannot encode, and backslashes that would start an escape
_UNSAFE = re.compile(r"[\s()\ud800-\udfff]|\\(?=u\{[0-9a-f]*\})")
UNPRINTABLE = re.compile(r"[^\S ]|[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\u\{([0-9a-f]*)\}")
_EMPTY = r"\u{}"
# unlike str.split(), brackets do not split at a no-break space: it belongs to its word
SPACE = " \t\n\r\f\v"
WORD = re.compile(rf"[^{SPACE}]+")
_TOKEN = re.compile(rf"[()]|[^{SPACE}()]+")
# the parts of a label, NP-SBJ-1=2, and of an empty element, *T*-1
_CATEGORY = re.compile(r"(?s).[^-=]*")
_SUFFIX = re.compile(r"([-=])([^-=]+)")
PENN_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_BRACKETS = {name: bracket for bracket, name in PENN_ESCAPES.items()}
_TABLE = str.maketrans(PENN_ESCAPES)
_TREEBANK_ESCAPE = re.compile(r"(?i)-[LR][RSC]B-|\\[/*]")  # the Penn Treebank also escapes "/" and "*", by a backslash


class BracketError(TreecrfError, ValueError):
    """Text that is not a bracketed tree; `offset` is the position of the error."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        self.reason = reason
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        super().__init__(f"{reason} (line {self.line}, column {offset - text.rfind(chr(10), 0, offset)})")

    def __reduce__(self) -> tuple[Any, ...]:
        return BracketError.__new__, (BracketError, *self.args), self.__dict__


@dataclass(frozen=True, slots=True)
class LabelParts:
    """The parts of a label such as NP-SBJ-1=2: NP, the function SBJ, the index 1 and the index 2 of a gap."""

    category: str
    functions: tuple[str, ...]
    index: int | None
    gap: int | None


@lru_cache(maxsize=1 << 12)
def split_label(label: str) -> LabelParts:
    """Splits the label of a constituent, or the text of an empty element.

    >>> split_label("NP-SBJ-1=2"), split_label("-LRB-").category
    (LabelParts(category='NP', functions=('SBJ',), index=1, gap=2), '-LRB')
    """
    match = _CATEGORY.match(label)
    category = match[0] if match else ""
    suffixes = _SUFFIX.findall(label, len(category))
    numbers = {sign: int(text) for sign, text in suffixes if text.isdecimal() and len(text) < 10}
    functions = tuple(text for _, text in suffixes if not text.isdecimal())
    return LabelParts(category, functions, numbers.get("-"), numbers.get("="))


def escape(text: str) -> str:
    """Escapes a word or label for brackets.

    >>> escape("(")
    '\\\\u{28}'
    """
    if _UNSAFE.search(text):
        return _UNSAFE.sub(escape_match, text)
    return text or _EMPTY


def unescape(text: str) -> str:
    """Restores the text that `escape` received."""
    return _ESCAPE.sub(_unescape_match, text) if "\\u{" in text else text


def escape_match(match: re.Match[str]) -> str:
    """Escapes the one character of a match."""
    return f"\\u{{{ord(match[0]):x}}}"


def _unescape_match(match: re.Match[str]) -> str:
    if not match[1]:
        return ""
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def leaf_text(tag: str, word: str) -> str:
    return f" ({escape(tag)} {escape(word)})"


def opening(label: str) -> str:
    return f" ({escape(label)}" if label else " ("  # over subtrees, an empty label needs no escape: "( (S ...))"


def read_labels(text: str) -> tuple[str, ...] | None:
    """Reads the labels of nested constituents, such as "(S (NP "; None if the text is something else."""
    before, *labels = text.split("(")
    fields = [WORD.findall(label) for label in labels]
    if before.strip(SPACE) or any(len(field) > 1 for field in fields):
        return None
    return tuple(unescape("".join(field)) for field in fields)


def find_error(text: str) -> BracketError:
    """Returns the error in text that `parse_trees` could not read."""
    stack: list[tuple[int, list[str], list[int]]] = []  # open brackets: the offset, and the words and brackets inside
    for match in _TOKEN.finditer(text):
        token, offset = match[0], match.start()
        start, words, constituents = stack[-1] if stack else (0, [], [])
        if token == "(" and len(words) > 1:
            return BracketError(f"word {words[1]!r:.60} beside a constituent; expected one or the other", text, start)
        if token == "(":
            constituents.append(offset)
            stack.append((offset, [], []))
        elif not stack:
            reason = "')' without its '('" if token == ")" else f"expected '(', found {token!r:.60}"
            return BracketError(reason, text, offset)
        elif token != ")" and constituents:
            return BracketError(f"word {token!r:.60} after a constituent; expected '(' or ')'", text, offset)
        elif token != ")":
            words.append(token)
        elif not constituents and len(words) < 2:
            name = f"{words[0]!r:.60}" if words else "a constituent"
            return BracketError(f"{name} is empty; expected a word or constituents in it", text, start)
        elif len(words) > 2:
            return BracketError(f"{words[0]!r:.60} contains {len(words) - 1} words; expected one", text, start)
        else:
            stack.pop()
    return BracketError(f"{len(stack)} ')' missing at the end", text, len(text))


def end_of_first(text: str) -> int:
    depth = 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)


def penn_brackets(line: str) -> str:
    r"""Replaces the escapes of parentheses in a bracketed tree by escapes of the Penn Treebank.

    >>> penn_brackets(r"(NP (-LRB- \u{28}) (NN a) (-RRB- \u{29}))")
    '(NP (-LRB- -LRB-) (NN a) (-RRB- -RRB-))'
    """
    return line.replace(r"\u{28}", PENN_ESCAPES["("]).replace(r"\u{29}", PENN_ESCAPES[")"])


def escape_for_treebanks(text: str) -> str:
    r"""Escapes a word or label for brackets: parentheses as `-LRB-` and `-RRB-`, other characters by `escape`.

    >>> escape_for_treebanks("(a b)")
    '-LRB-a\\u{20}b-RRB-'
    """
    return penn_brackets(escape(text))


def escape_brackets(word: str) -> str:
    """Escapes all round, square and curly brackets of a word.

    >>> escape_brackets("[1]")
    '-LSB-1-RSB-'
    """
    return word.translate(_TABLE)


def unescape_brackets(word: str) -> str:
    r"""Restores the brackets, slashes and asterisks that the Penn Treebank escapes.

    >>> unescape_brackets("-lsb-1-RSB-"), unescape_brackets(r"1\/2")
    ('[1]', '1/2')
    """
    return _TREEBANK_ESCAPE.sub(lambda match: _BRACKETS.get(match[0].upper(), match[0][-1]), word)
