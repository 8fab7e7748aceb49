"""Descriptions of labels, and tests of them on strings.

Tregex reads some regular expressions as plain strings, and a few of those readings differ from the expression. They
are part of its meaning: `/^NN|VB/` is a prefix NN or a prefix VB, and `/^.$/` is a full stop.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from treecrf.trees.search.java_regex import compile_regex

# in a path a literal is a regular expression for the whole label, and an expression is never read as strings
LabelKind = Literal["literal", "regex", "any", "root", "reference", "link", "path_literal", "path_regex"]

MAX_ALTERNATIVES = 8  # a longer list of alternatives is a regular expression in Tregex
_ONE_WORD = re.compile(r"\^(?:(.)|\[(.)\]|([-a-zA-Z']+))\$")
_WORDS = re.compile(r"\^\(\?(i?):((?:[-a-zA-Z|]|\\\$)+)\)\$")
_PREFIXES = re.compile(r"\^(?:([-a-zA-Z|]+)|\(\?:([-a-zA-Z|]+)\))")
# a character that starts an annotation of a label, such as the function tag of NP-SBJ
_ANNOTATION = "-=|#^~_["


@dataclass(frozen=True, slots=True)
class Label:
    """The description of a label: a string, a regular expression, or the name of a node before it."""

    kind: LabelKind
    text: str
    is_negated: bool = False
    is_basic: bool = False  # tests the basic category, without annotations
    groups: tuple[tuple[int, str], ...] = ()  # group numbers and variables


@dataclass(frozen=True, slots=True)
class LabelTest:
    """A test of strings: a set of strings, prefixes, or a regular expression that is searched."""

    literals: frozenset[str] | None = None
    prefixes: tuple[str, ...] | None = None
    regex: re.Pattern[str] | None = None
    ignores_case: bool = False

    @property
    def group_count(self) -> int:
        """The highest number of a group; without a regular expression every number is the whole label."""
        return self.regex.groups if self.regex else 99

    @property
    def plain_literals(self) -> frozenset[str] | None:
        """The only labels that match, or None if the test is not a set of labels."""
        if self.ignores_case or self.literals is None:
            return None
        has_escape = any("/" in literal or "*" in literal for literal in self.literals)  # see searched_string
        return None if has_escape else self.literals

    def matches(self, value: str) -> bool:
        if self.literals is not None:
            return (value.lower() if self.ignores_case else value) in self.literals
        if self.prefixes is not None:
            return value.startswith(self.prefixes)
        return self.regex is None or self.regex.search(value) is not None


@lru_cache(maxsize=1024)
def label_test(label: Label) -> LabelTest:
    """The test of a label; it knows nothing of negation and basic categories."""
    if label.kind == "regex":
        return _regex_test(label.text)
    if label.kind == "path_regex":
        return LabelTest(regex=compile_regex(label.text))
    if label.kind not in ("literal", "path_literal"):
        return LabelTest()
    words = _split(label.text)
    if label.kind == "path_literal" or len(words) > MAX_ALTERNATIVES:
        return LabelTest(regex=compile_regex(f"^(?:{label.text})$"))
    return LabelTest(literals=frozenset(words))


def _regex_test(text: str) -> LabelTest:
    if text in (".*", "^.*$"):
        return LabelTest()
    if match := _ONE_WORD.fullmatch(text):
        return LabelTest(literals=frozenset([match[1] or match[2] or match[3]]))
    if match := _WORDS.fullmatch(text):
        ignores_case = bool(match[1])
        words = _split(match[2].replace("\\", ""))
        if len(words) <= MAX_ALTERNATIVES:
            literals = frozenset(word.lower() if ignores_case else word for word in words)
            return LabelTest(literals=literals, ignores_case=ignores_case)
    if match := _PREFIXES.fullmatch(text):
        words = _split(match[1] or match[2])
        if len(words) <= MAX_ALTERNATIVES:
            return LabelTest(prefixes=tuple(words))
    return LabelTest(regex=compile_regex(text))


def _split(text: str) -> list[str]:
    """Splits alternatives at "|"; empty ones at the end do not count."""
    words = text.split("|")
    while len(words) > 1 and not words[-1]:
        words.pop()
    return words if words != [""] else []


@lru_cache(maxsize=1 << 14)
def basic_category(label: str) -> str:
    """The label without function tags and other annotations.

    >>> [basic_category(label) for label in ("NP-SBJ=1", "-LRB-", "-", "WHNP|1")]
    ['NP', '-LRB-', '-', 'WHNP']
    """
    opening = label[:1] if label[:1] in _ANNOTATION else ""
    for index, character in enumerate(label):
        if index == 0 or character not in _ANNOTATION:
            continue
        if opening and index > 1 and character == opening:
            opening = ""  # the second "-" of -LRB-
        else:
            return label[:index]
    return label


def matching_labels(label: Label, strings: Sequence[str]) -> list[bool]:
    """Whether each string matches a label, with its negation and its basic category."""
    matches = label_test(label).matches
    return [matches(searched_string(label, value)) != label.is_negated for value in strings]


def searched_string(label: Label, value: str) -> str:
    r"""The string that a label is tested on: a slash or a star is without its backslash, as after Tregex's reader.

    >>> searched_string(Label("regex", "^1/2$"), r"1\/2")
    '1/2'
    """
    if "\\" in value:
        value = value.replace("\\/", "/").replace("\\*", "*")
    return basic_category(value) if label.is_basic else value


def group_text(label: Label, number: int, value: str) -> str | None:
    """The text of a group in a string that matches; without a regular expression, the whole string."""
    regex, text = label_test(label).regex, searched_string(label, value)
    match = regex.search(text) if regex else None
    return (match and match[number]) if regex else text
