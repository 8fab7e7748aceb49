"""Width of text in pictures and in terminals, without reading a font.

Latin letters have the widths of Helvetica, Arial and Liberation Sans; the widths of other characters are estimates.
"""

import re
import unicodedata
from functools import lru_cache

from treecrf.config import read_data
from treecrf.trees.notation import escape_match

_WIDTHS: dict[str, str] = read_data(__file__, "widths.toml")
_ADVANCE = {letter: int(advance) / 1000 for advance, letters in _WIDTHS.items() for letter in letters}
_BOLD = 1.07  # approximate ratio of bold to regular
_OTHER = 0.62  # average of Greek, Cyrillic, Arabic, Devanagari, ...
_EMOJI = 1.3
# control characters, white space except the space, surrogates, and characters that XML excludes
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\ufeff]|[^\\S ]")


def escape_invisible(text: str) -> str:
    """Escapes characters without a shape, with the escapes of brackets.

    >>> escape_invisible("a\\tb c")
    'a\\\\u{9}b c'
    """
    return _HIDDEN.sub(escape_match, text)


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text, in the unit of `size`.

    >>> width("tree", 10), width("树", 10)
    (17.23, 10.0)
    """
    total = sum(map(_advance, text)) * size
    return round(total * _BOLD if bold else total, 2)


def terminal_columns(text: str) -> int:
    """The number of columns of text in a terminal.

    >>> terminal_columns("tree"), terminal_columns("语法树"), terminal_columns("e\\u0301")
    (4, 6, 1)
    """
    return sum(map(_letter_columns, text))


def is_right_to_left(words: list[str]) -> bool:
    """Whether most letters belong to a script that is written from right to left."""
    kinds = [unicodedata.bidirectional(letter) for word in words for letter in word]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


def is_ideographic(text: str) -> bool:
    """Whether text needs a font with Chinese, Japanese or Korean characters."""
    return any(_is_wide(letter) and letter < "\U0001f000" for letter in text)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in ("W", "F")


@lru_cache(maxsize=1 << 12)
def _advance(letter: str) -> float:
    if (advance := _ADVANCE.get(letter)) is not None:
        return advance
    if not _letter_columns(letter):
        return 0.0
    if _is_wide(letter):
        return _EMOJI if letter >= "\U0001f000" and not "\U00020000" <= letter < "\U00040000" else 1.0
    plain = unicodedata.normalize("NFD", letter)[0]  # an accented letter has the width of its base letter
    return _ADVANCE.get(plain, _OTHER)


@lru_cache(maxsize=1 << 12)
def _letter_columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if _is_wide(letter) else 1
