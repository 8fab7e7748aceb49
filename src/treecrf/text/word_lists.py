"""Word lists and rules of languages: the files in `words/`."""

from functools import cache
from pathlib import Path
from typing import Any

from treecrf.config import tomllib

_FOLDER = Path(__file__).parent / "words"


def read_words(language: str) -> dict[str, Any]:
    """Reads the file of a language: texts of words between spaces or of phrases between commas, and tables of rules."""
    words: dict[str, Any] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return words


@cache
def word_sets(language: str) -> dict[str, frozenset[str]]:
    """Reads the lists of a language as sets of words."""
    return {name: frozenset(text.split()) for name, text in read_words(language).items() if isinstance(text, str)}
