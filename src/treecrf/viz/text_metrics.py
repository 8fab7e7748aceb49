"""How much room text takes, on a screen and in a terminal, without asking a font.

Letters are measured as Helvetica has them, which Arial, Liberation Sans and others share; what lies outside Latin is
estimated by its kind.
"""

import re
import unicodedata
from functools import lru_cache

# thousandths of the font size, by width
_ADVANCES = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jcksvxyz",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1015: "@",
}
_ADVANCE = {letter: advance / 1000 for advance, letters in _ADVANCES.items() for letter in letters}
_BOLD = 1.07  # a bold letter to a plain one, about
_OTHER = 0.62  # Greek, Cyrillic, Arabic, Devanagari, ...: between narrow and wide ones
_EMOJI = 1.3
# what no drawing can show: controls, white space but the plain space, halves of pairs, and what XML excludes
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\ufeff]|[^\\S ]")


def visible(text: str) -> str:
    """Text as it is drawn: characters without a shape by their numbers, as brackets spell them.

    >>> visible("a\\tb c")
    'a\\\\u{9}b c'
    """
    return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text, in the unit of `size`.

    >>> width("tree", 10), width("树", 10)
    (17.23, 10.0)
    """
    total = sum(map(_advance, text)) * size
    return round(total * _BOLD if bold else total, 2)


def cells(text: str) -> int:
    """How many columns text fills in a terminal.

    >>> cells("tree"), cells("语法树"), cells("e\\u0301")
    (4, 6, 1)
    """
    return sum(map(_cells, text))


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
    if (known := _ADVANCE.get(letter)) is not None:
        return known
    if not _cells(letter):
        return 0.0
    if _is_wide(letter):
        return _EMOJI if letter >= "\U0001f000" and not "\U00020000" <= letter < "\U00040000" else 1.0
    plain = unicodedata.normalize("NFD", letter)[0]  # an accent adds nothing to its letter
    return _ADVANCE.get(plain, _OTHER)


@lru_cache(maxsize=1 << 12)
def _cells(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if _is_wide(letter) else 1
