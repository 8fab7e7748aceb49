"""The rules of a scoring: what EVALB's parameter files (`.prm`) say."""

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
    """What is scored and how; without arguments, as EVALB does without a parameter file.

    >>> rules = Rules(delete_labels={"TOP", "."}, equal_labels={("ADVP", "PRT")})
    >>> rules.cutoff
    40
    """

    delete_labels: Set[str] = frozenset()  # as a tag, its word goes; as a constituent, its bracket goes
    delete_labels_for_length: Set[str] = frozenset()  # tags of words that do not count in a sentence's length
    quote_labels: Set[str] = frozenset()  # tags that parsers confuse over quotation marks
    equal_labels: Set[tuple[str, str]] = frozenset()  # pairs in either order; no chains
    equal_words: Set[tuple[str, str]] = frozenset()
    labeled: bool = True
    cutoff: int = 40  # the longest sentence of the second summary
    max_error: int | None = 10  # EVALB gives up at the second error beyond it; None: never

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Set):
                object.__setattr__(self, field.name, frozenset(value))

    @staticmethod
    def named(name: str) -> "Rules":
        """The built-in rules of that name."""
        if name not in NAMED:
            raise ValueError(f"no rules are named {name!r}; expected one of {', '.join(NAMED)}, or a parameter file")
        return NAMED[name]

    @staticmethod
    def read(path: str | PathLike[str]) -> "Rules":
        """The rules of a parameter file. What EVALB warns of and passes over is logged and passed over."""
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
        # a line that starts with white space has no keyword for EVALB
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
    """Put an entry into `values`; the answer says what is wrong with it, if anything."""
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
    # EVALB takes the digits in front and nothing for zero
    match = _INTEGER.match(value)
    return int(match[0]) if match else 0


COLLINS = Rules(
    delete_labels={"TOP", "-NONE-", ",", ":", "``", "''", "."},
    delete_labels_for_length={"-NONE-"},
    equal_labels={("ADVP", "PRT")},
)
# the tag of Chinese punctuation, PU, is on nobody's list: it counts
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
