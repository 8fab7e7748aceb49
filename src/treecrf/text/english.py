"""English: sentence boundaries by sentencex, tokens by the rules of the Penn Treebank."""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from treecrf.text.normalization import remove_invisible
from treecrf.treebank.escapes import PENN_ESCAPES

Piece = tuple[int, int, str]  # a token: start and end in a chunk, and the word in treebanks

# sentencex never ends a sentence inside quotation marks or brackets, and takes apostrophes for quotation marks; a
# treebank does neither
_ENCLOSING = re.compile(r"""["“”„‟«»‹›‘`()\[\]{}<>]|(?<!\w)['’]|['’](?!\w)""")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_SPACE = re.compile(r"\s")
_STOPS = {"。": ".", "…": ".", "！": "!", "？": "?", "؟": "?"}
# words that sentencex takes for abbreviations, and abbreviations that it does not know
_WORD_AT_END = re.compile(r"""\b(?:me|No|OK|[Mm]m)\.["”'’)]*(?=\s+["“‘'(]*[A-Z])""")
_ABBREVIATION = re.compile(r"\b(?:Ms|Ft|[Vv]ol|[Aa]pprox)\.\Z")
# the end of a quotation or an aside inside a sentence
_GOES_ON = re.compile(r"""["”»'’)\]]+\s+[a-z]|\s+(?:--|[–—])\s*[a-z]""")


def sentence_ends(text: str) -> Iterator[int]:
    """The positions of sentence ends in a text."""
    yield from (match.end() for match in _WORD_AT_END.finditer(text))
    # ASCII, because sentencex stops at a character of several bytes in an unexpected place
    plain = _NON_ASCII.sub(_ascii_replacement, _ENCLOSING.sub(" ", text))
    sentencex: Any = import_module("sentencex")  # on first use: parsers of given words do not need it
    for boundary in sentencex.get_sentence_boundaries("en", plain):
        start, stop = boundary["start_index"], boundary["end_index"]
        content = start + len(plain[start:stop].rstrip())
        # a closing quotation mark follows without a space, the next opening one after a space
        space = _SPACE.search(text, content, stop)
        is_abbreviation = _ABBREVIATION.search(plain, max(start, content - 8), content)
        if space and stop < len(text) and not is_abbreviation and not _GOES_ON.match(text, content):
            yield space.start()


def _ascii_replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return _STOPS.get(character, " ")


_PICTOGRAPHS = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_EMOJI = f"[{_PICTOGRAPHS}][\U0001f3fb-\U0001f3ff\ufe0f]*"
# addresses, mentions, hashtags, flags and emoji: one token each, also in Chinese text
UNSPLIT = rf"""
    (?:https?://|ftp://|www\.)(?:[^\s<>"“”«»()\u3000-\u9fff\uff00-\uffef]|\([^\s()]*\))+(?<![.,;:!?'’…*])
  | [A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+
  | (?<!\w)[@\#](?!\d)[A-Za-z0-9_]+
  | [\U0001f1e6-\U0001f1ff]{{2}}
  | {_EMOJI}(?:\u200d{_EMOJI})*
"""
_CURRENCY = "$¢£¥֏؋฿₠-\u20cf"
_SEPARATE = rf"\s,;:!?()\[\]{{}}<>\"“”„‟«»‹›`‘’'{_CURRENCY}%‰…‒–—―.&*=|~±×÷≤≥≈≠←→\-{_PICTOGRAPHS}"
_TOKEN = re.compile(
    rf"""{UNSPLIT}
  | (?<!\w)[:;=]-?[()DPpO/\\|*]+(?!\w) | <3(?!\w)  # emoticons
  | </?[A-Za-z][^\s<>]*> | &\#?\w{{1,31}};  # markup
  | \.{{2,}} | …+ | <?-{{2,}}>? | -> | <- | [‒–—―]+ | [!?]+ | \*+
  | `` | ''
  | (?<!\w)[A-Z]{{1,2}}\$
  | (?P<word>
        (?<!\w)['’](?i:em|til|cause|cuz|bout|round|neath|n['’]|tis|twas|\d\ds|s|m|d|ll|re|ve|t)(?!\w)
      | (?: [^{_SEPARATE}]+ | \.(?!\.) | -(?!-|>) | (?<=\d)[,:](?=\d) | (?<=\w)(?:&|\*+)(?=\w)
          | (?<=[\w.])['’](?=-?\w) | (?<=[a-z]in)['’](?!\w)
          | (?<=\w)\((?:e?s|[+-])\) | (?<=[\w-])\(\w{{1,8}}\)(?=\w) )+
    )
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CLITIC = re.compile(r"(?i)(?<=[\w.])(?:n['’]t|['’](?:s|m|d|ll|re|ve))(?![\w-])")
_TWO_WORDS = {  # two words in one, with the length of the first
    **dict.fromkeys(("cannot", "gonna", "gotta", "wanna", "gimme", "lemme"), 3),
    **dict.fromkeys(("'tis", "'twas", "’tis", "’twas"), 2),
}
_CLOSING = re.compile(r"""["”»'’)\]}>!?]*\Z""")
_OPENING = re.compile(r"""(?:\A|(?<=[(\[{<\-–—/“‘"'`]))(?:''|["'’])(?:[^.,;:!?)\]}>%"'”’]|['’]\w|\.\.)""")
_TREEBANK_WORDS = {
    **PENN_ESCAPES,
    **{"“": "``", "”": "''", "„": "``", "‟": "``", "«": "``", "»": "''", "‘": "`"},
}


def split_chunk(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    """The tokens of a chunk between white space; in the last chunk of a sentence, a final period is a token."""
    return _cached_pieces(chunk, is_last) if len(chunk) < _MAX_CACHED else _pieces(chunk, is_last)


def _pieces(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for match in _TOKEN.finditer(chunk):
        start, end = match.span()
        if match[0] in ('"', "'", "’", "''"):
            pieces.append((start, end, _quotation_mark(chunk, start, end)))
            continue
        cuts = [start, *(_cuts(chunk, start, end, is_last) if match.lastgroup else ()), end]
        pieces += ((a, b, _treebank_word(chunk[a:b])) for a, b in pairwise(cuts) if a < b)
    return tuple(pieces)


# texts repeat their words; long ones repeat too rarely to cache
_MAX_CACHED = 64  # characters
_cached_pieces = lru_cache(maxsize=1 << 15)(_pieces)


def _cuts(chunk: str, start: int, end: int, is_last: bool) -> Iterator[int]:
    """The positions inside a word to cut at: before contracted words, and before the period of the sentence."""
    text = chunk[start:end]
    stop = end
    if text[-1] == "." and end - start > 1 and _CLOSING.match(chunk, end):
        is_quoted = chunk[end : end + 1] in tuple("\"”»'’")
        if is_last or (is_quoted and "." not in text[:-1]):
            stop -= 1
    first_length = _TWO_WORDS.get(chunk[start:stop].lower())
    if first_length:
        yield start + first_length
    else:
        yield from (match.start() for match in _CLITIC.finditer(chunk, start, stop))
    yield stop


def _quotation_mark(chunk: str, start: int, end: int) -> str:
    if chunk == '"':
        return chunk
    single = "`" if _OPENING.match(chunk, start) else "'"
    return single if chunk[start:end] in ("'", "’") else 2 * single


def _treebank_word(text: str) -> str:
    if text.isascii() and text.isalnum():
        return text
    return _TREEBANK_WORDS.get(text) or remove_invisible(text).replace("’", "'") or text
