"""Changes of trees with Tsurgeon's operations: a pattern finds nodes, and operations change the tree there.

    operation = "if" "exists" name operation | ("[" operation "]")+
              | ("delete" | "prune" | "coindex") name+ | "excise" name name | "relabel" name new_label
              | ("insert" | "move" | "moveprune") source location | "replace" name (name | tree+)
              | "createSubtree" (label | tree) name [name] | ("adjoin" | "adjoinH" | "adjoinF") tree name
    location  = ("$+" | "$-" | ">" number) name
    tree      = "(" label tree* ")" | word

In a tree, `@` after a label marks the foot, and `=name` names a node; a backslash keeps these characters as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from treecrf.trees.search import operations as ops
from treecrf.trees.search.java_regex import RegexError, compile_regex
from treecrf.trees.search.operations import AuxiliaryTree, EditNode, EditState, Growth, Location, Operation
from treecrf.trees.search.pattern import Match, Pattern
from treecrf.trees.search.tokens import PatternToken, SurgeryError, TokenParser, shorten, to_int
from treecrf.trees.tree import Tree

MAX_CHANGES = 1000  # changes of one tree by one surgery
_TOKEN = re.compile(r"/(?:\\.|[^/\\])*/(?:(?:\\.|[^/\\])*/)?(?=[\s\]]|$)|\|(?:\\.|[^|\\])*\||[()\[\]]|[^\s()\[\]]+")
_LOCATION = re.compile(r"(\$\+|\$-)|>(-?[1-9][0-9]*)")
_COMMENT = re.compile(r"(?<!\\)%.*")
_AUXILIARY_LABEL = re.compile(r"((?:\\.|[^=@\\])*)(@?)(?:=((?:\\.|[^@\\])+?))?(@?)")
_NEW_LABEL = re.compile(r"/((?:\\.|[^/\\])*)/(?:((?:\\.|[^/\\])*)/)?")
_unescape: Callable[[str], str] = partial(re.compile(r"\\(.)").sub, r"\1")


class Surgery:
    """A pattern and the operations at its matches.

    The first match is changed, then the new tree is searched again, until nothing matches. The pattern must therefore
    not match its own result.

    >>> tree = Tree.parse("(S (NP (NN cat) (PP (IN of) (NP (NNP Kim)))) (VP (VBD sat)))")
    >>> print(Surgery("NP < PP=p", "delete p").apply(tree))
    (S (NP (NN cat)) (VP (VBD sat)))
    """

    def __init__(self, pattern: "str | Pattern", operations: "str | Sequence[str]") -> None:
        self.pattern = Pattern(pattern) if isinstance(pattern, str) else pattern
        texts = operations.splitlines() if isinstance(operations, str) else operations
        names = set(self.pattern.names)
        parsers = [_OperationParser(text, names) for text in texts if text.strip()]
        self.operations = [operation for parser in parsers for operation in parser.parse()]
        if not self.operations:
            raise SurgeryError(f"no operation for the pattern {self.pattern.text!r}")

    def apply(self, tree: Tree, growth: Growth | None = None) -> Tree | None:
        """Returns the changed tree, or None if the operations deleted it; surgeries may share the limit of `growth`."""
        growth = growth or Growth()
        for _ in range(MAX_CHANGES):
            match = self.pattern.first(tree)
            if match is None:
                return tree
            changed = self._change(tree, match, growth)
            if changed is None:
                return None
            if changed == tree:
                raise SurgeryError(self._message("the operations change nothing, and the pattern would match forever"))
            tree = changed
        raise SurgeryError(self._message(f"the pattern still matches after {MAX_CHANGES} changes of one tree"))

    def _change(self, tree: Tree, match: Match, growth: Growth) -> Tree | None:
        nodes = ops.to_edit_nodes(tree)
        names = {name: nodes[position] for name, position in match.positions.items()}
        state = EditState(nodes[0], names, match.variables, growth)
        try:
            ops.apply_all(self.operations, state)
            return None if state.root is None else ops.to_tree(state.root)
        except SurgeryError as error:
            raise SurgeryError(self._message(str(error))) from None

    def _message(self, reason: str) -> str:
        return f"surgery at {shorten(self.pattern.text)!r}: {reason}"


def read_surgeries(script: str) -> list[Surgery]:
    r"""Reads the surgeries of a script: a pattern, an empty line, operations, an empty line, and so on.

    `%` starts a comment; a percent sign in a pattern is `\%`.
    """
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
    pairs = zip(blocks[::2], blocks[1::2], strict=True)
    return [Surgery("\n".join(pattern), operations) for pattern, operations in pairs]


def apply_surgeries(tree: Tree, surgeries: Iterable[Surgery]) -> Tree | None:
    """Applies surgeries one after the other; None if one deletes the tree."""
    growth = Growth()
    for surgery in surgeries:
        changed = surgery.apply(tree, growth)
        if changed is None:
            return None
        tree = changed
    return tree


class _OperationParser(TokenParser):
    """A parser of one line; a token is its own kind."""

    subject = "operation"
    kinds = (("mark", _TOKEN),)

    def __init__(self, text: str, names: set[str]) -> None:
        super().__init__(text)
        self.names = names  # grows by the names of auxiliary trees

    def parse(self) -> list[Operation]:
        operations = self.operations()
        if self.token.text:
            raise self.error(f"{self.token.text!r} is one argument too many")
        return operations

    def operations(self) -> list[Operation]:
        if self.token.text != "[":
            return [self.operation()]
        operations: list[Operation] = []
        while self.token.text == "[":
            operations += self.in_brackets("]", self.operations)
        return operations

    def operation(self) -> Operation:
        verb = self.take("an operation")
        if verb.text == "if":
            self.expect("exists")
            return partial(ops.if_exists, self.name(), self.nested(self.operations))
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
        return Location(match[1] or ">", to_int(match[2] or "0"), self.name())

    def relabel(self) -> Operation:
        name = self.name()
        token = self.take("a new label")
        if token.text[0] == "|" and len(token.text) > 1:
            return partial(ops.relabel, name, _unescape(token.text[1:-1]))
        if token.text[0] != "/" or len(token.text) == 1:
            return partial(ops.relabel, name, token.text)
        match = _NEW_LABEL.fullmatch(token.text)
        if match is None:
            raise self.error("expected a label between slashes, or an expression and its replacement: /VB/V/", token)
        if match[2] is None:
            return partial(ops.relabel, name, _unescape(match[1]))
        try:
            regex = compile_regex(match[1])
        except RegexError as error:
            raise self.error(f"the regular expression is wrong: {error.reason}", token) from None
        for part in ops.REPLACEMENT.finditer(match[2]):
            if to_int(part[1] or "0") > regex.groups:
                raise self.error(f"group {part[1]} does not exist; the expression has {regex.groups}", token)
        return partial(ops.replace_in_label, name, regex, match[2])

    def replace(self) -> Operation:
        name = self.name()
        sources = [self.source()]
        while self.token.text == "(":
            sources.append(self.tree())
        return partial(ops.replace, name, sources)

    def create_subtree(self) -> Operation:
        if self.token.text == "(":
            tree = self.tree(needs_foot=True)
        else:
            root = EditNode(self.take("a label").text, [])
            tree = AuxiliaryTree(root, root, {})
        first = self.name()
        last = self.name() if self.token.text not in ("", "]") else first
        return partial(ops.create_subtree, tree, first, last)

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
        children: list[EditNode] = []
        if not is_word:
            children = self.nested(lambda: list(self.child_nodes(feet, names)))
        is_foot = bool(match[2] or match[4])
        node = EditNode(_unescape(match[1]), children, is_word=is_word and not is_foot)
        if is_foot:
            feet.append(node)
        if match[3]:
            names[match[3]] = node
        return node

    def child_nodes(self, feet: list[EditNode], names: dict[str, EditNode]) -> Iterator[EditNode]:
        while not self.accept(")"):
            yield self.tree_node(feet, names)

    def take(self, expectation: str) -> PatternToken:
        """Takes a token that is no closing bracket."""
        if self.token.text in ("", ")", "[", "]"):
            raise self.error(f"expected {expectation}, found {self.found()}")
        return self.expect(self.token.kind, expectation)


_VERBS: dict[str, Callable[[_OperationParser], Operation]] = {
    "delete": lambda parser: partial(ops.delete, parser.one_or_more_names()),
    "prune": lambda parser: partial(ops.delete, parser.one_or_more_names(), prunes=True),
    "excise": lambda parser: partial(ops.excise, parser.name(), parser.name()),
    "relabel": _OperationParser.relabel,
    "insert": lambda parser: partial(ops.insert, parser.source(), parser.location()),
    "move": lambda parser: partial(ops.move, parser.name(), parser.location()),
    "moveprune": lambda parser: partial(ops.move, parser.name(), parser.location(), prunes=True),
    "replace": _OperationParser.replace,
    "createSubtree": _OperationParser.create_subtree,
    "adjoin": lambda parser: partial(ops.adjoin, parser.tree(needs_foot=True), parser.name()),
    "adjoinH": lambda parser: partial(ops.adjoin, parser.tree(needs_foot=True), parser.name(), keeps="head"),
    "adjoinF": lambda parser: partial(ops.adjoin, parser.tree(needs_foot=True), parser.name(), keeps="foot"),
    "coindex": lambda parser: partial(ops.coindex, parser.one_or_more_names()),
}
