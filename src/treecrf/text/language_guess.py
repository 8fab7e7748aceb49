"""Guesses the language of words by their script and by frequent words, to warn if a model does not know it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from treecrf.text.word_lists import read_words
from treecrf.trees.treebank.languages import CODES, LANGUAGES

_SCRIPTS = read_words("scripts")  # the letters of each script, as in a character class
_LANGUAGES_OF_WORDS: dict[str, list[str]] = {}
for _language, _words in read_words("frequent").items():  # words that are rare in the other languages
    for _word in _words.split():
        _LANGUAGES_OF_WORDS.setdefault(_word, []).append(_language)

_MIN_WORDS = 6  # fewer words are names or titles as often as sentences of a language
_MIN_FREQUENT_SHARE = 0.12
_MIN_SCORE = 1.2  # words that are frequent in one language
_MIN_CHARACTERS = 15  # fewer Chinese characters may be a Japanese name or title


@cache
def _script_pattern(name: str) -> re.Pattern[str]:
    """A pattern for the letters of a script, compiled when it is needed."""
    return re.compile(f"[{_SCRIPTS[name]}]")


class LanguageGuess(NamedTuple):
    """The name of a language or a script, and the code of a language with rules for raw text."""

    name: str
    code: str | None


def guess_language(words: Iterable[str]) -> LanguageGuess | None:
    """The language of words, or their script if that has several languages; None if it is not clear.

    >>> guess_language("图书馆 在 哪里 ？".split())
    LanguageGuess(name='Chinese', code='zh')
    >>> guess_language("Das ist nicht die Bibliothek , die ich mit dir besucht habe .".split())
    LanguageGuess(name='German', code=None)
    """
    words = list(words)
    text = "".join(words)
    scripts = ["Latin"] if text.isascii() else list(_SCRIPTS)
    counts = Counter({name: len(_script_pattern(name).findall(text)) for name in scripts})
    if counts["Japanese"] * 10 > counts["Chinese"]:  # Japanese has both Chinese characters and its own
        counts["Japanese"] += counts.pop("Chinese", 0)
    script, letters = max(counts.items(), key=lambda item: item[1])
    if 2 * letters <= counts.total() or not letters:
        return None
    name = _latin_language(words) if script == "Latin" else script
    return LanguageGuess(name, CODES.get(name)) if name else None


def guess_other_language(words: Sequence[str], language: str) -> LanguageGuess | None:
    """The language of words if it is clear and not the model's language."""
    guess = guess_language(words)
    if guess is None or guess.name == language_name(language):
        return None
    is_title = (language, guess.code) == ("ja", "zh") and sum(map(len, words)) < _MIN_CHARACTERS
    return None if is_title else guess


def language_name(language: str) -> str:
    """The name of a language, given by its code.

    >>> language_name("zh")
    'Chinese'
    """
    return LANGUAGES[language].name if language in LANGUAGES else language


def language_warning(words: Sequence[str], language: str) -> str | None:
    """A message if words are not of the model's language, which names the model that reads them if there is one."""
    guess = guess_other_language(words, language)
    if guess is None:
        return None
    model = LANGUAGES[guess.code].model if guess.code else None
    advice = f"the model {model} reads it (--model {model})" if model else "no model of treecrf reads it"
    return f"the text looks {guess.name}, and the model reads {language_name(language)}; {advice}"


class LanguageCheck:
    """Checks the language of the first sentences of an input until one gives a message, which is returned once."""

    def __init__(self, language: str, *, max_sentences: int) -> None:
        self.language = language
        self._sentences_left = max_sentences

    @property
    def is_active(self) -> bool:
        """Whether the next sentence is checked."""
        return self._sentences_left > 0

    def message(self, words: Sequence[str]) -> str | None:
        """The message about a sentence, if it is the first in another language."""
        if not self.is_active:
            return None
        self._sentences_left -= 1
        message = language_warning(words, self.language)
        if message:
            self._sentences_left = 0
        return message


def _latin_language(words: Sequence[str]) -> str | None:
    lower_case = [word.lower() for word in words if word[:1].isalpha()]
    if len(lower_case) < _MIN_WORDS:
        return None
    scores = Counter[str]()
    for names in (_LANGUAGES_OF_WORDS.get(word, ()) for word in lower_case):
        scores.update(dict.fromkeys(names, 1 / max(1, len(names))))
    (name, score), (_, second_score) = [*scores.most_common(2), ("", 0), ("", 0)][:2]
    is_clear = score > max(_MIN_SCORE, 1.5 * second_score) and score > _MIN_FREQUENT_SHARE * len(lower_case)
    return name if is_clear else None
