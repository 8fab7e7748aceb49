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

_ASCII_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_UNICODE_NAMES = {"IsAlphabetic": "L", "IsLetter": "L", "IsDigit": "Nd", "IsUppercase": "Lu", "IsLowercase": "Ll"}
_UNICODE_NAMES |= {"IsPunctuation": "P", "javaUpperCase": "Lu", "javaLowerCase": "Ll", "javaLetter": "L"}
_FLAGS = re.compile(r"\(\?([imsxudU]*)(?:-([imsxudU]+))?(\)|:)")
_PYTHON_FLAGS = str.maketrans("", "", "udU")  # Unicode case and line modes change nothing in labels
_NAMED_GROUP = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_REFERENCE = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)([A-Za-z_=]+)\}|([A-Z]))")
_HEX = re.compile(r"\\x\{([0-9a-fA-F]+)\}")
_CONTROL = re.compile(r"\\c(.)", re.DOTALL)
_OCTAL = re.compile(r"\\0([0-3][0-7][0-7]|[0-7][0-7]?)")
_DIGITS = re.compile(r"\\([1-9][0-9]*)")
_REPETITION = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
# Python's own groups, which Java does not know
_UNKNOWN_GROUP = re.compile(r"\(\?(?![:=!>]|<[=!a-zA-Z]|[imsxudU-]*[):])")
_NO_MEMBERS = (r"\A", r"\b", r"\B", r"\G", r"\R", r"\X", r"\z", r"\Z", *(rf"\{digit}" for digit in range(1, 10)))
_HORIZONTAL = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL = r"\n-\r\x85\u2028\u2029"
# \G is the end of the match before this one; a label is searched once
_ANCHORS = {"A": r"\A", "b": r"\b", "B": r"\B", "G": r"\A", "z": r"\Z", "Z": r"(?=\n?\Z)"}
_SPECIAL = {
    "R": rf"(?:\r\n|[{_VERTICAL}])",
    "X": r"(?s:.)",
    "h": f"[{_HORIZONTAL}]",
    "H": f"[^{_HORIZONTAL}]",
    "v": f"[{_VERTICAL}]",
    "V": f"[^{_VERTICAL}]",
    "e": r"\x1b",
}


class RegexError(ValueError):
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


class _Translator:
    """Reads a Java expression from left to right and writes Python's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self.scopes = [""]  # flags that were set in each open group
        self.open_groups: list[int] = []  # the number of each open group; 0 if it does not capture
        self.group_count = 0  # groups that capture
        self.is_atom = False  # whether the last piece can be repeated

    def translate(self) -> str:
        pieces = []
        while self.offset < len(self.text):
            first = self.offset
            pieces.append(self.piece())
            self.is_atom = self.text[first] not in "*+?{|("
        end = "\n" if "x" in self.scopes[-1] else ""  # ends a comment of the flag x
        return "".join(pieces) + end + self.close_scope()

    def take(self, regex: re.Pattern[str]) -> re.Match[str] | None:
        """Reads an expression, if there is one here."""
        match = regex.match(self.text, self.offset)
        self.offset = match.end() if match else self.offset
        return match

    def close_scope(self) -> str:
        return ")" * self.scopes[-1].count("(")

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
            return f"{self.close_scope()}|{self.scopes[-1]}"  # flags in the middle also hold in the next alternatives
        return character

    def repetition(self) -> str:
        match = self.take(_REPETITION)
        if match is None:
            raise RegexError("a repetition is {2}, {2,} or {2,3}; a brace as a character is \\{", self.offset)
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
        minus = (flags[2] or "").translate(_PYTHON_FLAGS)
        opening = f"(?{flags[1].translate(_PYTHON_FLAGS)}{'-' if minus else ''}{minus}:"
        if flags[3] == ":":
            self.open_group(captures=False)
            return opening
        self.scopes[-1] += opening
        return opening

    def open_group(self, *, captures: bool) -> None:
        self.group_count += captures
        self.scopes.append("")
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
        if letter in _ANCHORS:
            return self.anchor(_ANCHORS[letter])
        return _SPECIAL.get(letter, "\\" + letter)

    def anchor(self, text: str) -> str:
        """An anchor; in a group if it is repeated, which Python allows only for groups."""
        is_repeated = self.offset < len(self.text) and self.text[self.offset] in "*+?{"
        return f"(?:{text})" if is_repeated else text

    def property_(self, match: re.Match[str]) -> str:
        r"""The inside of a character class for `\p{...}`."""
        name = match[3] or match[4]
        is_negated = (match[1] == "P") != bool(match[2])
        if name in _ASCII_CLASSES:
            ranges = _complement(f"[{_ASCII_CLASSES[name]}]") if is_negated else _ASCII_CLASSES[name]
        else:
            ranges = _unicode_ranges(_UNICODE_NAMES.get(name, name.removeprefix("Is")), is_negated)
        if not ranges:
            raise RegexError(f"the property {match[0]} is not known", match.start())
        return ranges

    def character_class(self) -> str:
        """Translates `[...]` with its nested classes: a union becomes alternatives, an intersection a lookahead."""
        start = self.offset
        self.offset += 1
        is_negated = self.text.startswith("^", self.offset)
        self.offset += is_negated
        parts = [[""]]  # the operands of an intersection: the members, and the nested classes
        is_first = True
        while not self.text.startswith("]", self.offset) or is_first:
            if self.offset >= len(self.text):
                raise RegexError("a character class without its ']'", start)
            if self.text.startswith("&&", self.offset):
                self.offset += 2
                parts.append([""])
            elif self.text[self.offset] == "[":
                parts[-1].append(self.character_class())
            elif self.text[self.offset] == "\\":
                parts[-1][0] += self.class_escape()
            else:
                character = self.text[self.offset]
                parts[-1][0] += "\\" + character if character in "&~|[]" else character
                self.offset += 1
            is_first = False
        self.offset += 1
        if is_negated and (len(parts) > 1 or len(parts[0]) > 1):
            return f"(?:(?!{_intersection(parts)})(?s:.))"
        return f"[^{parts[0][0]}]" if is_negated else _intersection(parts)

    def class_escape(self) -> str:
        if match := self.take(_PROPERTY):
            return self.property_(match)
        if self.text.startswith(_NO_MEMBERS, self.offset):
            raise RegexError("an escape that is no character", self.offset)
        escaped = self.escape()
        if escaped.startswith("[^"):
            return _complement(f"[{escaped[2:]}")
        return escaped[1:-1] if escaped.startswith("[") else escaped


def _intersection(parts: list[list[str]]) -> str:
    *others, last = [_union(*part) for part in parts]
    return f"(?:{''.join(f'(?={other})' for other in others)}{last})" if others else last


def _union(members: str, *nested: str) -> str:
    classes = [f"[{members}]", *nested] if members else nested
    return classes[0] if len(classes) == 1 else f"(?:{'|'.join(classes)})"


@lru_cache(maxsize=1)
def _categories() -> list[str]:
    return [unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)]


@lru_cache(maxsize=64)
def _unicode_ranges(name: str, is_negated: bool) -> str:
    """The characters of a Unicode category such as L or Lu, or else the letters of a script such as Latin.

    The result is the inside of a character class, or "" for an unknown name. A script is the first word of the names of
    its letters.
    """
    codes = [code for code, category in enumerate(_categories()) if category.startswith(name)]
    if not codes:
        first_words = ("CJK UNIFIED ", "CJK COMPATIBILITY ") if name == "Han" else (f"{name.upper()} ",)
        codes = [code for code in range(sys.maxunicode + 1) if unicodedata.name(chr(code), "").startswith(first_words)]
    if codes and is_negated:
        codes = sorted(set(range(sys.maxunicode + 1)).difference(codes))
    return _ranges(codes)


@lru_cache(maxsize=64)
def _complement(character_class: str) -> str:
    regex = re.compile(character_class)
    return _ranges([code for code in range(sys.maxunicode + 1) if not regex.match(chr(code))])


def _ranges(codes: list[int]) -> str:
    starts = [code for before, code in zip([-2, *codes], codes, strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], -1], strict=False) if after != code + 1]
    return "".join(f"\\U{start:08x}-\\U{end:08x}" for start, end in zip(starts, ends, strict=True))
