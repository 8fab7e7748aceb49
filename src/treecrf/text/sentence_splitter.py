"""Raw text to sentences, sentences to tokens that know where they stand.

English sentences are told apart by sentencex, Chinese words by rjieba, English words by the Penn Treebank's rules.
White space stands between tokens; every other character of the text is in exactly one of them.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import sentencex  # type: ignore[import-untyped]


class Token(NamedTuple):
    """A token of a text: `text` is what stands in it from `start` to `end`, `word` what a treebank writes for that."""

    text: str
    start: int
    end: int
    word: str


Piece = tuple[int, int, str]  # start and end in a chunk, the treebank's word

_CHUNK = re.compile(r"\S+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # what libraries that read UTF-8 cannot take


def sentences(text: str, *, language: str = "en") -> Iterator[list[Token]]:
    """The sentences of a text, each as its tokens, found as they are asked for.

    Lines may break anywhere; an empty line ends a sentence.

    >>> for sentence in sentences("It's 5 p.m. in the U.S. We don't know (yet)."):
    ...     print([token.text for token in sentence])
    ['It', "'s", '5', 'p.m.', 'in', 'the', 'U.S', '.']
    ['We', 'do', "n't", 'know', '(', 'yet', ')', '.']
    """
    if language not in _SPLITTERS:
        raise ValueError(f"no tokenizer for language {language!r}; expected one of {', '.join(map(repr, _SPLITTERS))}")
    return _sentences(text, language)


def tokenize(text: str, *, language: str = "en") -> list[Token]:
    """The tokens of a text that is to be read as one sentence.

    >>> [(token.word, token.start, token.end) for token in tokenize('"We cannot."')]
    [('``', 0, 1), ('We', 1, 3), ('can', 4, 7), ('not', 7, 10), ('.', 10, 11), ("''", 11, 12)]
    """
    return [token for sentence in sentences(text, language=language) for token in sentence]


def _sentences(text: str, language: str) -> Iterator[list[Token]]:
    start = 0
    for end in _ends(text, language):
        tokens = _tokens(text, start, end, language)
        if tokens:
            yield tokens
        start = end


def _tokens(text: str, start: int, end: int, language: str) -> list[Token]:
    """The tokens of the sentence that stands from `start` to `end`."""
    split = _SPLITTERS[language]
    chunks = list(_CHUNK.finditer(text, start, end))
    last = next((number for number in reversed(range(len(chunks))) if _LETTER.search(chunks[number][0])), 0)
    tokens: list[Token] = []
    is_open = False
    for number, chunk in enumerate(chunks):
        base = chunk.start()
        for first, stop, word in split(chunk[0], number >= last):
            if word == '"':  # it stands alone: its neighbours do not tell which one it is
                word = "''" if is_open else "``"
            is_open = word == "``" or (is_open and word != "''")
            tokens.append(Token(text[base + first : base + stop], base + first, base + stop, word))
    return tokens


# Sentences

_WINDOW = 1 << 14  # characters read at a time, so that the time grows with the text and no faster
_SPACE = re.compile(r"\s")
_EMPTY_LINE = re.compile(r"(?:\r?\n|\r(?!\n))[^\S\r\n]*[\r\n]")
# sentencex keeps what stands in quotation marks or brackets in one sentence, and takes apostrophes for the former;
# a treebank does neither
_ENCLOSING = re.compile(r"""["“”„‟«»‹›‘`()\[\]{}<>]|(?<!\w)['’]|['’](?!\w)""")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_STOPS = {"。": ".", "…": ".", "！": "!", "？": "?", "؟": "?"}
# where it takes a word for an abbreviation, and the other way about
_WORD_AT_END = re.compile(r"""\b(?:me|No|OK|[Mm]m)\.["”'’)]*(?=\s+["“‘'(]*[A-Z])""")
_ABBREVIATION = re.compile(r"\b(?:Ms|Ft|[Vv]ol|[Aa]pprox)\.\Z")
# where a quotation or an aside ends and the sentence around it goes on
_GOES_ON = re.compile(r"""["”»'’)\]]+\s+[a-z]|\s+(?:--|[–—])\s*[a-z]""")
_CHINESE_END = re.compile(r"""[。！？｡!?]+[」』”’）》】)\]"']*""")


def _ends(text: str, language: str) -> Iterator[int]:
    """Where sentences end, the last one at the end of the text."""
    start = 0
    while len(text) - start > _WINDOW:
        window = text[start : start + _WINDOW]
        ends = _ends_in(window, language)
        yield from (start + end for end in ends)
        # a sentence may go on in the next window, which begins with one or, where they are that long, inside of one
        half = _WINDOW // 2
        next_start = ends[-1] if ends else 0
        if next_start < half:
            spaces = [space.start() for space in _SPACE.finditer(window, half)]
            next_start = spaces[-1] if spaces else _WINDOW
        start += next_start
    yield from (start + end for end in _ends_in(text[start:], language))
    yield len(text)


def _ends_in(text: str, language: str) -> list[int]:
    """Where sentences end before the end of the text."""
    ends = {match.start() for match in _EMPTY_LINE.finditer(text)}
    ends.update(_chinese_ends(text) if language == "zh" else _english_ends(text))
    return sorted(ends - {0, len(text)})


def _chinese_ends(text: str) -> Iterator[int]:
    return (match.end() for match in _CHINESE_END.finditer(text))


def _english_ends(text: str) -> Iterator[int]:
    yield from (match.end() for match in _WORD_AT_END.finditer(text))
    # ASCII, because a character of several bytes in an unexpected place stops sentencex
    plain = _BEYOND_ASCII.sub(_stand_in, _ENCLOSING.sub(" ", text))
    for found in sentencex.get_sentence_boundaries("en", plain):
        start, stop = found["start_index"], found["end_index"]
        content = start + len(plain[start:stop].rstrip())
        # what closes a quotation follows at once, what opens the next one after a space
        space = _SPACE.search(text, content, stop)
        is_abbreviation = _ABBREVIATION.search(plain, max(start, content - 8), content)
        if space and stop < len(text) and not is_abbreviation and not _GOES_ON.match(text, content):
            yield space.start()


def _stand_in(match: re.Match[str]) -> str:
    character = match[0]
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return _STOPS.get(character, " ")


# English

_LETTER = re.compile(r"\w")
_PICTURES = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_PICTURE = f"[{_PICTURES}][\U0001f3fb-\U0001f3ff\ufe0f]*"
_WHOLE = rf"""
    (?:https?://|ftp://|www\.)(?:[^\s<>"“”«»()\u3000-\u9fff\uff00-\uffef]|\([^\s()]*\))+(?<![.,;:!?'’…*])
  | [A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+
  | (?<!\w)[@\#](?!\d)[A-Za-z0-9_]+
  | [\U0001f1e6-\U0001f1ff]{{2}}
  | {_PICTURE}(?:\u200d{_PICTURE})*
"""
_CURRENCY = "$¢£¥֏؋฿₠-\u20cf"
_APART = rf"\s,;:!?()\[\]{{}}<>\"“”„‟«»‹›`‘’'{_CURRENCY}%‰…‒–—―.&*=|~±×÷≤≥≈≠←→\-{_PICTURES}"
_PENN = re.compile(
    rf"""{_WHOLE}
  | (?<!\w)[:;=]-?[()DPpO/\\|*]+(?!\w) | <3(?!\w)  # faces
  | </?[A-Za-z][^\s<>]*> | &\#?\w{{1,31}};  # mark-up
  | \.{{2,}} | …+ | <?-{{2,}}>? | -> | <- | [‒–—―]+ | [!?]+ | \*+
  | `` | ''
  | (?<!\w)[A-Z]{{1,2}}\$
  | (?P<word>
        (?<!\w)['’](?i:em|til|cause|cuz|bout|round|neath|n['’]|tis|twas|\d\ds|s|m|d|ll|re|ve|t)(?!\w)
      | (?: [^{_APART}]+ | \.(?!\.) | -(?!-|>) | (?<=\d)[,:](?=\d) | (?<=\w)(?:&|\*+)(?=\w)
          | (?<=[\w.])['’](?=-?\w) | (?<=[a-z]in)['’](?!\w)
          | (?<=\w)\((?:e?s|[+-])\) | (?<=[\w-])\(\w{{1,8}}\)(?=\w) )+
    )
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CLITIC = re.compile(r"(?i)(?<=[\w.])(?:n['’]t|['’](?:s|m|d|ll|re|ve))(?![\w-])")
_TWO_WORDS = {
    **dict.fromkeys(("cannot", "gonna", "gotta", "wanna", "gimme", "lemme"), 3),
    **dict.fromkeys(("'tis", "'twas", "’tis", "’twas"), 2),
}
_CLOSING = re.compile(r"""["”»'’)\]}>!?]*\Z""")
_OPENING = re.compile(r"""(?:\A|(?<=[(\[{<\-–—/“‘"'`]))(?:''|["'’])(?:[^.,;:!?)\]}>%"'”’]|['’]\w|\.\.)""")
_FORMS = {
    **{"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"},
    **{"“": "``", "”": "''", "„": "``", "‟": "``", "«": "``", "»": "''", "‘": "`"},
}
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def _english(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    """The tokens of a chunk between white space by the Penn Treebank's rules; those of the last one end a sentence."""
    pieces: list[Piece] = []
    for match in _PENN.finditer(chunk):
        start, end = match.span()
        if match[0] in ('"', "'", "’", "''"):
            pieces.append((start, end, _quotation_mark(chunk, start, end)))
            continue
        cuts = [start, *(_cuts(chunk, start, end, is_last) if match.lastgroup else ()), end]
        pieces += ((a, b, _penn(chunk[a:b])) for a, b in pairwise(cuts) if a < b)
    return tuple(pieces)


def _cuts(chunk: str, start: int, end: int, is_last: bool) -> Iterator[int]:
    """Where a word is cut: before what is contracted with it, and before the period that ends the sentence."""
    text = chunk[start:end]
    stop = end
    if text[-1] == "." and end - start > 1 and _CLOSING.match(chunk, end):
        is_quoted = chunk[end : end + 1] in tuple("\"”»'’")
        if is_last or (is_quoted and "." not in text[:-1]):
            stop -= 1
    whole = _TWO_WORDS.get(chunk[start:stop].lower())
    if whole:
        yield start + whole
    else:
        yield from (match.start() for match in _CLITIC.finditer(chunk, start, stop))
    yield stop


def _quotation_mark(chunk: str, start: int, end: int) -> str:
    if chunk == '"':
        return chunk
    one = "`" if _OPENING.match(chunk, start) else "'"
    return one if chunk[start:end] in ("'", "’") else 2 * one


def _penn(text: str) -> str:
    if text.isascii() and text.isalnum():
        return text
    return _FORMS.get(text) or _INVISIBLE.sub("", text).replace("’", "'") or text


# Chinese

_WHOLE_PATTERN = re.compile(_WHOLE, re.VERBOSE)


def _chinese(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    """The words of a chunk between white space."""
    pieces: list[Piece] = []
    start = 0
    for match in _WHOLE_PATTERN.finditer(chunk):
        pieces += _segment(chunk, start, match.start())
        pieces.append((match.start(), match.end(), match[0]))
        start = match.end()
    return (*pieces, *_segment(chunk, start, len(chunk)))


def _segment(chunk: str, start: int, end: int) -> Iterator[Piece]:
    simplify, cut = _segmenter()
    text = _SURROGATE.sub("\ufffd", chunk[start:end])
    simple = simplify(text)  # the segmenter's dictionary is
    for word in cut(simple if len(simple) == len(text) else text):
        yield start, start + len(word), chunk[start : start + len(word)]
        start += len(word)


@lru_cache(maxsize=1)
def _segmenter() -> tuple[Callable[[str], str], Callable[[str], list[str]]]:
    try:
        opencc, rjieba = import_module("opencc"), import_module("rjieba")
    except ImportError as error:
        raise ImportError("Chinese text needs a segmenter: pip install 'treecrf[zh]'") from error
    converter: Any = opencc.OpenCC("t2s")
    return converter.convert, rjieba.cut


# texts repeat their words; the long ones are not worth keeping
_LONG = 64
_known_english = lru_cache(maxsize=1 << 15)(_english)


def _split_english(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    return _known_english(chunk, is_last) if len(chunk) < _LONG else _english(chunk, is_last)


_SPLITTERS: dict[str, Callable[[str, bool], tuple[Piece, ...]]] = {"en": _split_english, "zh": _chinese}
