"""Head rules: which child of a constituent is its head.

`COLLINS` has the rules of Collins (1999, pages 236 to 238) with the additions that Tregex uses, and NML like NP.
`CHINESE` has rules for the Chinese Treebank. `READINGS` has other rules for English, by which the object of a
preposition and the verb of a subordinate clause are heads. A rule is a direction and a list of categories, and the
first rule that finds a child decides:

- "left", "right": the first category of the list that any child has; of several such children the leftmost, rightmost;
- "leftdis", "rightdis": the leftmost or rightmost child that has any category of the list.

If no rule finds a child, the head is the first child in the direction of the last rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from treecrf.trees.search import compiled
from treecrf.trees.search.labels import basic_category
from treecrf.trees.treebank.languages import LANGUAGES

Rule = tuple[str, tuple[str, ...]]  # the direction and the categories
Int32Array = npt.NDArray[np.int32]

DIRECTIONS = ("left", "right", "leftdis", "rightdis")


@dataclass(frozen=True)
class HeadRules:
    """The rules of each category, and the rule of every other category."""

    rules: dict[str, tuple[Rule, ...]]
    default: tuple[Rule, ...]
    # after a child with such a category, the head is the child before it: in coordinations, the first conjunct
    conjunctions: frozenset[str] = frozenset()
    punctuation: frozenset[str] = frozenset()  # tags that are never the first conjunct

    def head_child(self, label: str, child_labels: Sequence[str], is_preterminal: Sequence[bool]) -> int:
        """The number of the head among the children.

        >>> COLLINS.head_child("NP", ["NP", "PP"], [False, False])
        0
        """
        if len(child_labels) == 1:
            return 0
        categories = [basic_category(child) for child in child_labels]
        rules = self.rules.get(basic_category(label).removeprefix("@"), self.default)
        for direction, names in rules:
            index = _first_match(direction, names, categories)
            if index is not None:
                return self._first_conjunct(index, child_labels, categories, is_preterminal)
        return 0 if rules[-1][0].startswith("left") else len(categories) - 1

    @cached_property
    def tables(self) -> "tuple[dict[str, int], dict[str | None, tuple[int, int]], Int32Array, Int32Array]":
        """Numbers of categories, ranges of rules by category (None: others), rules as rows, and their categories."""
        category_ids: dict[str, int] = {}
        ranges: dict[str | None, tuple[int, int]] = {}
        rows: list[tuple[int, int, int]] = []
        categories: list[int] = []
        for category, rules in [*self.rules.items(), (None, self.default)]:
            ranges[category] = len(rows), len(rows) + len(rules)
            for direction, names in rules:
                rows.append((DIRECTIONS.index(direction), len(categories), len(categories) + len(names)))
                categories += [category_ids.setdefault(name, len(category_ids)) for name in names]
        return category_ids, ranges, np.array(rows, np.int32), np.array(categories, np.int32)

    def label_row(self, label: str) -> tuple[int, int, int, int]:
        """The category of a label, the range of its rules, and 1 for a conjunction plus 2 for punctuation."""
        category = basic_category(label)
        category_ids, ranges, *_ = self.tables
        first, last = ranges.get(category.removeprefix("@"), ranges[None])
        flags = (category in self.conjunctions) + 2 * (label in self.punctuation)
        return category_ids.get(category, -1), first, last, flags

    def _first_conjunct(
        self, index: int, labels: Sequence[str], categories: Sequence[str], is_preterminal: Sequence[bool]
    ) -> int:
        if index < 2 or categories[index - 1] not in self.conjunctions:
            return index
        is_punctuation = is_preterminal[index - 2] and labels[index - 2] in self.punctuation
        return index if is_punctuation else index - 2


def _first_match(direction: str, names: tuple[str, ...], categories: Sequence[str]) -> int | None:
    positions = range(len(categories)) if direction.startswith("left") else range(len(categories) - 1, -1, -1)
    if direction.endswith("dis"):
        return next((index for index in positions if categories[index] in names), None)
    return next((index for name in names for index in positions if categories[index] == name), None)


def find_heads(label_ids: bytes, ends: bytes, labels: Sequence[str], rules: HeadRules) -> bytes:
    """The head child of each node of a forest, or -1 at a word; columns are bytes of int32."""
    id_array, end_array = (np.frombuffer(column, dtype=np.int32) for column in (label_ids, ends))
    if compiled.matcher is None:
        return find_heads_in_python([labels[index] for index in id_array.tolist()], end_array.tolist(), rules)
    has_children = end_array > np.arange(1, len(end_array) + 1)
    constituent_ids = np.flatnonzero(np.bincount(id_array[has_children], minlength=len(labels)))
    label_rules = np.zeros((len(labels), 4), dtype=np.int32)
    label_rules[constituent_ids] = [rules.label_row(labels[index]) for index in constituent_ids.tolist()]
    tables = (label_rules, *rules.tables[2:])
    heads: bytes = compiled.matcher.find_heads(label_ids, ends, *(table.tobytes() for table in tables))
    return heads


def find_heads_in_python(labels: Sequence[str], ends: Sequence[int], rules: HeadRules) -> bytes:
    heads = np.full(len(ends), -1, dtype=np.int32)
    for node, end in enumerate(ends):
        children = [node + 1] if end > node + 1 else []
        while children and (child := ends[children[-1]]) < end:
            children.append(child)
        if children:
            # a preterminal has one child, which has none
            is_preterminal = [ends[child] == child + 2 for child in children]
            child_labels = [labels[child] for child in children]
            heads[node] = children[rules.head_child(labels[node], child_labels, is_preterminal)]
    return heads.tobytes()


def _read_rules(language: str) -> dict[str, tuple[Rule, ...]]:
    """Reads lines of a category and its rules, which are separated by semicolons."""
    text = (Path(__file__).parent / "head_rules" / f"{language}.txt").read_text(encoding="utf-8")
    rules: dict[str, tuple[Rule, ...]] = {}
    for line in text.splitlines():
        category, _, texts = line.partition(" ")
        fields = [text.split() for text in texts.split(";")]
        rules[category] = tuple((direction, tuple(categories)) for direction, *categories in fields)
    return rules


COLLINS = HeadRules(
    _read_rules("en"),
    default=(("left", ()),),
    conjunctions=frozenset(("CC", "CONJP")),
    punctuation=frozenset(("''", "``", "-LRB-", "-RRB-", ".", ":", ",")),
)
READINGS = HeadRules(
    _read_rules("readings"),
    default=(
        ("leftdis", ("VP", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD")),
        ("left", ("S", "SINV", "SQ", "SBARQ", "SBAR")),
        ("right", ("ADJP", "JJ", "NP", "NN", "NNS", "NNP", "NNPS", "PP", "ADVP")),
        ("left", ()),
    ),
)
CHINESE = HeadRules(_read_rules("zh"), default=(("right", ()),))

_NAMED = {"COLLINS": COLLINS, "CHINESE": CHINESE}
# by the code of a language; some languages have no rules
HEAD_RULES = {code: _NAMED[language.head_rules] for code, language in LANGUAGES.items() if language.head_rules}
