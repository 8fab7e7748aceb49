"""Words as a model reads them: one spelling for what treebanks, tokenizers and people write in several ways.

Trees keep their words. A parser's config names its way of reading, so that training and parsing read alike.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

Normalization = Literal["as-is", "plain", "simplified"]

_BRACKETS = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
_ESCAPED = re.compile(r"(?i)-([lr][rsc]b)-|\\([/*])")
_WHOLE = {"``": '"', "''": '"', "`": "'"}
_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_CHARACTERS = {
    **_FULL_WIDTH,
    **dict.fromkeys(map(ord, "“”„‟«»"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛‹›ʼ´"), "'"),
    **dict.fromkeys(map(ord, "‐‑"), "-"),
    **dict.fromkeys(map(ord, "—―"), "--"),
    ord("…"): "...",
}


def normalizer(normalization: Normalization) -> Callable[[str], str]:
    """The function from a word to what a model with these forms reads; it never gives an empty one for another.

    >>> [normalizer("plain")(word) for word in ["-LRB-", "“", "``", "n’t", "1\\\\/2", "—", "(", "word"]]
    ['(', '"', '"', "n't", '1/2', '--', '(', 'word']
    """
    if normalization == "plain":
        return _plain
    return _simplifier() if normalization == "simplified" else _as_is


def _as_is(word: str) -> str:
    return word


def _plain(word: str) -> str:
    """Brackets, quotation marks, dashes and dots as typed on a keyboard, and no invisible characters."""
    if word.isascii() and word.isalnum():
        return word
    text = _ESCAPED.sub(_unescape, _INVISIBLE.sub("", word).translate(_CHARACTERS))
    return _WHOLE.get(text, text) or word


def _unescape(match: re.Match[str]) -> str:
    return _BRACKETS[match[1].lower()] if match[1] else match[2]


def _simplifier() -> Callable[[str], str]:
    """Chinese in simplified characters: several traditional ones make one of them, seldom the other way about."""
    try:
        opencc = import_module("opencc")
    except ImportError as error:
        raise ImportError("this model reads Chinese characters through OpenCC: pip install 'treecrf[zh]'") from error
    converter: Any = opencc.OpenCC("t2s")

    def simplify(word: str) -> str:
        if word.isascii():
            return word
        text = _INVISIBLE.sub("", word).translate(_FULL_WIDTH)
        return converter.convert(text.encode("utf-8", "replace").decode("utf-8")) or word

    return simplify
