"""Sentences and tokens of languages in Latin script, by the rules and word lists in `words/`.

English has rules of its own, in `english.py`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from treecrf.text.clitics import WordTokens, split_indonesian, split_portuguese
from treecrf.text.english import CONTINUING, MAX_WORD, NEXT_WORD, SPACE, UNSPLIT, Piece, skip
from treecrf.text.normalization import remove_invisible
from treecrf.text.word_lists import read_words, word_sets
from treecrf.trees.treebank.escapes import PENN_ESCAPES

_CLOSING = r"""["”’»'›)\]}]"""
_STOP = re.compile(rf"[.!?…]+{_CLOSING}*")
_FINAL_PERIOD = re.compile(rf"{_CLOSING}*\Z")
_OPENING = re.compile(r"""(?:["“”„«‹‘'`]\s?|[(\[{¿¡]|[-–—]+\s?)*""")
_LIST_NUMBER = re.compile(r"(?:\A|\n)\s*\d{1,3}\Z")
_SPLIT_WORD = {"id": split_indonesian, "pt": split_portuguese}
_CAPITALIZED = r"[^\W\d_a-zß-öø-ÿ][\w’'&-]*\.?"


@dataclass(frozen=True, kw_only=True)
class LatinRules:
    """Rules of one language. Words of lists are in lower case."""

    abbreviations: frozenset[str]  # without the final period
    openers: frozenset[str]  # words that start sentences and are not the start of a name
    connectors: str = "-.'’&"  # characters inside words, as in a character class
    word_ending: str = ""  # pattern of characters that belong to the word before them
    treebank_words: Mapping[str, str] = field(default_factory=lambda: PENN_ESCAPES)
    split_word: Callable[[str], WordTokens] | None = None  # most words are one token
    expressions: str = ""  # pattern of multiword tokens that are not names
    name_links: str | None = None  # pattern of words between the parts of a name; None: names are not joined

    @cached_property
    def _token(self) -> re.Pattern[str]:
        inside = rf"(?:[{self.connectors}]|(?<=\d)[,:](?=\d))"
        return re.compile(
            rf"""{UNSPLIT}
          | (?<!\w)[A-Z]{{1,2}}\$
          | (?P<word>\w+(?:{inside}\w+)*{self.word_ending}(?:\.(?!\.))?)
          | \.{{2,}} | …+ | -{{2,}} | [!?]+ | '' | .
            """,
            re.VERBOSE | re.DOTALL,
        )

    @cached_property
    def _expression(self) -> re.Pattern[str] | None:
        return re.compile(f"(?i:{self.expressions})") if self.expressions else None

    @cached_property
    def _name(self) -> re.Pattern[str] | None:
        if self.name_links is None:
            return None
        return re.compile(rf"{_CAPITALIZED}(?:\s+(?:{self.name_links}){_CAPITALIZED}){{1,9}}(?<!\.)(?!\w)")

    def sentence_ends(self, text: str) -> Iterator[int]:
        start = 0
        for stop in _STOP.finditer(text):
            if self._ends_sentence(text, stop, start):
                yield stop.end()
                start = stop.end()

    def _ends_sentence(self, text: str, stop: re.Match[str], start: int) -> bool:
        """Whether a stop ends the sentence that begins at `start`."""
        next_start = skip(SPACE, text, stop.end())
        if next_start in (stop.end(), len(text)):
            return False
        position = skip(_OPENING, text, next_start)
        next_character = text[position : position + 1]
        if next_character.islower() or text[next_start : next_start + 1] in CONTINUING:
            return False
        if stop[0].rstrip("\"”’»'›)]}") != ".":
            return True
        before = text[max(start, stop.start() - MAX_WORD) : stop.start()]
        if _LIST_NUMBER.search(before):
            return False
        word = before.rsplit(None, 1)[-1].lstrip("\"“„«‹‘'([{¿¡-–—") if before and not before[-1].isspace() else ""
        following = NEXT_WORD.match(text, next_start)
        return not self._is_abbreviation(word) or (following is not None and following[0].lower() in self.openers)

    def _is_abbreviation(self, word: str) -> bool:
        is_dotted = "." in word and all(len(part) < 3 and part.isalpha() for part in word.split("."))
        return is_dotted or word.lower() in self.abbreviations or (len(word) == 1 and word.isupper())

    def split_chunk(self, chunk: str, is_last: bool) -> tuple[Piece, ...]:
        """The tokens of a chunk between white space; in the last chunk of a sentence, a final period is a token."""
        pieces: list[Piece] = []
        for match in self._token.finditer(chunk):
            start, end = match.span()
            is_word = match.lastgroup == "word"
            if is_word and match[0][-1] == "." and self._is_period_separate(chunk, match, is_last):
                end -= 1
            if is_word and self.split_word is not None:
                pieces += _place(start, self.split_word(chunk[start:end]))
            else:
                pieces.append((start, end, self._treebank_word(chunk[start:end])))
            if end < match.end():
                pieces.append((end, match.end(), "."))
        return tuple(pieces)

    def _is_period_separate(self, chunk: str, word: re.Match[str], is_last: bool) -> bool:
        """Whether the final period of a word is a token: at the end of a sentence, or before another character."""
        if is_last and _FINAL_PERIOD.match(chunk, word.end()):
            return True
        return word.end() < len(chunk) and not self._is_abbreviation(word[0][:-1])

    def _treebank_word(self, text: str) -> str:
        if text.isascii() and text.isalnum():
            return text
        return self.treebank_words.get(text) or remove_invisible(text) or text

    def multiword_end(self, text: str, start: int, end: int, *, is_first: bool) -> int | None:
        """The end of the multiword token that starts at `start`, in a sentence that ends at `end`.

        `is_first` is true for the first word of a sentence, whose capital letter does not tell a name.
        """
        if self._expression is not None and (match := self._expression.match(text, start, end)):
            return match.end()
        if self._name is None or not text[start : start + 1].isupper():
            return None
        if is_first and (word := NEXT_WORD.match(text, start)) and word[0].lower() in self.openers:
            return None
        match = self._name.match(text, start, end)
        return match.end() if match else None


def read_rules(language: str) -> LatinRules:
    """Reads the rules of a language from its file; `<name>` in a pattern stands for the part with this name."""
    words, sets = read_words(language), word_sets(language)
    rules = words["rules"]
    patterns = "|".join(rules.pop("patterns", ()))
    for name, part in rules.pop("parts", {}).items():
        patterns = patterns.replace(f"<{name}>", part)
    expressions = [phrases(words["expressions"], rules.pop("endings", {}))] if "expressions" in words else []
    return LatinRules(
        abbreviations=sets["abbreviations"],
        openers=sets["openers"],
        split_word=_SPLIT_WORD.get(language),
        expressions="|".join([patterns] * bool(patterns) + expressions),
        **rules,
    )


def phrases(text: str, endings: Mapping[str, str]) -> str:
    """A pattern of expressions that are separated by commas; `endings` are patterns of last words.

    >>> phrases("sin embargo, ya que, ya no", {})
    'sin\\\\s+embargo\\\\b|ya\\\\s+(?:que\\\\b|no\\\\b)'
    """
    rests: dict[str, list[str]] = {}
    # a longer expression comes before its own beginning
    for words in sorted((phrase.split() for phrase in text.split(",")), key=len, reverse=True):
        last = endings.get(words[-1], rf"{words[-1]}\b")
        rests.setdefault(words[0], []).append(r"\s+".join([*words[1:-1], last]))
    return "|".join(
        rf"{first}\s+" + (rest[0] if len(rest) == 1 else f"(?:{'|'.join(rest)})") for first, rest in rests.items()
    )


def _place(start: int, tokens: Iterable[tuple[int, str]]) -> Iterator[Piece]:
    """The tokens of a word that begins at `start`."""
    begin = start
    for end, word in tokens:
        yield begin, start + end, remove_invisible(word) or word
        begin = start + end
