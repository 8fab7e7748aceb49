"""Tokens of the pattern language.

The longest token wins, and of two with the same length the one that stands first below. A literal may contain `|`,
`;`, `{` and `}` after its first character: `NP|VP` is one token, and the braces of `<...` need spaces.
"""

import re
from typing import NamedTuple

from treecrf.trees.search.errors import PatternError
from treecrf.trees.search.relations import NUMBERED, RELATIONS, SYNONYMS

_PATHS = {"<+", ">+", ".+", ",+"}
_RELATIONS = (set(RELATIONS) | set(SYNONYMS)) - {*NUMBERED.values(), *_PATHS}


def _any_of(symbols: set[str]) -> re.Pattern[str]:
    """Matches the longest symbol: a regular expression takes the first alternative that matches."""
    return re.compile("|".join(map(re.escape, sorted(symbols, key=len, reverse=True))))


_FIRST = r"[^\s0-9(/|@!#%&)=?\[\]><~_.,$:{};]"
_NEXT = r"[^\s(/@!#%&)=?\[\]><~.,$:]"
_KINDS = [
    ("relation", _any_of(_RELATIONS)),
    ("sequence", re.compile(r"<\.\.\.")),
    ("path", _any_of(_PATHS)),
    ("number", re.compile(r"-?[0-9]+")),
    ("literal", re.compile(f"{_FIRST}{_NEXT}*")),
    ("any", re.compile("__")),
    ("root", re.compile("_ROOT_")),
    ("regex", re.compile(r"/(?:\\/|[^\n\r/])*/")),
    ("mark", re.compile(r"[()\[\]{};|&!?@#%=~]")),
]
_SPACE = re.compile(r"\s*")
# a pattern that was pasted from a web page may contain these
_HINTS = {"_": "a label of any kind is '__'", "/": "a regular expression ends with a second '/'"}


class Token(NamedTuple):
    """A token: its kind (a mark is its own kind), its text, and its place in the pattern."""

    kind: str
    text: str
    offset: int


def read_tokens(pattern: str) -> list[Token]:
    """Splits a pattern into tokens; the last one has the kind "end".

    >>> [token.text for token in read_tokens("NP|VP <-2 (__ $+ /^V/=v)")]
    ['NP|VP', '<-', '2', '(', '__', '$+', '/^V/', '=', 'v', ')', '']
    """
    tokens: list[Token] = []
    offset = _skip_space(pattern, 0)
    while offset < len(pattern):
        matches = [(kind, match) for kind, regex in _KINDS if (match := regex.match(pattern, offset))]
        if not matches:
            hint = _HINTS.get(pattern[offset], "put a label with such characters into a regular expression: /.../")
            raise PatternError(f"{pattern[offset]!r} cannot start a label or a relation; {hint}", pattern, offset)
        kind, match = max(matches, key=lambda pair: pair[1].end())
        tokens.append(Token(match[0] if kind == "mark" else kind, match[0], offset))
        offset = _skip_space(pattern, match.end())
    return [*tokens, Token("end", "", len(pattern.rstrip()))]


def _skip_space(pattern: str, offset: int) -> int:
    match = _SPACE.match(pattern, offset)
    assert match
    return match.end()
