"""Tokens of the pattern language.

The longest token wins, and of two with the same length the one that stands first below. A literal may contain `|`,
`;`, `{` and `}` after its first character: `NP|VP` is one token, and the braces of `<...` need spaces.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from treecrf.trees.search.errors import PatternError
from treecrf.trees.search.relations import NUMBERED, RELATIONS, SYNONYMS

MAX_DEPTH = 50  # nested brackets
_Value = TypeVar("_Value")
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
_NO_SPACE = re.compile(r"\S")
# a pattern that was pasted from a web page may contain these
_HINTS = {"_": "a label of any kind is '__'", "/": "a regular expression ends with a second '/'"}


class PatternToken(NamedTuple):
    """A token: its kind (a mark is its own kind), its text, and its place in the pattern."""

    kind: str
    text: str
    offset: int


class TokenParser:
    """A recursive-descent parser: a position in the tokens of a text, and errors with the place of a token."""

    subject = "pattern"  # the kind of text, for messages

    def __init__(self, text: str, tokens: list[PatternToken]) -> None:
        self.text = text
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> PatternToken:
        return self.tokens[self.position]

    def accept(self, kind: str) -> PatternToken | None:
        token = self.token
        if token.kind != kind:
            return None
        self.position += 1
        return token

    def expect(self, kind: str, expectation: str = "") -> PatternToken:
        token = self.accept(kind)
        if token is None:
            raise self.error(f"expected {expectation or repr(kind)}, found {self.found()}")
        return token

    def in_brackets(self, closing: str, parse: Callable[[], _Value]) -> _Value:
        opening = self.token
        self.position += 1
        value = self.nested(parse)
        self.expect(closing, f"{closing!r} for the {opening.text!r} at column {opening.offset + 1}")
        return value

    def nested(self, parse: Callable[[], _Value]) -> _Value:
        """Parses one level deeper; a limit keeps hostile texts from exhausting the stack."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"the {self.subject} is nested more than {MAX_DEPTH} levels deep")
        value = parse()
        self.depth -= 1
        return value

    def found(self) -> str:
        return repr(self.token.text) if self.token.text else f"the end of the {self.subject}"

    def error(self, reason: str, token: PatternToken | None = None) -> PatternError:
        return PatternError(reason, self.text, (token or self.token).offset)


def read_tokens(pattern: str) -> list[PatternToken]:
    """Splits a pattern into tokens; the last one has the kind "end".

    >>> [token.text for token in read_tokens("NP|VP <-2 (__ $+ /^V/=v)")]
    ['NP|VP', '<-', '2', '(', '__', '$+', '/^V/', '=', 'v', ')', '']
    """
    tokens: list[PatternToken] = []
    offset = 0
    while start := _NO_SPACE.search(pattern, offset):
        offset = start.start()
        matches = [(kind, match) for kind, regex in _KINDS if (match := regex.match(pattern, offset))]
        if not matches:
            hint = _HINTS.get(pattern[offset], "put a label with such characters into a regular expression: /.../")
            raise PatternError(f"{pattern[offset]!r} cannot start a label or a relation; {hint}", pattern, offset)
        kind, match = max(matches, key=lambda pair: pair[1].end())
        tokens.append(PatternToken(match[0] if kind == "mark" else kind, match[0], offset))
        offset = match.end()
    return [*tokens, PatternToken("end", "", len(pattern.rstrip()))]
