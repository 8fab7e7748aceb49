"""Clauses, T-units and noun phrases of English trees in the style of the Penn Treebank.

They are patterns with names; `Tree.search` finds what they do not. Labels may have function tags.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from treecrf.config import read_data
from treecrf.trees.search.labels import basic_category
from treecrf.trees.search.pattern import Match, search_tree
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.splitter import ROOTS

Role = Literal["main", "subordinate", "relative"]

_PATTERNS: dict[str, str] = {}
for _name, _text in read_data(__file__).items():
    _PATTERNS[_name] = _text.format(**_PATTERNS)
_SUBJECTS = [_name for _name in _PATTERNS if _name.startswith("subject")]


@dataclass(frozen=True)
class Clause:
    """A clause over `words[start:end]`, with its subject and its main verbs, several if they are coordinated.

    The role of a clause is "relative" if it modifies a noun, "subordinate" if it is inside of another clause or of an
    SBAR, and "main" otherwise. The subject of "who left" is the wh-phrase. Verbs are preterminals. In a tree with
    functions, the subject has SBJ; for an empty subject, it is the constituent with its index.
    """

    node: Tree
    start: int
    end: int
    role: Role
    is_finite: bool
    subject: Tree | None
    verbs: tuple[Tree, ...]

    @property
    def verb(self) -> Tree | None:
        """The first main verb."""
        return next(iter(self.verbs), None)


def clauses(tree: Tree) -> list[Clause]:
    """The clauses of a tree, from outer to inner ones and from left to right.

    A clause is an S, SINV or SQ with a verb phrase or a finite verb as a child. An S that only coordinates clauses is
    none. Imperatives and subjunctives are finite.

    >>> tree = Tree.parse(
    ...     "(S (NP (PRP I)) (VP (VBP know) (NP (NP (DT the) (NN man)) "
    ...     "(SBAR (WHNP (WP who)) (S (VP (VBD tried) (S (VP (TO to) (VP (VB call))))))))))"
    ... )
    >>> for clause in clauses(tree):
    ...     print(clause.role, clause.is_finite, clause.subject, clause.verb)
    main True (NP (PRP I)) (VBP know)
    relative True (WHNP (WP who)) (VBD tried)
    subordinate False None (VB call)
    """
    tree = _with_root(tree)
    finite, embedded, relative = (
        {match.position for match in search_tree(tree, f"{_PATTERNS['clause']} {_PATTERNS[condition]}")}
        for condition in ("is_finite", "is_embedded", "is_relative")
    )
    subjects = _subjects(tree)
    results: list[Clause] = []
    for position, match in _distinct(tree, _PATTERNS["clause"]).items():
        role: Role = "main"
        if position in embedded:
            role = "relative" if position in relative else "subordinate"
        node = match.node
        assert isinstance(node, Tree)
        start, end = match.span
        results.append(Clause(node, start, end, role, position in finite, subjects.get(position), _main_verbs(node)))
    return results


def t_units(tree: Tree) -> list[Tree]:
    """The T-units of a tree: main clauses with everything that depends on them (Hunt 1965), by the rules of Lu (2010).

    A sentence fragment is a T-unit if it contains no other.

    >>> tree = Tree.parse(
    ...     "(S (S (NP (PRP We)) (VP (VBD left))) (CC and) (S (NP (PRP they)) (VP (VBD stayed))))"
    ... )
    >>> [" ".join(unit.words) for unit in t_units(tree)]
    ['We left', 'they stayed']
    """
    tree = _with_root(tree)
    units = _distinct(tree, _PATTERNS["t_unit"]) | _distinct(tree, _PATTERNS["fragment"])
    # in the rules, a coordination stands for its first conjunct
    coordinations = search_tree(tree, _PATTERNS["coordination"])
    first_conjuncts = {match.position: match.positions["first"] for match in coordinations}
    nodes = []
    for position, match in units.items():
        while position in first_conjuncts:
            position = first_conjuncts[position]
        nodes.append(match.forest.subtree(position))
    return [node for node in nodes if isinstance(node, Tree)]


def noun_phrases(tree: Tree, *, maximal: bool = True) -> list[Tree]:
    """The noun phrases of a tree that are not inside of another one; without `maximal`, all of them.

    >>> tree = Tree.parse("(S (NP (NP (DT the) (NN man)) (PP (IN on) (NP (DT the) (NN hill)))) (VP (VBD left)))")
    >>> [" ".join(phrase.words) for phrase in noun_phrases(tree)]
    ['the man on the hill']
    >>> [" ".join(phrase.words) for phrase in noun_phrases(tree, maximal=False)]
    ['the man on the hill', 'the man', 'the hill']
    """
    nodes = [match.node for match in search_tree(tree, "@NP !>> @NP" if maximal else "@NP")]
    return [node for node in nodes if isinstance(node, Tree)]


def _with_root(tree: Tree) -> Tree:
    return tree if tree.label in ROOTS else Tree("TOP", (tree,))


def _distinct(tree: Tree, pattern: str) -> dict[int, Match]:
    """The first match of each node, by its position."""
    matches: dict[int, Match] = {}
    for match in search_tree(tree, pattern):
        matches.setdefault(match.position, match)
    return matches


def _subjects(tree: Tree) -> dict[int, Tree]:
    subjects: dict[int, Tree] = {}
    nodes = list(tree.walk())
    has_functions = any("SBJ" in node.functions for node in nodes)
    antecedents: dict[int | None, Tree] = {
        node.index: node for node in reversed(nodes) if not node.is_leaf and node.index is not None
    }
    for name in ["tagged_subject", "subject_5"] if has_functions else _SUBJECTS:
        for match in search_tree(tree, _PATTERNS[name]):
            found = match["subject"]
            if isinstance(found, Tree) and (subject := _with_words(found, antecedents)):
                is_comma_last = len(subject.children) > 1 and subject.child_trees[-1].label == ","
                subjects.setdefault(match.position, Tree(subject.label, subject[:-1]) if is_comma_last else subject)
    return subjects


def _with_words(node: Tree, antecedents: Mapping[int | None, Tree]) -> Tree | None:
    """The node, or the constituent with words that its empty element stands for; None if there is none."""
    visited: list[Tree] = []
    while not node.words:
        empty = node.empties()[0]
        if empty.index not in antecedents or any(node is other for other in visited):
            return None
        visited.append(node)
        node = antecedents[empty.index]
    return node


def _main_verbs(phrase: Tree) -> tuple[Tree, ...]:
    """The verbs of the innermost verb phrases; after a coordinator, more verbs and verb phrases are conjuncts."""
    verbs: list[tuple[Tree, ...]] = [()]
    is_coordination = any(child.label in ("CC", "CONJP") for child in phrase.child_trees)
    for child in phrase.child_trees:
        if is_coordination and child.label in ("CC", "CONJP", ",") and verbs[-1]:
            verbs.append(())
        elif child.is_leaf and child.label.startswith(("VB", "MD")):
            verbs[-1] = (child,)
        elif basic_category(child.label) == "VP" and (inner := _main_verbs(child)):
            verbs[-1] = inner
    return tuple(verb for conjunct in verbs for verb in conjunct)
