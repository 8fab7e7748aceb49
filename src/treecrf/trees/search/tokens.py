"""Tokens of patterns and operations, and errors with a caret under a token.

The longest token wins, and of two with the same length the one that stands first below. In a pattern, a literal may
contain `|`, `;`, `{` and `}` after its first character: `NP|VP` is one token, and the braces of `<...` need spaces.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from treecrf import TreecrfError
from treecrf.trees.search.relations import NUMBERED, RELATIONS, SYNONYMS

MAX_DEPTH = 50  # nested brackets
_MAX_SHOWN, _CONTEXT = 400, 100  # characters of a text in a message, and on each side of an error
_Value = TypeVar("_Value")
_PATHS = {"<+", ">+", ".+", ",+"}
_RELATIONS = (set(RELATIONS) | set(SYNONYMS)) - {*NUMBERED.values(), *_PATHS}


def _any_of(symbols: set[str]) -> re.Pattern[str]:
    """Matches the longest symbol: a regular expression takes the first alternative that matches."""
    return re.compile("|".join(map(re.escape, sorted(symbols, key=len, reverse=True))))


_FIRST = r"[^\s0-9(/|@!#%&)=?\[\]><~_.,$:{};]"
_NEXT = r"[^\s(/@!#%&)=?\[\]><~.,$:]"
TokenKinds = Sequence[tuple[str, re.Pattern[str]]]
PATTERN_TOKENS: TokenKinds = [
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


class PatternError(TreecrfError, ValueError):
    """A pattern that does not parse or matches too often: the `reason`, and the `offset` in the `pattern`."""

    def __init__(self, reason: str, pattern: str, offset: int) -> None:
        self.reason = shorten(reason)
        self.pattern = pattern
        self.offset = offset
        line_start, line_end = pattern.rfind("\n", 0, offset) + 1, pattern.find("\n", offset)
        before, after = pattern[line_start:offset], pattern[offset : line_end if line_end >= 0 else None]
        if len(before) + len(after) > _MAX_SHOWN:  # shows the surroundings of the place
            before = before if len(before) <= _CONTEXT else f"...{before[-_CONTEXT:]}"
            after = after if len(after) <= _CONTEXT else f"{after[:_CONTEXT]}..."
        columns = sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in before)
        super().__init__(f"{self.reason}\n  {before}{after}\n  {' ' * columns}^")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.pattern, self.offset)


class SurgeryError(TreecrfError, ValueError):
    """An operation that cannot be applied to a tree."""

    def __init__(self, reason: str) -> None:
        super().__init__(shorten(reason))


def shorten(text: str) -> str:
    """A text without its middle, if it is long; patterns and labels may have a million characters."""
    return text if len(text) <= _MAX_SHOWN else f"{text[: 2 * _CONTEXT]} ... {text[-2 * _CONTEXT :]}"


def to_int(digits: str) -> int:
    """Reads a number; what follows its first eleven digits is left out, because no number may be as large."""
    number = int(digits.lstrip("-0")[:11] or 0)
    return -number if digits.startswith("-") else number


class PatternToken(NamedTuple):
    """A token: its kind (a mark is its own kind), its text, and its place in the pattern."""

    kind: str
    text: str
    offset: int


class TokenParser:
    """A recursive-descent parser: a position in the tokens of a text, and errors with the place of a token."""

    subject = "pattern"  # the kind of text, for messages
    kinds: TokenKinds = PATTERN_TOKENS

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = read_tokens(text, self.kinds)
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


def read_tokens(text: str, kinds: TokenKinds = PATTERN_TOKENS) -> list[PatternToken]:
    """Splits a pattern, or a text with tokens of other kinds; the last token has the kind "end".

    >>> [token.text for token in read_tokens("NP|VP <-2 (__ $+ /^V/=v)")]
    ['NP|VP', '<-', '2', '(', '__', '$+', '/^V/', '=', 'v', ')', '']
    """
    tokens: list[PatternToken] = []
    offset = 0
    while start := _NO_SPACE.search(text, offset):
        offset = start.start()
        matches = [(kind, match) for kind, regex in kinds if (match := regex.match(text, offset))]
        if not matches:
            hint = _HINTS.get(text[offset], "put a label with such characters into a regular expression: /.../")
            raise PatternError(f"{text[offset]!r} cannot start a label or a relation; {hint}", text, offset)
        kind, match = max(matches, key=lambda pair: pair[1].end())
        tokens.append(PatternToken(match[0] if kind == "mark" else kind, match[0], offset))
        offset = match.end()
    return [*tokens, PatternToken("end", "", len(text.rstrip()))]
