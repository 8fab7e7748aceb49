"""Word lists of languages: the texts in `words/`, by language and name."""

from pathlib import Path

from treecrf.config import tomllib

_FOLDER = Path(__file__).parent / "words"


def read_lists(language: str) -> dict[str, str]:
    """Reads the lists of a language, each a text of words between spaces or of phrases between commas."""
    lists: dict[str, str] = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return lists


def word_sets(language: str) -> dict[str, frozenset[str]]:
    """Reads the lists of a language as sets of words."""
    return {name: frozenset(text.split()) for name, text in read_lists(language).items()}
