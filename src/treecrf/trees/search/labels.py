"""Descriptions of labels, and tests of them on strings.

Tregex reads some regular expressions as plain strings, and a few of those readings differ from the expression. They
are part of its meaning: `/^NN|VB/` is a prefix NN or a prefix VB, and `/^.$/` is a full stop.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

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


class LabelTest(NamedTuple):
    """A test of strings; a test without a regular expression has no groups, and every group is the whole label."""

    matches: Callable[[str], bool]
    regex: re.Pattern[str] | None = None
    literals: frozenset[str] | None = None  # the only strings that match


@lru_cache(maxsize=1024)
def label_test(label: Label) -> LabelTest:
    """The test of a label; it knows nothing of negation and basic categories."""
    if label.kind == "regex":
        return _regex_test(label.text)
    if label.kind == "path_regex":
        return _search_test(label.text)
    if label.kind not in ("literal", "path_literal"):
        return LabelTest(lambda value: True)
    words = _split(label.text)
    if label.kind == "path_literal" or len(words) > MAX_ALTERNATIVES:
        return _search_test(f"^(?:{label.text})$")
    return _literal_test(words)


def _regex_test(text: str) -> LabelTest:
    if text in (".*", "^.*$"):
        return LabelTest(lambda value: True)
    if match := _ONE_WORD.fullmatch(text):
        return _literal_test([match[1] or match[2] or match[3]])
    if match := _WORDS.fullmatch(text):
        words = _split(match[2].replace("\\", ""))
        lower_words = frozenset(word.lower() for word in words)
        if len(words) <= MAX_ALTERNATIVES:
            return LabelTest(lambda value: value.lower() in lower_words) if match[1] else _literal_test(words)
    if match := _PREFIXES.fullmatch(text):
        prefixes = tuple(_split(match[1] or match[2]))
        if len(prefixes) <= MAX_ALTERNATIVES:
            return LabelTest(lambda value: value.startswith(prefixes))
    return _search_test(text)


def _literal_test(words: Iterable[str]) -> LabelTest:
    literals = frozenset(words)
    return LabelTest(literals.__contains__, literals=literals)


def _search_test(text: str) -> LabelTest:
    regex = compile_regex(text)
    return LabelTest(lambda value: regex.search(value) is not None, regex)


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
