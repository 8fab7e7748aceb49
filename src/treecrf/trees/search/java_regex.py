r"""Regular expressions with Java's meaning, translated for Python's `re`.

`\w`, `\d`, `\s`, `\b` and case-insensitive matches mean ASCII characters, as in Java. The translation covers what
Python writes differently or lacks: flags in the middle, `\Q...\E`, `\p{...}`, named groups, `\z`, octal numbers,
repeated anchors, references to groups that do not exist, and unions and intersections of character classes. What only
Python allows is an error: comments, `(?P<name>...)`, and a brace that is no repetition. Possessive quantifiers and
atomic groups need Python 3.11.
"""

import re
import sys
import unicodedata
from functools import lru_cache
from itertools import groupby

from treecrf import TreecrfError
from treecrf.config import read_data

_TABLES: dict[str, dict[str, str]] = read_data(__file__)
_FLAGS = re.compile(r"\(\?([imsxudU]*)(?:-([imsxudU]+))?(\)|:)")
_PYTHON_FLAGS = str.maketrans("", "", "udU")  # Unicode case and line modes change nothing in labels
_NAMED_GROUP = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_REFERENCE = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)([A-Za-z_=]+)\}|([A-Z]))")
_HEX = re.compile(r"\\x\{([0-9a-fA-F]+)\}")
_CONTROL = re.compile(r"\\c(.)", re.DOTALL)
_OCTAL = re.compile(r"\\0([0-3][0-7][0-7]|[0-7][0-7]?)")
_DIGITS = re.compile(r"\\([1-9][0-9]*)")
_NUMBER = re.compile("[1-9][0-9]*")
_REPETITION = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
# Python's own groups, which Java does not know
_UNKNOWN_GROUP = re.compile(r"\(\?(?![:=!>]|<[=!a-zA-Z]|[imsxudU-]*[):])")
_NO_MEMBERS = (r"\A", r"\b", r"\B", r"\G", r"\R", r"\X", r"\z", r"\Z", *(rf"\{digit}" for digit in range(1, 10)))

_Operands = list[tuple[list[str], list[str]]]  # classes in an intersection: the members, and the nested classes


class RegexError(TreecrfError, ValueError):
    """A regular expression that Java would refuse, or that cannot be translated: the `reason` and the `offset`."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@lru_cache(maxsize=1024)
def compile_regex(text: str) -> re.Pattern[str]:
    r"""Compiles a regular expression that is written for Java.

    >>> bool(compile_regex(r"^\p{Lu}(?i)nn|x$").search("VNN"))
    True
    """
    try:
        return re.compile(_Translator(text).translate(), re.ASCII)
    except re.error as error:
        raise RegexError(error.msg, min(error.pos or 0, max(len(text) - 1, 0))) from None
    except RecursionError:
        raise RegexError("groups or character classes are nested too deeply", 0) from None


class _Translator:
    """Reads a Java expression from left to right and writes Python's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self.scopes: list[dict[str, bool]] = [{}]  # flags that were set or removed in each open group
        self.open_groups: list[int] = []  # the number of each open group; 0 if it does not capture
        self.group_count = 0  # groups that capture
        self.is_atom = False  # whether the last piece can be repeated

    def translate(self) -> str:
        pieces = []
        while self.offset < len(self.text):
            first = self.offset
            pieces.append(self.piece())
            self.is_atom = self.text[first] not in "*+?{|("
        end = "\n" if self.scopes[-1].get("x") else ""  # ends a comment of the flag x
        return "".join(pieces) + end + self.close_scope()

    def take(self, regex: re.Pattern[str]) -> re.Match[str] | None:
        """Reads an expression, if there is one here."""
        match = regex.match(self.text, self.offset)
        self.offset = match.end() if match else self.offset
        return match

    def open_scope(self) -> str:
        """Opens a group with the flags that hold from here to the end of the group around it."""
        return _flag_group(self.scopes[-1]) if self.scopes[-1] else ""

    def close_scope(self) -> str:
        return ")" if self.scopes[-1] else ""

    def piece(self) -> str:
        character = self.text[self.offset]
        if character == "\\":
            return self.escape()
        if character == "[":
            return self.character_class()
        if character == "(":
            return self.group()
        if character == "{":
            return self.repetition()
        self.offset += 1
        if character in "^$":
            return self.anchor(character)
        if character == ")":
            closing = self.close_scope()
            if self.open_groups:
                self.scopes.pop()
                self.open_groups.pop()
            return closing + character
        if character == "|":
            return f"{self.close_scope()}|{self.open_scope()}"  # flags in the middle also hold in later alternatives
        return character

    def repetition(self) -> str:
        match = self.take(_REPETITION)
        if match is None:
            raise RegexError("a repetition is {2}, {2,} or {2,3}; a brace as a character is \\{", self.offset)
        if any(int(number[:11]) >= 2**31 for number in _NUMBER.findall(match[0])):
            raise RegexError("the number of repetitions is too large; expected less than 2**31", match.start())
        return match[0] if self.is_atom else f"(?:){match[0]}"  # without an atom, Java repeats the empty string

    def group(self) -> str:
        if _UNKNOWN_GROUP.match(self.text, self.offset):
            raise RegexError("a group that Java does not know", self.offset)
        if named := self.take(_NAMED_GROUP):
            self.open_group(captures=True)
            return f"(?P<{named[1]}>"
        flags = _FLAGS.match(self.text, self.offset)
        if flags is None or flags[0] == "(?:":
            self.offset += 1
            self.open_group(captures=not self.text.startswith("?", self.offset))
            return "("
        self.offset = flags.end()
        on, off = flags[1].translate(_PYTHON_FLAGS), (flags[2] or "").translate(_PYTHON_FLAGS)
        states = dict.fromkeys(on, True) | dict.fromkeys(off, False)
        if flags[3] == ":":
            self.open_group(captures=False)
            return _flag_group(states)
        closing = self.close_scope()
        self.scopes[-1] |= states
        return closing + self.open_scope()

    def open_group(self, *, captures: bool) -> None:
        self.group_count += captures
        self.scopes.append({})
        self.open_groups.append(self.group_count if captures else 0)

    def escape(self) -> str:
        if self.text.startswith(r"\Q", self.offset):
            end = self.text.find(r"\E", self.offset)
            quoted = self.text[self.offset + 2 : end if end >= 0 else None]
            self.offset = end + 2 if end >= 0 else len(self.text)
            return re.escape(quoted)
        if reference := self.take(_REFERENCE):
            return f"(?P={reference[1]})"
        if digits := _DIGITS.match(self.text, self.offset):
            return self.back_reference(digits[1])
        if match := self.take(_PROPERTY):
            return f"[{self.property_(match)}]"
        return self.character_escape()

    def back_reference(self, digits: str) -> str:
        """A group by its number: as many digits as there are groups; a group that has no text yet matches nothing."""
        digits = digits[: len(str(self.group_count))]
        while len(digits) > 1 and int(digits) > self.group_count:
            digits = digits[:-1]
        self.offset += 1 + len(digits)
        is_closed = int(digits) <= self.group_count and int(digits) not in self.open_groups
        return f"(?:\\{digits})" if is_closed else "(?!)"

    def character_escape(self) -> str:
        if hexadecimal := self.take(_HEX):
            return re.escape(chr(min(int(hexadecimal[1], 16), sys.maxunicode)))
        if control := self.take(_CONTROL):
            return re.escape(chr(ord(control[1]) ^ 64))
        if self.offset + 1 == len(self.text):
            raise RegexError("a backslash at the end", self.offset)
        if octal := self.take(_OCTAL):
            return re.escape(chr(int(octal[1], 8)))
        letter = self.text[self.offset + 1]
        if letter == "0":
            raise RegexError("an octal number is \\0 and one to three digits from 0 to 7", self.offset)
        self.offset += 2
        if letter in _TABLES["anchors"]:
            return self.anchor(_TABLES["anchors"][letter])
        return _TABLES["escapes"].get(letter, "\\" + letter)

    def anchor(self, text: str) -> str:
        """An anchor; in a group if it is repeated, which Python allows only for groups."""
        is_repeated = self.offset < len(self.text) and self.text[self.offset] in "*+?{"
        return f"(?:{text})" if is_repeated else text

    def property_(self, match: re.Match[str]) -> str:
        r"""The inside of a character class for `\p{...}`."""
        name = match[3] or match[4]
        is_negated = (match[1] == "P") != bool(match[2])
        category = _TABLES["unicode_categories"].get(name, name.removeprefix("Is"))
        ranges = _TABLES["ascii_classes"].get(name) or _unicode_ranges(category)
        if not ranges:
            raise RegexError(f"the property {match[0]} is not known", match.start())
        return _complement(f"[{ranges}]") if is_negated else ranges

    def character_class(self) -> str:
        """Translates `[...]` with its nested classes: a union becomes alternatives, an intersection a lookahead."""
        start = self.offset
        self.offset += 1
        is_negated = self.text.startswith("^", self.offset)
        self.offset += is_negated
        operands: _Operands = [([], [])]
        is_first = True
        while not self.text.startswith("]", self.offset) or is_first:
            if self.offset >= len(self.text):
                raise RegexError("a character class without its ']'", start)
            if self.text.startswith("&&", self.offset):
                self.offset += 2
                operands.append(([], []))
            elif self.text[self.offset] == "[":
                operands[-1][1].append(self.character_class())
            elif self.text[self.offset] == "\\":
                operands[-1][0].append(self.class_escape())
            else:
                character = self.text[self.offset]
                operands[-1][0].append("\\" + character if character in "&~|[]" else character)
                self.offset += 1
            is_first = False
        self.offset += 1
        if not is_negated:
            return _intersection(operands)
        if len(operands) > 1 or operands[0][1]:
            return f"(?:(?!{_intersection(operands)})(?s:.))"
        return f"[^{''.join(operands[0][0])}]"

    def class_escape(self) -> str:
        if match := self.take(_PROPERTY):
            return self.property_(match)
        if self.text.startswith(_NO_MEMBERS, self.offset):
            raise RegexError("an escape that is no character", self.offset)
        escaped = self.escape()
        if escaped.startswith("[^"):
            return _complement(f"[{escaped[2:]}")
        return escaped[1:-1] if escaped.startswith("[") else escaped


def _flag_group(flags: dict[str, bool]) -> str:
    on, off = ("".join(flag for flag in flags if flags[flag] == state) for state in (True, False))
    return f"(?{on}{'-' if off else ''}{off}:"


def _intersection(operands: _Operands) -> str:
    *others, last = [_union("".join(members), nested) for members, nested in operands]
    return f"(?:{''.join(f'(?={other})' for other in others)}{last})" if others else last


def _union(members: str, nested: list[str]) -> str:
    classes = [f"[{members}]", *nested] if members else nested
    return classes[0] if len(classes) == 1 else f"(?:{'|'.join(classes)})"


@lru_cache(maxsize=64)
def _unicode_ranges(name: str) -> str:
    """The characters of a Unicode category such as L or Lu, or else the letters of a script such as Latin.

    The result is the inside of a character class, or "" for an unknown name. A script is the first word of the names of
    its letters.
    """
    all_codes = range(sys.maxunicode + 1)
    codes = [code for code in all_codes if unicodedata.category(chr(code)).startswith(name)]
    if not codes:
        first_words = ("CJK UNIFIED ", "CJK COMPATIBILITY ") if name == "Han" else (f"{name.upper()} ",)
        codes = [code for code in all_codes if unicodedata.name(chr(code), "").startswith(first_words)]
    return _ranges(codes)


@lru_cache(maxsize=64)
def _complement(character_class: str) -> str:
    regex = re.compile(character_class)
    return _ranges([code for code in range(sys.maxunicode + 1) if not regex.match(chr(code))])


def _ranges(codes: list[int]) -> str:
    runs = [list(run) for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"\\U{run[0][1]:08x}-\\U{run[-1][1]:08x}" for run in runs)
