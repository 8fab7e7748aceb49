"""The words of a text by sentence, for tests of languages."""

from treecrf.text import sentences


def words(text: str, language: str) -> list[list[str]]:
    return [[token.word for token in sentence] for sentence in sentences(text, language=language)]


def joined_words(text: str, language: str) -> str:
    """The words between spaces, and the sentences between bars."""
    return " | ".join(map(" ".join, words(text, language)))
