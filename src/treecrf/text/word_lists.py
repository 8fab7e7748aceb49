"""Word lists, patterns and rules of languages: the files in `words/`."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from treecrf.config import read_data


@cache
def read_words(language: str) -> dict[str, Any]:
    """Reads the file of a language: texts of words between spaces or of phrases between commas, and tables of rules."""
    return read_data(__file__, f"words/{language}.toml")


@cache
def word_sets(language: str) -> dict[str, frozenset[str]]:
    """Reads the lists of a language as sets of words."""
    return {name: frozenset(text.split()) for name, text in read_words(language).items() if isinstance(text, str)}


@cache
def patterns(language: str) -> dict[str, re.Pattern[str]]:
    """Compiles the patterns of a language."""
    words = read_words(language)
    parts = words["parts"] | read_words("shared")["parts"]
    return {name: re.compile(insert_parts(pattern, parts)) for name, pattern in words["patterns"].items()}


def insert_parts(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with the part for each `<name>`; a part may have parts that come after it."""
    for name, part in parts.items():
        pattern = pattern.replace(f"<{name}>", part)
    return pattern
