"""Splits raw text into sentences, and sentences into tokens with their offsets.

Tokens are separated by white space or adjacent; every other character of the text is in exactly one token. In some
languages, a token has several words: a name, a date or a fixed expression, joined as its treebank joins them.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, Protocol, cast

from treecrf.text.english import Piece
from treecrf.text.latin import LatinRules, read_rules
from treecrf.text.layout import line_ends
from treecrf.trees.treebank.languages import LANGUAGES


class Token(NamedTuple):
    """A token: `text` is the text from `start` to `end`, `word` is the token as treebanks write it."""

    text: str
    start: int
    end: int
    word: str

    @property
    def tree_word(self) -> str:
        """The word in a tree: the text, but the whole word for a part of a contraction, and no white space.

        >>> [token.tree_word for token in tokenize("“Do Porto, sem embargo”", language="pt")]
        ['“', 'De', 'o', 'Porto', ',', 'sem', 'embargo', '”']
        """
        is_other_word = self.text.isalpha() and self.text.lower() != self.word.lower()
        return self.word if is_other_word or not self.text or _SPACE.search(self.text) else self.text


class Sentence(NamedTuple):
    """A sentence: the text from `start` to `end`, and its tokens, whose offsets are in the whole text as well."""

    start: int
    end: int
    tokens: list[Token]


class LanguageRules(Protocol):
    """The rules of a language: positions of sentence ends, and the tokens of a chunk between white space."""

    def sentence_ends(self, text: str, /) -> Iterator[int]: ...

    def split_chunk(self, chunk: str, is_last: bool, /) -> tuple[Piece, ...]: ...


_WINDOW = 1 << 14  # characters to split at a time: the time is linear in the length of the text
_CHUNK = re.compile(r"\S+")
_LETTER = re.compile(r"\w")
_LIST_NUMBER = re.compile(r"\d{1,3}\.")
_CITATION = re.compile(r"(?:\[\d{1,3}\])+")
_SPACE = re.compile(r"\s")
_SPACES = re.compile(r"\s+")
_LINE_HYPHENS = ("\u2010", "\u00ad")
_EMPTY_LINE = re.compile(r"(?:\r?\n|\r(?!\n))[^\S\r\n]*[\r\n]\s*")


def sentences(text: str, *, language: str = "en", in_characters: bool = False) -> Iterator[list[Token]]:
    """The sentences of a text as lists of tokens, split on demand.

    Lines may break anywhere. An empty line ends a sentence, and so does each line of a table, a chat or a list. With
    `in_characters`, tokens are single characters, which a parser of Chinese or Japanese joins to words.

    >>> for sentence in sentences("It's 5 p.m. in the U.S. We don't know (yet)."):
    ...     print([token.text for token in sentence])
    ['It', "'s", '5', 'p.m.', 'in', 'the', 'U.S', '.']
    ['We', 'do', "n't", 'know', '(', 'yet', ')', '.']
    """
    if language not in LANGUAGES:
        raise ValueError(f"no tokenizer for language {language!r}; expected one of {', '.join(map(repr, LANGUAGES))}")
    rules = _rules(language, LANGUAGES[language].tokenizer if not in_characters else "characters")
    spans = pairwise(chain((0,), _ends(text, rules)))
    return (tokens for start, end in spans if (tokens := _tokens(text, start, end, rules)))


def sentences_with_offsets(text: str, *, language: str = "en") -> Iterator[Sentence]:
    """The sentences of a text with their character offsets, split on demand.

    >>> [(start, end) for start, end, _ in sentences_with_offsets("Why? We do not know.")]
    [(0, 4), (5, 20)]
    """
    return (Sentence(tokens[0].start, tokens[-1].end, tokens) for tokens in sentences(text, language=language))


def sentence_count_warning(text: str, *, language: str = "en") -> str | None:
    """A message if a text that becomes one tree has several sentences."""
    count = sum(1 for _ in islice(sentences(text, language=language), 3))
    if count < 2:
        return None
    number = "two" if count == 2 else "more than two"
    return f"the string has {number} sentences and becomes one tree; parse_text() returns a tree for each sentence"


def tokenize(text: str, *, language: str = "en") -> list[Token]:
    """The tokens of a text that is one sentence.

    >>> [(token.word, token.start, token.end) for token in tokenize('"We cannot."')]
    [('``', 0, 1), ('We', 1, 3), ('can', 4, 7), ('not', 7, 10), ('.', 10, 11), ("''", 11, 12)]
    """
    return [token for sentence in sentences(text, language=language) for token in sentence]


def _tokens(text: str, start: int, end: int, rules: LanguageRules) -> list[Token]:
    """The tokens of the sentence `text[start:end]`."""
    chunks = list(_CHUNK.finditer(text, start, end))
    last = next((number for number in reversed(range(len(chunks))) if _has_word(chunks[number][0])), 0)
    tokens: list[Token] = []
    is_open = False
    for number, chunk in enumerate(chunks):
        base = chunk.start()
        is_list_number = number == 0 and _LIST_NUMBER.fullmatch(chunk[0]) is not None
        for first, stop, word in rules.split_chunk(chunk[0], number >= last or is_list_number):
            # between spaces, a mark opens and closes quotations alternately; the Latin rules keep it
            if word == '"' and not isinstance(rules, LatinRules):
                word = "''" if is_open else "``"
            is_open = word == "``" or (is_open and word != "''")
            tokens.append(Token(text[base + first : base + stop], base + first, base + stop, word))
    if "\n" in text[start:end]:
        tokens = _join_broken_words(text, tokens)
    return _join_multiwords(text, tokens, rules) if tokens and isinstance(rules, LatinRules) else tokens


def _join_broken_words(text: str, tokens: list[Token]) -> list[Token]:
    """The tokens of a sentence without the hyphens at the ends of lines that are no ASCII hyphens, as in manuals."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        is_broken = last and last.text.endswith(_LINE_HYPHENS) and token.text[:1].islower()
        if last and is_broken and "\n" in text[last.end : token.start]:
            word = last.word.rstrip("".join(["-", *_LINE_HYPHENS])) + token.word
            joined[-1] = Token(text[last.start : token.end], last.start, token.end, word)
        else:
            joined.append(token)
    return joined


def _join_multiwords(text: str, tokens: list[Token], rules: LatinRules) -> list[Token]:
    """The tokens of a sentence with multiword tokens; these have underscores in place of white space."""
    start, end = tokens[0].start, tokens[-1].end
    if text[start:end].isupper():  # in headlines, capital letters do not tell names
        return tokens
    first_word = next((number for number, token in enumerate(tokens) if _LETTER.match(token.text)), 0)
    last_at = {token.end: number for number, token in reversed(list(enumerate(tokens)))}
    joined: list[Token] = []
    number = 0
    while number < len(tokens):
        token = tokens[number]
        stop = rules.multiword_end(text, token.start, end, is_first=number == first_word)
        last = number if stop is None else last_at.get(stop, number)  # a match may end inside a token
        last -= tokens[last].word == "."  # it ends the sentence
        if last > number:
            word = _SPACES.sub("_", text[token.start : tokens[last].start]) + tokens[last].word
            token = Token(text[token.start : tokens[last].end], token.start, tokens[last].end, word)
        joined.append(token)
        number = max(last, number) + 1
    return joined


@cache
def _rules(language: str, tokenizer: str) -> LanguageRules:
    """The rules of a language: a module, which is imported when it is needed, or a file of `words/`."""
    if tokenizer == "latin":
        return read_rules(language)
    rules: Any = import_module(f"treecrf.text.{tokenizer}")
    return cast(LanguageRules, rules)


def _has_word(chunk: str) -> bool:
    return _LETTER.search(chunk) is not None and not _CITATION.fullmatch(chunk)


def _ends(text: str, rules: LanguageRules) -> Iterator[int]:
    """The positions of sentence ends; the last one is the end of the text."""
    start = 0
    while len(text) - start > _WINDOW:
        window = text[start : start + _WINDOW]
        ends = _ends_in(window, rules)
        yield from (start + end for end in ends)
        # the next window starts at the last sentence end, or inside a sentence if that is longer than half a window
        half = _WINDOW // 2
        next_start = ends[-1] if ends else 0
        if next_start < half:
            spaces = [space.start() for space in _SPACE.finditer(window, half)]
            next_start = spaces[-1] if spaces else _WINDOW
        start += next_start
    yield from (start + end for end in _ends_in(text[start:], rules))
    yield len(text)


def _ends_in(text: str, rules: LanguageRules) -> list[int]:
    """The positions of sentence ends before the end of the text."""
    ends = {match.start() for match in _EMPTY_LINE.finditer(text)}
    if "\n" in text or "</" in text:
        ends.update(line_ends(text))
    ends.update(rules.sentence_ends(text))
    return sorted(ends - {0, len(text)})
