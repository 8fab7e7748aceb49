"""Warnings about texts in another language than that of the model."""

from collections.abc import Mapping, Sequence

from treecrf.parser import Parser, models
from treecrf.server.parse_batch import SentenceInput, word_texts
from treecrf.text import LanguageGuess, guess_other_language, language_name

_MAX_SENTENCES = 100  # of an input that are checked


def language_warnings(
    sentences: Sequence[SentenceInput], model: str, parsers: Mapping[str, Parser], *, is_text: bool
) -> list[str]:
    """A message if a sentence is not of the model's language, which names a model that reads it if there is one.

    The words of an input that is not text are checked only for the models of this project: a parser that reads nothing
    but words need not state its language.
    """
    if not is_text and not models.is_known(model):
        return []
    language = parsers[model].language
    for sentence in sentences[:_MAX_SENTENCES]:
        if guess := guess_other_language(word_texts(sentence), language):
            advice = _advice(guess, parsers)
            return [f"the text looks {guess.name}, and the model {model} reads {language_name(language)}; {advice}"]
    return []


def _advice(guess: LanguageGuess, parsers: Mapping[str, Parser]) -> str:
    names = [name for name, parser in parsers.items() if parser.language == guess.code]
    return f"the model {names[0]} of this server reads it" if names else "no model of this server reads it"
