"""Normalization of words: one form for brackets, quotation marks and dashes that are written in several ways.

Only a model's input is normalized; trees keep their words. A parser's config names its normalization, so that training
and parsing use the same one.
"""

import re
from collections.abc import Callable
from typing import Literal

from treecrf import import_extra
from treecrf.trees.notation import unescape_brackets

Normalization = Literal["as-is", "plain", "multiword", "simplified"]

_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_QUOTATION_MARKS = {"``": '"', "''": '"', "`": "'"}
_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_CHARACTERS = {
    **_FULL_WIDTH,
    **dict.fromkeys(map(ord, "“”„‟«»"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛‹›ʼ´"), "'"),
    **dict.fromkeys(map(ord, "‐‑"), "-"),
    **dict.fromkeys(map(ord, "—―"), "--"),
    ord("…"): "...",
}


def normalizer(normalization: Normalization) -> Callable[[str], str]:
    """The function that normalizes a word; a word that is not empty stays so.

    >>> [normalizer("plain")(word) for word in ["-LRB-", "“", "``", "n’t", "1\\\\/2", "—", "(", "word"]]
    ['(', '"', '"', "n't", '1/2', '--', '(', 'word']
    >>> normalizer("multiword")("sin_embargo")
    'sin embargo'
    """
    if normalization == "simplified":
        return _simplifier()
    functions: dict[str, Callable[[str], str]] = {"plain": _normalize_plain, "multiword": _normalize_multiword}
    return functions.get(normalization, str)


def remove_invisible(text: str) -> str:
    """Removes control characters, soft hyphens, zero-width spaces and direction marks."""
    return _INVISIBLE.sub("", text)


def _normalize_plain(word: str) -> str:
    """The word with brackets, quotation marks, dashes and dots in ASCII, without invisible characters."""
    if word.isascii() and word.isalnum():
        return word
    text = unescape_brackets(remove_invisible(word).translate(_CHARACTERS))
    return _QUOTATION_MARKS.get(text, text) or word


def _normalize_multiword(word: str) -> str:
    """The plain word, with spaces in place of the underscores between the parts of a multiword token."""
    text = _normalize_plain(word)
    return text.replace("_", " ").strip() or text if "_" in text else text


def _simplifier() -> Callable[[str], str]:
    """The function from traditional to simplified Chinese: a traditional character rarely has two simplified forms."""
    opencc = import_extra("opencc", "this model reads Chinese characters through OpenCC", "zh")
    convert = opencc.OpenCC("t2s").convert

    def simplify(word: str) -> str:
        if word.isascii():
            return word
        text = remove_invisible(word).translate(_FULL_WIDTH)
        return convert(text.encode("utf-8", "replace").decode("utf-8")) or word

    return simplify
