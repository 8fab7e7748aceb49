"""Parser of Tsurgeon's operations and scripts.

    operation = "if" "exists" name operation | ("[" operation "]")+
              | ("delete" | "prune" | "coindex") name+ | "excise" name name | "relabel" name new_label
              | ("insert" | "move" | "moveprune") source location | "replace" name (name | tree+)
              | "createSubtree" (label | tree) name [name] | ("adjoin" | "adjoinH" | "adjoinF") tree name
    location  = ("$+" | "$-" | ">" number) name
    tree      = "(" label tree* ")" | word

In a tree, `@` after a label marks the foot, and `=name` names a node; a backslash keeps these characters as they are.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from treecrf.trees.search.edit import EditNode
from treecrf.trees.search.errors import PatternError, SurgeryError
from treecrf.trees.search.java_regex import RegexError, compile_regex
from treecrf.trees.search.operations import (
    Adjoin,
    AuxiliaryTree,
    Coindex,
    CreateSubtree,
    Delete,
    Excise,
    IfExists,
    Insert,
    Location,
    Move,
    Operation,
    Relabel,
    Replace,
    ReplaceInLabel,
)

_TOKEN = re.compile(
    r"\s*(/(?:\\.|[^/\\])*/(?:(?:\\.|[^/\\])*/)?(?=[\s\]]|$)|\|(?:\\.|[^|\\])*\||[()\[\]]|[^\s()\[\]]+)"
)
_LOCATION = re.compile(r"(\$\+|\$-)|>(-?[1-9][0-9]*)")
_COMMENT = re.compile(r"(?<!\\)%.*")
_AUXILIARY_LABEL = re.compile(r"((?:\\.|[^=@\\])*)(@?)(?:=((?:\\.|[^@\\])+?))?(@?)")
_ESCAPED = re.compile(r"\\(.)")
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    offset: int


def parse_operations(texts: Iterable[str], names: Sequence[str]) -> list[Operation]:
    """Parses operations that may refer to the names of a pattern."""
    known = set(names)
    return [operation for text in texts for operation in _OperationParser(text, known).parse()]


def parse_script(script: str) -> list[tuple[str, list[str]]]:
    """Splits a script into patterns and their operations."""
    blocks: list[list[str]] = [[]]
    for line in script.splitlines():
        text = _COMMENT.sub("", line).replace("\\%", "%")
        if text.strip():
            blocks[-1].append(text)
        elif line == text and blocks[-1]:  # a line with only a comment ends no block
            blocks.append([])
    blocks = [block for block in blocks if block]
    if len(blocks) % 2 or not blocks:
        raise SurgeryError(
            f"the script has {len(blocks)} blocks of lines; expected pairs of a pattern and its operations, "
            "with an empty line after each"
        )
    return [("\n".join(pattern), operations) for pattern, operations in zip(blocks[::2], blocks[1::2], strict=True)]


class _OperationParser:
    """A recursive-descent parser of one line."""

    def __init__(self, text: str, names: set[str]) -> None:
        self.text = text
        self.names = names  # grows by the names of auxiliary trees
        self.tokens = self._read_tokens()
        self.position = 0
        self.depth = 0

    def _read_tokens(self) -> list[_Token]:
        tokens, offset = [], 0
        while match := _TOKEN.match(self.text, offset):
            tokens.append(_Token(match[1], match.start(1)))
            offset = match.end()
        return [*tokens, _Token("", len(self.text.rstrip()))]

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def parse(self) -> list[Operation]:
        operations = self.operations()
        if self.token.text:
            raise self.error(f"{self.token.text!r} is one argument too many")
        return operations

    def operations(self) -> list[Operation]:
        if self.token.text != "[":
            return [self.operation()]
        operations: list[Operation] = []
        while self.accept("["):
            self.enter()
            operations += self.operations()
            self.expect("]")
            self.depth -= 1
        return operations

    def operation(self) -> Operation:
        verb = self.take("an operation")
        if verb.text == "if":
            self.expect("exists")
            self.enter()
            return IfExists(self.name(), self.operations())
        parse = _VERBS.get(verb.text)
        if parse is None:
            raise self.error(f"{verb.text!r} is no operation; expected {', '.join([*_VERBS, 'if exists'])}", verb)
        return parse(self)

    def one_or_more_names(self) -> list[str]:
        names = [self.name()]
        while self.token.text not in ("", "]"):
            names.append(self.name())
        return names

    def name(self) -> str:
        token = self.take("the name of a node")
        if token.text not in self.names:
            names = ", ".join(sorted(self.names)) or "none"
            raise self.error(f"the pattern names no node {token.text!r}; its names are {names}", token)
        return token.text

    def source(self) -> str | AuxiliaryTree:
        return self.tree() if self.token.text == "(" else self.name()

    def location(self) -> Location:
        token = self.take("a place: $+ name, $- name, >1 name or >-1 name")
        match = _LOCATION.fullmatch(token.text)
        if match is None:
            raise self.error(f"{token.text!r} is no place; expected $+, $-, >1, >2, ... or >-1, >-2, ...", token)
        return Location(match[1] or ">", int(match[2] or 0), self.name())

    def relabel(self) -> Operation:
        name = self.name()
        token = self.take("a new label")
        if token.text[0] == "|" and len(token.text) > 1:
            return Relabel(name, _unescape(token.text[1:-1]))
        if token.text[0] != "/" or len(token.text) == 1:
            return Relabel(name, token.text)
        regex, *rest = re.findall(r"((?:\\.|[^/\\])*)/", token.text[1:])
        if not rest:
            return Relabel(name, _unescape(regex))
        try:
            return ReplaceInLabel(name, compile_regex(regex), rest[0])
        except RegexError as error:
            raise self.error(f"the regular expression is wrong: {error.reason}", token) from None

    def replace(self) -> Operation:
        name = self.name()
        sources = [self.source()]
        while self.token.text == "(":
            sources.append(self.tree())
        return Replace(name, sources)

    def create_subtree(self) -> Operation:
        if self.token.text == "(":
            tree = self.tree(needs_foot=True)
        else:
            root = EditNode(self.take("a label").text, [])
            tree = AuxiliaryTree(root, root, {})
        first = self.name()
        return CreateSubtree(tree, first, self.name() if self.token.text not in ("", "]") else first)

    def adjoin(self, keeps: str = "") -> Operation:
        return Adjoin(self.tree(needs_foot=True), self.name(), keeps)

    def tree(self, *, needs_foot: bool = False) -> AuxiliaryTree:
        start = self.token
        feet: list[EditNode] = []
        names: dict[str, EditNode] = {}
        if start.text != "(":
            raise self.error(f"expected a tree in brackets, found {start.text!r}")
        root = self.tree_node(feet, names)
        if len(feet) != needs_foot:
            expected = "one label with '@', the foot" if needs_foot else "no label with '@'"
            raise self.error(f"expected {expected}, found {len(feet)} in the tree", start)
        self.names.update(names)
        return AuxiliaryTree(root, feet[0] if feet else None, names)

    def tree_node(self, feet: list[EditNode], names: dict[str, EditNode]) -> EditNode:
        is_word = not self.accept("(")
        token = self.take("a label")
        match = _AUXILIARY_LABEL.fullmatch(token.text)
        if match is None:
            raise self.error(f"{token.text!r} is no label; expected a label with '@' or '=name' at its end", token)
        children = []
        self.enter()
        while not is_word and not self.accept(")"):
            children.append(self.tree_node(feet, names))
        self.depth -= 1
        is_foot = bool(match[2] or match[4])
        node = EditNode(_unescape(match[1]), children, is_word=is_word and not is_foot)
        if is_foot:
            feet.append(node)
        if match[3]:
            names[match[3]] = node
        return node

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"the operation is nested more than {MAX_DEPTH} levels deep")

    def accept(self, text: str) -> bool:
        is_next = self.token.text == text
        self.position += is_next
        return is_next

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self.token.text or 'the end of the line'!r}")

    def take(self, expectation: str) -> _Token:
        token = self.token
        if not token.text or token.text in ")[]":
            raise self.error(f"expected {expectation}, found {token.text or 'the end of the line'!r}")
        self.position += 1
        return token

    def error(self, reason: str, token: _Token | None = None) -> PatternError:
        return PatternError(reason, self.text, (token or self.token).offset)


_VERBS: dict[str, Callable[[_OperationParser], Operation]] = {
    "delete": lambda parser: Delete(parser.one_or_more_names()),
    "prune": lambda parser: Delete(parser.one_or_more_names(), prunes=True),
    "excise": lambda parser: Excise(parser.name(), parser.name()),
    "relabel": _OperationParser.relabel,
    "insert": lambda parser: Insert(parser.source(), parser.location()),
    "move": lambda parser: Move(parser.name(), parser.location()),
    "moveprune": lambda parser: Move(parser.name(), parser.location(), prunes=True),
    "replace": _OperationParser.replace,
    "createSubtree": _OperationParser.create_subtree,
    "adjoin": _OperationParser.adjoin,
    "adjoinH": lambda parser: parser.adjoin("head"),
    "adjoinF": lambda parser: parser.adjoin("foot"),
    "coindex": lambda parser: Coindex(parser.one_or_more_names()),
}


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
