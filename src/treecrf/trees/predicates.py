"""Predicates of English trees with their arguments: who did what, when and where.

Arguments come from functions (-SBJ, -TMP, -LOC) and empty elements, which are resolved through their indices, so that
passives, relative clauses, control and questions have the arguments that the words alone do not show. In a tree without
functions, the subject is the last noun phrase before the verb phrase, and times and places are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treecrf.trees.placed_nodes import PlacedNode, place_nodes
from treecrf.trees.tree import Tree

_VERBS = frozenset(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"))
_VERB_PHRASES = frozenset(("VP", "SQ", "SINV"))
_OBJECTS = frozenset(("NP", "WHNP", "S", "SBAR", "SBARQ", "SINV", "SQ", "QP"))
_OBJECT_FUNCTIONS = frozenset(("CLR", "DTV", "NOM", "TPC", "TTL", "CLF"))
_PLACES = frozenset(("LOC", "DIR", "PUT"))
_NOUN_PHRASES = frozenset(("NP", "NML", "NX"))
_PASSIVE_AUXILIARIES = frozenset(("be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m"))
_PASSIVE_AUXILIARIES |= {"get", "gets", "got", "getting", "gotten"}


class Argument(NamedTuple):
    """A phrase over `words[start:end]`."""

    start: int
    end: int
    text: str


class Predicate(NamedTuple):
    """A verb with its arguments; empty elements are replaced by the phrases that they stand for."""

    position: int  # the number of the verb among the words
    text: str  # with its particle: "gave up"
    is_passive: bool
    subject: Argument | None  # None if it is not expressed
    agent: Argument | None  # the noun phrase after "by" in a passive
    objects: tuple[Argument, ...]  # noun phrases and clauses
    attribute: Argument | None  # "ready" in "she is ready"
    times: tuple[Argument, ...]
    places: tuple[Argument, ...]


def predicates(tree: Tree) -> list[Predicate]:
    """The predicates of an English tree, in the order of their verbs.

    >>> tree = Tree.parse(
    ...     "(S (NP-SBJ-1 (DT The) (NN vote)) (VP (VBD was) (VP (VBN held) (NP (-NONE- *-1)) (NP-TMP (NNP May)))))"
    ... )
    >>> [(verb.text, verb.is_passive, verb.subject.text, verb.times[0].text) for verb in predicates(tree)]
    [('held', True, 'The vote', 'May')]
    """
    sentence = _Sentence(tree)
    verbs = (verb for phrase in sentence.nodes if _is_predicate_phrase(phrase) for verb in sentence.verbs(phrase))
    return sorted(verbs, key=lambda verb: verb.position)


def _is_predicate_phrase(phrase: PlacedNode) -> bool:
    categories = {child.tree.category for child in phrase.children}
    return phrase.tree.category in _VERB_PHRASES and bool(categories & _VERBS) and "VP" not in categories


class _Sentence:
    def __init__(self, tree: Tree) -> None:
        self.nodes = place_nodes(tree)
        self._words = tree.words
        self._has_functions = any(node.tree.functions for node in self.nodes)
        indexed = [node for node in self.nodes if not node.tree.is_leaf and node.tree.index is not None]
        self._antecedents = {node.tree.index: node for node in reversed(indexed)}

    def verbs(self, phrase: PlacedNode) -> Iterator[Predicate]:
        chain = [phrase, *_enclosing(phrase)]  # verb phrases up to the clause
        adjuncts = [child for node in chain for child in node.children if child.tree.functions]
        particles = [self._words[child.start] for child in phrase.children if child.tree.category == "PRT"]
        for verb in phrase.children:
            if verb.tree.category in _VERBS:
                is_passive = verb.tree.label == "VBN" and _is_passive(phrase)
                yield Predicate(
                    verb.start,
                    " ".join([self._words[verb.start], *particles]),
                    is_passive,
                    self._subject(chain),
                    self._agent(phrase) if is_passive else None,
                    tuple(self._objects(phrase)),
                    next(self._arguments(adjuncts, frozenset(["PRD"])), None),
                    tuple(dict.fromkeys(self._arguments(adjuncts, frozenset(["TMP"])))),
                    tuple(dict.fromkeys(self._arguments(adjuncts, _PLACES))),
                )

    def _arguments(self, nodes: list[PlacedNode], functions: frozenset[str]) -> Iterator[Argument]:
        """The phrases with one of these functions, in the order of the words."""
        phrases = (self._argument(node) for node in nodes if functions & {*node.tree.functions})
        yield from sorted(phrase for phrase in phrases if phrase)

    def _argument(self, node: PlacedNode) -> Argument | None:
        """The phrase that a node is or stands for; None if the sentence does not have it."""
        phrase = self._resolve(node)
        if phrase is None:
            return None
        return Argument(phrase.start, phrase.end, " ".join(self._words[phrase.start : phrase.end]))

    def _resolve(self, node: PlacedNode) -> PlacedNode | None:
        visited: set[int] = set()
        while True:
            if id(node) in visited:
                return None
            visited.add(id(node))
            head = _relative_head(node)
            if head is not None:
                node = head
                continue
            if node.start < node.end:
                return node
            antecedent = self._antecedents.get(_empty_index(node))
            if antecedent is None:
                return None
            node = antecedent

    def _subject(self, chain: list[PlacedNode]) -> Argument | None:
        clause = chain[-1]
        if clause.tree.category in _NOUN_PHRASES:  # a reduced relative clause: "the vote held in May"
            head = next((child for child in clause.children if child.tree.category in _NOUN_PHRASES), None)
            return self._argument(head) if head else None
        subjects = [child for node in chain for child in node.children if "SBJ" in child.tree.functions]
        if subjects or self._has_functions:
            return self._argument(subjects[0]) if subjects else None
        verb = next((child for child in clause.children if child.tree.category in ("VP", *_VERBS)), None)
        start = verb.start if verb else clause.end
        nouns = [child for child in clause.children if child.tree.category == "NP"]
        if clause.tree.category == "SQ":
            return self._argument(nouns[0]) if nouns else None
        before = [child for child in nouns if child.start < start] or (nouns if clause.tree.category == "SINV" else [])
        return self._argument(before[-1]) if before else self._plain_relative_subject(clause)

    def _plain_relative_subject(self, clause: PlacedNode) -> Argument | None:
        """The noun phrase that a relative clause without a subject modifies: "a vote that failed"."""
        siblings = clause.parent.children if clause.parent else []
        pronouns = [sibling for sibling in siblings if sibling.tree.category == "WHNP"]
        return self._argument(pronouns[0]) if pronouns else None

    def _objects(self, phrase: PlacedNode) -> Iterator[Argument]:
        for child in phrase.children:
            functions = {*child.tree.functions}
            is_dative = child.tree.category == "PP" and "DTV" in functions
            if is_dative or (child.tree.category in _OBJECTS and functions <= _OBJECT_FUNCTIONS):
                is_clause_subject = phrase.tree.category != "VP" and not self._has_functions
                argument = None if _kind(child) == "*" or is_clause_subject else self._argument(child)
                if argument:
                    yield argument

    def _agent(self, phrase: PlacedNode) -> Argument | None:
        """The noun phrase with LGS after "by"."""
        agents = [noun for child in phrase.children for noun in child.children if "LGS" in noun.tree.functions]
        agents += [child for child in phrase.children if "LGS" in child.tree.functions and not agents]
        return self._argument(agents[0]) if agents else None


def _enclosing(phrase: PlacedNode) -> Iterator[PlacedNode]:
    """The verb phrases above a verb phrase, then the clause or noun phrase that contains them."""
    if phrase.tree.category == "VP":
        for node in phrase.ancestors():
            yield node
            if node.tree.category != "VP":
                return


def _kind(phrase: PlacedNode) -> str | None:
    """The kind of the empty element that a phrase without words contains; None for other phrases."""
    node = phrase
    while phrase.start == phrase.end and len(node.children) == 1:
        node = node.children[0]
    return node.tree.kind


def _empty_index(phrase: PlacedNode) -> int | None:
    """The index of the first empty element that has one, in a phrase without words."""
    return next((leaf.index for leaf in phrase.tree.empties() if leaf.index is not None), None)


def _relative_head(node: PlacedNode) -> PlacedNode | None:
    """The noun phrase that a relative clause modifies, for the relative pronoun, overt or empty, at its start."""
    clause = node.parent
    if not node.tree.category.startswith("WH") or clause is None or clause.tree.category != "SBAR":
        return None
    while clause.parent is not None and clause.parent.tree.category == "SBAR":
        clause = clause.parent
    nouns = clause.parent.children if clause.parent and clause.parent.tree.category in _NOUN_PHRASES else []
    before = [noun for noun in nouns if noun.end <= clause.start and noun.tree.category in _NOUN_PHRASES]
    return before[-1] if before else None


def _is_passive(phrase: PlacedNode) -> bool:
    """Whether the verb phrase of a participle is passive: by its empty object, or by its auxiliary."""
    if any(child.tree.category == "NP" and _kind(child) == "*" for child in phrase.children):
        return True
    for node in phrase.ancestors():
        auxiliaries = [
            child.tree for child in node.children if child.tree.is_leaf and child.tree.label in (*_VERBS, "MD")
        ]
        if auxiliaries:
            return str(auxiliaries[0].children[0]).lower() in _PASSIVE_AUXILIARIES
        if node.tree.category != "VP":
            return True
    return False
