"""Chinese for parsers that do not find words in characters: sentence boundaries by punctuation, words by rjieba."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from treecrf import import_extra
from treecrf.text.characters import sentence_ends
from treecrf.text.english import Piece
from treecrf.text.word_lists import patterns

__all__ = ["sentence_ends", "split_chunk"]

_UNSPLIT = patterns("shared")["unsplit"]
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # UTF-8, and so the segmenter, cannot encode surrogates


def split_chunk(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    start = 0
    for match in _UNSPLIT.finditer(chunk):
        pieces += _segment(chunk, start, match.start())
        pieces.append((match.start(), match.end(), match[0]))
        start = match.end()
    return (*pieces, *_segment(chunk, start, len(chunk)))


def _segment(chunk: str, start: int, end: int) -> Iterator[Piece]:
    simplify, cut = _segmenter()
    text = _SURROGATE.sub("\ufffd", chunk[start:end])
    simplified = simplify(text)  # the segmenter's dictionary has simplified characters
    for word in cut(simplified if len(simplified) == len(text) else text):
        yield start, start + len(word), chunk[start : start + len(word)]
        start += len(word)


@lru_cache(maxsize=1)
def _segmenter() -> tuple[Callable[[str], str], Callable[[str], list[str]]]:
    opencc, rjieba = (import_extra(name, "Chinese text needs a segmenter", "zh") for name in ("opencc", "rjieba"))
    return opencc.OpenCC("t2s").convert, rjieba.cut
