"""Text without spaces between words: sentence boundaries by punctuation, and characters in place of words.

A parser joins the characters to words (`treecrf.parser.segmentation`).
"""

import re
from collections.abc import Iterator

from treecrf.text.english import Piece
from treecrf.text.word_lists import insert_parts, read_words

_STOPS, _CLOSING = "。！？｡!?", "」』”’）》】)]\"'"
_MAX_QUOTATION = 500  # characters
_QUOTATIONS = "|".join(
    f"{opening}[^{opening}{closing}\n]{{0,{_MAX_QUOTATION}}}{closing}"
    for opening, closing in ("「」", "『』", "“”", "（）")
)
_SENTENCE_END = re.compile(rf"(?:{_QUOTATIONS}|[{_STOPS}])[{re.escape(_STOPS + _CLOSING)}]*")
_CITED = re.compile("と|って")  # a particle after a quotation of Japanese
_UNSPLIT = insert_parts("<unsplit>", read_words("shared")["parts"])
_UNIT = re.compile(rf"{_UNSPLIT} | [A-Za-zＡ-Ｚａ-ｚ]+ | .", re.VERBOSE | re.DOTALL)


def sentence_ends(text: str) -> Iterator[int]:
    """The positions after stops and the closing marks that follow; a quotation is part of one sentence."""
    for match in _SENTENCE_END.finditer(text):
        if match[0].rstrip(_CLOSING)[-1:] in tuple(_STOPS) and not _CITED.match(text, match.end()):
            yield match.end()


def split_chunk(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    """The characters of a chunk; addresses, emoji and Latin words are one each."""
    return tuple((match.start(), match.end(), match[0]) for match in _UNIT.finditer(chunk))
