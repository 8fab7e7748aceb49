"""Penn Treebank escapes of brackets in words: `-LRB-` for a left round bracket, and so on.

Treebanks, tokenizers and other parsers write parentheses in words this way. `treecrf.trees.notation.escape` escapes any
character in a way that only this package reads; the functions here write parentheses as treebanks do.
"""

import re

from treecrf.trees.notation import escape

PENN_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}

_BRACKETS = {name: bracket for bracket, name in PENN_ESCAPES.items()}
_TABLE = str.maketrans(PENN_ESCAPES)
_ESCAPED = re.compile(r"(?i)-[LR][RSC]B-|\\[/*]")  # the Penn Treebank also escapes "/" and "*", by a backslash
_LEFT, _RIGHT = escape("("), escape(")")


def penn_brackets(line: str) -> str:
    r"""Replaces the escapes of parentheses in a bracketed tree by escapes of the Penn Treebank.

    >>> penn_brackets(r"(NP (-LRB- \u{28}) (NN a) (-RRB- \u{29}))")
    '(NP (-LRB- -LRB-) (NN a) (-RRB- -RRB-))'
    """
    return line.replace(_LEFT, PENN_ESCAPES["("]).replace(_RIGHT, PENN_ESCAPES[")"])


def escape_for_treebanks(text: str) -> str:
    r"""Escapes a word or label for brackets: parentheses as `-LRB-` and `-RRB-`, other characters by `escape`.

    >>> escape_for_treebanks("(a b)")
    '-LRB-a\\u{20}b-RRB-'
    """
    return penn_brackets(escape(text))


def escape_brackets(word: str) -> str:
    """Escapes all round, square and curly brackets of a word.

    >>> escape_brackets("[1]")
    '-LSB-1-RSB-'
    """
    return word.translate(_TABLE)


def unescape_brackets(word: str) -> str:
    r"""Restores the brackets, slashes and asterisks that the Penn Treebank escapes.

    >>> unescape_brackets("-lsb-1-RSB-"), unescape_brackets(r"1\/2")
    ('[1]', '1/2')
    """
    return _ESCAPED.sub(lambda match: _BRACKETS.get(match[0].upper(), match[0][-1]), word)
