"""Sentences and tokens of languages in Latin script, by the rules and word lists in `words/`.

English has rules of its own, in `english.py`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from treecrf.text.english import CONTINUING, MAX_WORD, NEXT_WORD, SPACE, Piece, skip
from treecrf.text.normalization import remove_invisible
from treecrf.text.word_lists import insert_parts, read_words, word_sets
from treecrf.trees.notation import PENN_ESCAPES

_CLOSING = r"""["”’»'›)\]}]"""
_STOP = re.compile(rf"[.!?…]+{_CLOSING}*")
_FINAL_PERIOD = re.compile(rf"{_CLOSING}*\Z")
_OPENING = re.compile(r"""(?:["“”„«‹‘'`]\s?|[(\[{¿¡]|[-–—]+\s?)*""")
_LIST_NUMBER = re.compile(r"(?:\A|\n)\s*\d{1,3}\Z")
_CAPITALIZED = r"[^\W\d_a-zß-öø-ÿ][\w’'&-]*\.?"


@dataclass(frozen=True, kw_only=True)
class LatinRules:
    """Rules of one language. Words of lists are in lower case."""

    abbreviations: frozenset[str]  # without the final period
    openers: frozenset[str]  # words that start sentences and are not the start of a name
    connectors: str = "-.'’&"  # characters inside words, as in a character class
    word_ending: str = ""  # pattern of characters that belong to the word before them
    treebank_words: Mapping[str, str] = field(default_factory=lambda: PENN_ESCAPES)
    contractions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # see `_contracted_words`
    word_end: str = ""  # pattern of the first tokens of a word with several tokens, such as a verb and its pronoun
    unsplit: frozenset[str] = frozenset()  # words that `word_end` does not split
    expressions: str = ""  # pattern of multiword tokens that are not names
    name_links: str | None = None  # pattern of words between the parts of a name; None: names are not joined

    @cached_property
    def _token(self) -> re.Pattern[str]:
        unsplit = insert_parts("<unsplit>", read_words("shared")["parts"])
        inside = rf"(?:[{self.connectors}]|(?<=\d)[,:](?=\d))"
        return re.compile(
            rf"""{unsplit}
          | (?<!\w)[A-Z]{{1,2}}\$
          | (?P<word>\w+(?:{inside}\w+)*{self.word_ending}(?:\.(?!\.))?)
          | \.{{2,}} | …+ | -{{2,}} | [!?]+ | '' | .
            """,
            re.VERBOSE | re.DOTALL,
        )

    @cached_property
    def _contracted_words(self) -> dict[str, tuple[int, str, str]]:
        """Each contraction, with the end of its first token and both tokens.

        `contractions` has for the start of a contraction its first token, the start of its second token, and the
        endings of both the contraction and the second token.
        """
        return {
            start + ending: (len(start), first, second + ending)
            for start, (first, second, *endings) in self.contractions.items()
            for ending in endings
        }

    @cached_property
    def _word_end(self) -> re.Pattern[str] | None:
        return re.compile(self.word_end) if self.word_end else None

    @cached_property
    def _expression(self) -> re.Pattern[str] | None:
        return re.compile(f"(?i:{self.expressions})") if self.expressions else None

    @cached_property
    def _name(self) -> re.Pattern[str] | None:
        if self.name_links is None:
            return None
        return re.compile(rf"{_CAPITALIZED}(?:\s+(?:{self.name_links}){_CAPITALIZED}){{1,9}}(?<![.'’])(?!\w)")

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
            pieces += self._word_pieces(chunk[start:end], start, is_word=is_word)
            if end < match.end():
                pieces.append((end, match.end(), "."))
        return tuple(pieces)

    def _word_pieces(self, text: str, start: int, *, is_word: bool) -> Iterator[Piece]:
        """The tokens of a word or another sign that begins at `start`."""
        if self._word_end is None or not is_word:
            yield start, start + len(text), self._treebank_word(text)
            return
        if contraction := self._contracted_words.get(text.lower()):
            end, first, second = contraction
            yield start, start + end, first.capitalize() if text[0].isupper() else first
            yield start + end, start + len(text), second
            return
        is_split = text.lower() not in self.unsplit
        ends = [match.end() for match in self._word_end.finditer(text)] if is_split else []
        for begin, end in pairwise([0, *ends, len(text)]):
            yield start + begin, start + end, remove_invisible(text[begin:end]) or text[begin:end]

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
        if self._word_end is not None and self._word_end.match(text[start : start + MAX_WORD]):
            return None  # an elided article, as in "L'Hospitalet de Llobregat"
        if is_first and (word := NEXT_WORD.match(text, start)) and word[0].lower() in self.openers:
            return None
        match = self._name.match(text, start, end)
        return match.end() if match else None


def read_rules(language: str) -> LatinRules:
    """Reads the rules of a language from its file; `<name>` in a pattern stands for the part with this name."""
    words, sets = read_words(language), word_sets(language)
    rules = dict(words["rules"])
    patterns = insert_parts("|".join(rules.pop("patterns", ())), rules.pop("parts", {}))
    expressions = [phrases(words["expressions"], rules.pop("endings", {}))] if "expressions" in words else []
    return LatinRules(
        abbreviations=sets["abbreviations"],
        openers=sets["openers"],
        unsplit=sets.get("unsplit", frozenset()),
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
