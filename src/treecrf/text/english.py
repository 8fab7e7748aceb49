"""English tokens by the rules of the Penn Treebank."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from treecrf.text.english_sentences import FOOTNOTE_MARK, PICTOGRAPHS, SUPERSCRIPTS, sentence_ends
from treecrf.text.normalization import remove_invisible
from treecrf.trees.treebank.escapes import PENN_ESCAPES

__all__ = ["UNSPLIT", "Piece", "sentence_ends", "split_chunk"]

Piece = tuple[int, int, str]  # a token: start and end in a chunk, and the word in treebanks

_EMOJI = f"[{PICTOGRAPHS}][\U0001f3fb-\U0001f3ff\ufe0f]*"
# addresses, mentions, hashtags, and runs of one flag or one emoji: one token each, also in Chinese text
UNSPLIT = rf"""
    (?:https?://|ftp://|www\.)(?:[^\s<>"“”«»()\u3000-\u9fff\uff00-\uffef]|\([^\s()]*\))+(?<![.,;:!?'’…*])
  | [A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+
  | (?<!\w)[@\#](?!\d)[A-Za-z0-9_]+
  | (?P<flag>[\U0001f1e6-\U0001f1ff]{{2}})(?P=flag)*
  | (?P<emoji>{_EMOJI}(?:\u200d{_EMOJI})*)(?P=emoji)*
"""
_CURRENCY = "$¢£¥֏؋฿₠-\u20cf"
_SEPARATE = rf"\s,;:!?()\[\]{{}}<>\"“”„‟«»‹›`‘’'{_CURRENCY}%‰…‒–—―.&*=|~±×÷≤≥≈≠←→†‡\-{SUPERSCRIPTS}{PICTOGRAPHS}"
_BEFORE_NOTE = r".,;:!?)\]}\"”’»'"
_TOKEN = re.compile(
    rf"""{UNSPLIT}
  | (?<!\w)[:;=]-?[()DPpO/\\|*]+(?!\w) | <3(?!\w)  # emoticons
  | </?[A-Za-z][^\s<>]*> | &\#?\w{{1,31}};  # markup
  | &{{2,}} | \|{{2,}} | ~{{2,}} | [!<>=]=+ | =>  # operators
  | \.{{2,}} | …+ | <?-{{2,}}>? | -> | <- | [‒–—―]+ | [!?]+ | \*+
  | `` | ''
  | (?<!\w)[A-Z]{{1,2}}\$
  | (?P<word>
        (?<!\w)['’](?i:em|til|cause|cuz|bout|round|neath|n['’]|tis|twas|\d\ds|s|m|d|ll|re|ve|t)(?!\w)
      | (?: [^{_SEPARATE}]+ | \.(?!\.) | -(?!-|>) | [†‡]+(?=\w) | (?<=\d)[,:](?=\d) | (?<=\w)(?:&|\*+)(?=\w)
          | (?<=[\w.])['’](?=-?\w) | (?<=[a-z]in)['’](?!\w)
          | (?<=\w)(?<![a-z]{{3}})[{SUPERSCRIPTS}]+ | (?<![\w{_BEFORE_NOTE}])[{SUPERSCRIPTS}]+(?=[A-Z])  # km², ¹H
          | (?<=\w)\((?:e?s|[+-])\) | (?<=[\w-])\(\w{{1,8}}\)(?=\w) )+
    )
  | [{SUPERSCRIPTS}]+ | [†‡]+  # footnotes
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CLITIC = re.compile(r"(?i)(?<=[\w.])(?:n['’]t|['’](?:s|m|d|ll|re|ve))(?![\w-])")
_TWO_WORDS = {  # two words in one, with the length of the first
    **dict.fromkeys(("cannot", "gonna", "gotta", "wanna", "gimme", "lemme"), 3),
    **dict.fromkeys(("'tis", "'twas", "’tis", "’twas"), 2),
}
_CLOSING = re.compile(rf"""(?:["”»'’)\]}}>!?]|{FOOTNOTE_MARK})*\Z""")
_NUMBERED_NOTE = re.compile(r"(?<=[a-z]{3})\.(?=\d{1,2}(?:[,–-]\d{1,2})*\Z)")
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
        cuts = [start, *(_cuts(chunk, start, end, is_last) if match.lastgroup == "word" else ()), end]
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
        is_abbreviation = "." in text[:-1] and chunk[end : end + 1] in ("?", "!")  # "at 5 p.m.?" has one stop
        if (is_last and not is_abbreviation) or (is_quoted and "." not in text[:-1]):
            stop -= 1
    if is_last and (note := _NUMBERED_NOTE.search(chunk, start, end)):
        yield from note.span()
        return
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
