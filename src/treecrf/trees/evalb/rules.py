"""Evaluation rules: the settings of EVALB's parameter files (`.prm`)."""

import logging
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)
_SPACE = " \t\n\r\f\v"
_INTEGER = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Rules of an evaluation; EVALB has the same defaults without a parameter file.

    >>> rules = Rules(delete_labels={"TOP", "."}, equal_labels={("ADVP", "PRT")})
    >>> rules.cutoff
    40
    """

    delete_labels: Set[str] = frozenset()  # deletes words with such a tag, and brackets with such a label
    delete_labels_for_length: Set[str] = frozenset()  # tags of words that are not counted in the length
    quote_labels: Set[str] = frozenset()  # tags of quotation marks that may be mistagged
    equal_labels: Set[tuple[str, str]] = frozenset()  # pairs in either order; equality is not transitive
    equal_words: Set[tuple[str, str]] = frozenset()
    labeled: bool = True
    cutoff: int = 40  # maximal length of sentences in the second summary
    max_error: int | None = 10  # EVALB stops at the second error after this number; None: no limit

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Set):
                object.__setattr__(self, field.name, frozenset(value))

    @staticmethod
    def named(name: str) -> "Rules":
        """The built-in rules with a name: collins, ctb or spmrl."""
        if name not in NAMED:
            raise ValueError(f"no rules are named {name!r}; expected one of {', '.join(NAMED)}, or a parameter file")
        return NAMED[name]

    @staticmethod
    def read(path: str | PathLike[str]) -> "Rules":
        """Reads the rules of a parameter file; lines that EVALB ignores with a warning are ignored and logged."""
        text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
        values: dict[str, Any] = {}
        for number, keyword, value in _entries(text):
            problem = _add(values, keyword, value)
            if problem:
                _LOG.warning("%s, line %d: %s; ignored, as EVALB does", path, number, problem)
        return Rules(**values)


def _entries(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip(_SPACE)
        if len(line) < 3 or line.startswith("#"):
            continue
        # for EVALB, a line that starts with white space has an empty keyword
        keyword = re.split(f"[{_SPACE}]", line, maxsplit=1)[0]
        yield number, keyword, line[len(keyword) :].lstrip(_SPACE)


_NUMBERS = {"MAX_ERROR": "max_error", "CUTOFF_LEN": "cutoff"}
_LABELS = {
    "DELETE_LABEL": "delete_labels",
    "DELETE_LABEL_FOR_LENGTH": "delete_labels_for_length",
    "QUOTE_LABEL": "quote_labels",
}
_PAIRS = {"EQ_LABEL": "equal_labels", "EQ_WORD": "equal_words"}


def _add(values: dict[str, Any], keyword: str, value: str) -> str:
    """Adds an entry to `values`; returns the error, or an empty string."""
    if keyword in _NUMBERS:
        values[_NUMBERS[keyword]] = _integer(value)
    elif keyword == "LABELED":
        values["labeled"] = _integer(value) != 0
    elif keyword in _LABELS:
        if not value:
            return f"{keyword} without a label"
        values.setdefault(_LABELS[keyword], set()).add(value)
    elif keyword in _PAIRS:
        pair = tuple(re.findall(f"[^{_SPACE}]+", value))
        if len(pair) != 2:
            return f"{keyword} takes two values, found {len(pair)}"
        values.setdefault(_PAIRS[keyword], set()).add(pair)
    elif keyword != "DEBUG":
        return f"unknown keyword {keyword or value!r}"
    return ""


def _integer(value: str) -> int:
    # like EVALB: the leading digits, or zero
    match = _INTEGER.match(value)
    return int(match[0]) if match else 0


COLLINS = Rules(
    delete_labels={"TOP", "-NONE-", ",", ":", "``", "''", "."},
    delete_labels_for_length={"-NONE-"},
    equal_labels={("ADVP", "PRT")},
)
# PU, the tag of Chinese punctuation, is not deleted
CTB = Rules(
    delete_labels=COLLINS.delete_labels | {"S1", "?", "!", ""},
    delete_labels_for_length={"-NONE-"},
    quote_labels={"``", "''", "POS", "NN", "CD", "VBZ", ":"},
    equal_labels={("ADVP", "PRT")},
    max_error=10000,
)
SPMRL = Rules(
    delete_labels={"TOP", "ROOT", "S1", "-NONE-", "VROOT"},
    delete_labels_for_length={"-NONE-"},
    cutoff=70,
    max_error=10000,
)
NAMED = {"collins": COLLINS, "ctb": CTB, "spmrl": SPMRL}


def find_rules(name_or_path: str) -> Rules:
    """The built-in rules with this name, or else the rules of the parameter file at this path.

    A built-in name always means the built-in rules; write `./collins` for a file named `collins`.
    """
    if name_or_path in NAMED or not Path(name_or_path).exists():
        return Rules.named(name_or_path)
    return Rules.read(name_or_path)
