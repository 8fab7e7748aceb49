"""Parser of Tregex's pattern language: text becomes a tree of node patterns and coordinations.

pattern     = node_tree ("|" node_tree)*
node_tree   = "(" node_tree ")" [relations] | description [relations]
node        = "(" node_tree ")" | description
description = ["!"] ["@"] (label ("#" number "%" variable)* ["=" name] | "~" name ["=" name] | "=" name)
relations   = conjunction ("|" conjunction)*
conjunction = modified (["&"] modified)*
modified    = "!" modified | ["?"] ("[" relations "]" | "(" relations ")" | relation)
relation    = symbol [number] node | path_symbol path_label node | "<..." "{" node (";" node)* "}"
"""

from dataclasses import dataclass, replace
from typing import Literal

from treecrf.trees.search.java_regex import RegexError
from treecrf.trees.search.labels import Label, LabelKind, label_test
from treecrf.trees.search.relations import NUMBERED, SYNONYMS
from treecrf.trees.search.tokens import PatternToken, TokenParser, to_int

MAX_NODES = 150  # descriptions in a pattern; the matchers recurse over them
MAX_GROUP = 99  # the highest group number of a label that is not a regular expression
MAX_GROUPS = 50  # groups that set variables; each needs a table of the labels
_MAX_CHILD = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation: its symbol without synonyms, the child's number for `<i` and `>i`, and the label of a path."""

    symbol: str
    number: int = 0
    path: Label | None = None


@dataclass(frozen=True, slots=True)
class NodePattern:
    """A description of a node, its relation to the node before it, and the relations to nodes after it."""

    relation: Relation
    label: Label
    name: str | None = None
    child: "Expression | None" = None
    is_negated: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Coordination:
    """A conjunction or a disjunction of relations; at the root, a disjunction of nodes."""

    kind: Literal["and", "or"]
    children: "tuple[Expression, ...]"
    is_negated: bool = False
    is_optional: bool = False


Expression = NodePattern | Coordination

_ROOT = Relation("==")  # the node itself
_LABELS: dict[str, LabelKind] = {"literal": "literal", "regex": "regex", "any": "any", "root": "root"}
_PATH_LABELS: dict[str, LabelKind] = {"literal": "path_literal", "regex": "path_regex", "any": "any"}
_RELATION_STARTS = {"relation", "sequence", "path", "!", "?", "[", "("}
_NODE_STARTS = {"(", "!", "@", "~", "=", *_LABELS}


def parse_pattern(pattern: str) -> Expression:
    """Parses a pattern; an error is a `PatternError` with the place."""
    return _PatternParser(pattern).parse()


class _PatternParser(TokenParser):
    """A recursive-descent parser with two tokens of lookahead."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.node_count = 0
        self.group_count = 0
        self.names: set[str] = set()  # declared so far
        self.is_under_negation = False

    def parse(self) -> Expression:
        nodes = [self.node_tree(_ROOT)]
        while self.token.kind == "|" and self.tokens[self.position + 1].kind in _NODE_STARTS:
            self.position += 1
            nodes.append(self.node_tree(_ROOT))
        if self.token.kind == "&":
            raise self.error("'&' stands between relations, such as NP < DT & < NN; found it after a node")
        self.expect("end", "a relation, or the end of the pattern")
        return nodes[0] if len(nodes) == 1 else Coordination("or", tuple(nodes))

    def node_tree(self, relation: Relation) -> NodePattern:
        if self.token.kind != "(":
            return self.add_relations(self.description(relation))
        opening = self.token
        node = self.in_brackets(")", lambda: self.node_tree(relation))
        if node.child is None and self.token.kind in _RELATION_STARTS:
            # Tregex refuses this too: its conjunction needs relations inside and outside of the brackets
            raise self.error("a node without relations in brackets; remove the brackets", opening)
        return self.add_relations(node)

    def add_relations(self, node: NodePattern) -> NodePattern:
        if self.token.kind not in _RELATION_STARTS:
            return node
        child = self.relations()
        return replace(node, child=child if node.child is None else Coordination("and", (node.child, child)))

    def node(self, relation: Relation) -> NodePattern:
        if self.token.kind == "(":
            return self.in_brackets(")", lambda: self.node_tree(relation))
        return self.description(relation)

    def description(self, relation: Relation) -> NodePattern:
        self.node_count += 1
        if self.node_count > MAX_NODES:
            raise self.error(f"the pattern describes more than {MAX_NODES} nodes")
        is_negated = self.accept("!") is not None
        is_basic = self.accept("@") is not None
        token = self.token
        if token.kind == "=":
            self.position += 1
            return NodePattern(relation, Label("reference", self.reference()))
        if token.kind == "~":
            self.position += 1
            label = Label("link", self.reference(), is_basic=is_basic)
            return NodePattern(relation, label, self.name() if self.accept("=") else None)
        kind = _LABELS.get(token.kind)
        if kind is None:
            raise self.error(f"expected a label, found {self.found()}")
        self.position += 1
        groups = []
        while self.accept("#"):
            groups.append(self.group())
        label = Label(kind, _label_text(token), is_negated=is_negated, is_basic=is_basic, groups=tuple(groups))
        self.check_label(label, token)
        name = None
        if self.accept("="):
            if self.is_under_negation:
                raise self.error("a node under '!' cannot have a name: no node matches it")
            name = self.name()
        return NodePattern(relation, label, name)

    def group(self) -> tuple[int, str]:
        number = to_int(self.expect("number", "the number of a group, as in #1%x").text)
        self.group_count += 1
        if self.group_count > MAX_GROUPS:
            raise self.error(f"the pattern sets variables more than {MAX_GROUPS} times")
        self.expect("%", "'%' and the name of a variable, as in #1%x")
        return number, self.expect("literal", "the name of a variable").text

    def check_label(self, label: Label, token: PatternToken) -> None:
        try:
            test = label_test(label)
        except RegexError as error:
            place = PatternToken("", "", token.offset + 1 + error.offset)
            raise self.error(f"the regular expression is wrong: {error.reason}", place) from None
        if label.groups and label.is_negated:
            raise self.error("a label with '!' cannot set a variable: it has no matching group", token)
        group_count = test.regex.groups if test.regex else MAX_GROUP
        for number, _ in label.groups:
            if not 0 <= number <= group_count:
                raise self.error(f"group {number} does not exist; the label has {group_count}", token)

    def name(self) -> str:
        token = self.expect("literal", "a name")
        if token.text in self.names:
            raise self.error(f"the name {token.text!r} is declared twice; a reference has no label: =name", token)
        self.names.add(token.text)
        return token.text

    def reference(self) -> str:
        token = self.expect("literal", "a name")
        if token.text not in self.names:
            raise self.error(f"no node before this one has the name {token.text!r}", token)
        return token.text

    def relations(self) -> Expression:
        """Parses a disjunction; a name that one alternative declares is unknown in the others."""
        names_before = set(self.names)
        children = [self.conjunction()]
        all_names = set(self.names)
        while self.token.kind == "|" and self.tokens[self.position + 1].kind in _RELATION_STARTS:
            self.position += 1
            self.names = set(names_before)
            children.append(self.conjunction())
            all_names |= self.names
        self.names = all_names
        return children[0] if len(children) == 1 else Coordination("or", tuple(children))

    def conjunction(self) -> Expression:
        children = [self.modified()]
        while self.token.kind == "&" or self.token.kind in _RELATION_STARTS:
            self.accept("&")
            children.append(self.modified())
        return children[0] if len(children) == 1 else Coordination("and", tuple(children))

    def modified(self) -> Expression:
        token = self.token
        if self.accept("!"):
            was_under_negation, self.is_under_negation = self.is_under_negation, True
            child = self.nested(self.modified)
            self.is_under_negation = was_under_negation
            child = replace(child, is_negated=True)
        elif self.accept("?"):
            child = replace(self.relation_or_brackets(), is_optional=True)
        else:
            child = self.relation_or_brackets()
        if child.is_negated and child.is_optional:
            raise self.error("a relation cannot be optional ('?') and negated ('!')", token)
        return child

    def relation_or_brackets(self) -> Expression:
        if self.token.kind in ("[", "("):
            return self.in_brackets("]" if self.token.kind == "[" else ")", self.relations)
        return self.relation()

    def relation(self) -> Expression:
        token = self.token
        if token.kind == "path":
            self.position += 1
            return self.node(Relation(token.text, path=self.path_label()))
        if token.kind == "sequence":
            self.position += 1
            return self.sequence(token)
        self.expect("relation", "a relation")
        if self.token.kind == "number":
            return self.node(self.numbered(token))
        symbol, number = SYNONYMS.get(token.text, (token.text, 0))
        return self.node(Relation(symbol, number))

    def numbered(self, symbol: PatternToken) -> Relation:
        number = self.expect("number", "a number")
        text = symbol.text
        digits = f"-{number.text}" if text.endswith("-") else number.text
        text = text.removesuffix("-")
        if text not in NUMBERED:
            raise self.error(f"the relation {symbol.text!r} takes no number; only < and > do", number)
        child = to_int(digits)
        if digits.startswith("--") or child == 0 or abs(child) > _MAX_CHILD:
            raise self.error(f"{digits} is not the number of a child; expected 1, 2, ... or -1, -2, ...", number)
        return Relation(NUMBERED[text], child)

    def path_label(self) -> Label:
        """Parses the label of a path: in brackets, or a bare regular expression."""
        closing = {"(": ")", "[": "]"}.get(self.token.kind)
        if closing:
            self.position += 1
        is_negated = self.accept("!") is not None
        is_basic = closing is not None and self.accept("@") is not None
        token = self.token
        if token.kind not in _PATH_LABELS or (closing is None and token.kind != "regex"):
            raise self.error(f"expected the label of a path in brackets, as in <+(NP), found {self.found()}")
        self.position += 1
        label = Label(_PATH_LABELS[token.kind], _label_text(token), is_negated=is_negated, is_basic=is_basic)
        self.check_label(label, token)
        if closing:
            self.expect(closing, f"{closing!r} after the label of the path")
        return label

    def sequence(self, symbol: PatternToken) -> Expression:
        """Parses `<... { A ; B }`: the children are exactly A and B."""
        self.expect("{", "'{' and the children, as in <... { DT ; NN }")
        if self.token.kind == "}":
            raise self.error("'<...' needs at least one child", symbol)
        children = [self.node(Relation(NUMBERED["<"], 1))]
        while self.accept(";"):
            children.append(self.node(Relation(NUMBERED["<"], len(children) + 1)))
        self.expect("}", "';' or '}' with a space before it")
        end = NodePattern(Relation(NUMBERED["<"], len(children) + 1), Label("any", "__"), is_negated=True)
        return Coordination("and", (*children, end))


def _label_text(token: PatternToken) -> str:
    return token.text[1:-1] if token.kind == "regex" else token.text
