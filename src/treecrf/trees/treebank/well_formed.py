"""Well-formedness of trees: structures that the guidelines of the Penn Treebank exclude, and unseen productions.

A *violation* is one of a few structures that no careful annotator writes and that parsers produce when they choose
constituents one by one. An *unseen production* is a parent with a sequence of children that no training tree has. Trees
with other labels and tags than Penn's have no violations, only unseen productions. A *production* is the label of a
constituent with the labels of its children; productions are stored as text, one a line.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from treecrf.trees.notation import escape
from treecrf.trees.tree import Tree

Production = tuple[str, ...]  # the label of a constituent, and the labels of its children
FINITE_VERBS = frozenset({"VBD", "VBP", "VBZ", "MD"})
_OTHER_PENN_TAGS = frozenset({"NN", "NNS", "DT", "PRP", "IN"})
_VERBS = FINITE_VERBS | {"VB", "VBG", "VBN"}
_COORDINATORS = frozenset({"CC", "CONJP", ",", ":", "-LRB-", "-RRB-", "``", "''", "PRN"})
_BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'m", "'re", "ai"])
_HAVE = frozenset(["have", "has", "had", "having", "'ve", "'s", "'d"])
_DO = frozenset(["do", "does", "did"])
# the tags that follow an auxiliary inside the VP that is its complement
_COMPLEMENT_TAGS = ((_BE, frozenset({"VBG", "VBN"})), (_HAVE, frozenset({"VBN"})), (_DO, frozenset({"VB"})))


class Violation(NamedTuple):
    """A violation: its name and the constituent that has it."""

    name: str
    node: Tree


def violations(tree: Tree) -> list[Violation]:
    """The violations of a tree with Penn labels and tags, parents before children.

    >>> [violation.name for violation in violations(Tree.parse("(S (NP (PRP He)) (VBD left))"))]
    ['finite verb without VP']
    """
    nodes = [node for node in tree.walk() if node.label in _CHECKED_LABELS and not node.is_leaf]
    return [Violation(name, node) for node in nodes for name, has_violation in _CHECKS.items() if has_violation(node)]


def _has_finite_verb_without_vp(node: Tree) -> bool:
    """Whether a finite verb is a child of S, NP or PP; its place is in a VP."""
    return node.label in ("S", "NP", "PP") and any(child.label in FINITE_VERBS for child in node.child_trees)


def _has_auxiliary_beside_verb(node: Tree) -> bool:
    """Whether an auxiliary and its verb are children of one VP; the verb's place is in a VP of its own."""
    if node.label != "VP":
        return False
    verbs: list[Tree] = []
    for child in node.child_trees:
        if child.label in _COORDINATORS:
            verbs = []
        elif child.label in _VERBS or child.label == "TO":
            if any(_is_auxiliary_of(verb, child) for verb in verbs):
                return True
            verbs.append(child)
    return False


def _is_auxiliary_of(first: Tree, verb: Tree) -> bool:
    if first.label in ("MD", "TO"):
        return verb.label == "VB"
    word = str(first.children[0]).lower()
    return any(word in auxiliaries and verb.label in tags for auxiliaries, tags in _COMPLEMENT_TAGS)


def _has_clause_opener_under_s(node: Tree) -> bool:
    """Whether a preposition or complementizer (IN) or a WHNP is a child of S; its place is in a PP or an SBAR."""
    return node.label == "S" and any(child.label in ("IN", "WHNP") for child in node.child_trees)


def _is_pp_of_two_pps(node: Tree) -> bool:
    """Whether a PP consists of two PPs without a coordinator and is not a range: from nine to five."""
    if node.label != "PP" or [child.label for child in node.child_trees] != ["PP", "PP"]:
        return False
    first, second = (child.words[0].lower() for child in node.child_trees)
    return not (first == "from" and second in ("to", "until", "till", "through"))


_CHECKS: dict[str, Callable[[Tree], bool]] = {
    "finite verb without VP": _has_finite_verb_without_vp,
    "auxiliary beside its verb": _has_auxiliary_beside_verb,
    "IN or WHNP under S": _has_clause_opener_under_s,
    "PP -> PP PP": _is_pp_of_two_pps,
}
VIOLATION_NAMES = tuple(_CHECKS)
_CHECKED_LABELS = frozenset({"S", "NP", "PP", "VP"})  # no check is true of a node with another label


@dataclass(kw_only=True)
class WellFormedness:
    """Counts of trees, of trees with violations by their name, and of unseen productions."""

    trees: int = 0
    ill_formed: int = 0  # trees with at least one violation
    productions: int = 0
    unseen_productions: int = 0
    trees_with_unseen: int = 0
    by_name: Counter[str] = field(default_factory=Counter)  # trees with this violation

    @property
    def ill_formed_share(self) -> float:
        """The share of trees with at least one violation."""
        return self.ill_formed / self.trees if self.trees else 0.0

    @property
    def unseen_share(self) -> float:
        """The share of productions that no training tree has."""
        return self.unseen_productions / self.productions if self.productions else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The counts in JSON values; violations that no tree has are 0."""
        return {**vars(self), "by_name": {name: self.by_name[name] for name in VIOLATION_NAMES}}


def measure_well_formedness(
    trees: Iterable[Tree], known_productions: Collection[Production] | None = None
) -> WellFormedness:
    """Counts violations, and productions outside `known_productions` if these are known."""
    counts = WellFormedness()
    for tree in trees:
        names = {violation.name for violation in violations(tree)}
        counts.trees += 1
        counts.ill_formed += bool(names)
        counts.by_name.update(names)
        if known_productions is not None:
            tree_productions = list(productions(tree))
            unseen = sum(production not in known_productions for production in tree_productions)
            counts.productions += len(tree_productions)
            counts.unseen_productions += unseen
            counts.trees_with_unseen += bool(unseen)
    return counts


def has_penn_tags(trees: Iterable[Tree]) -> bool:
    """Whether trees have the tags of the Penn Treebank; the violations are defined for such treebanks only."""
    tags: set[str] = set()
    for tree in trees:
        tags.update(tree.tags)
        # the tags of finite verbs alone do not tell: ICON has VBP for passive verbs
        if not tags.isdisjoint(FINITE_VERBS) and not tags.isdisjoint(_OTHER_PENN_TAGS):
            return True
    return False


class WellFormednessComparison(NamedTuple):
    """The well-formedness of the gold trees and of the predicted trees of the same sentences."""

    gold: WellFormedness
    predicted: WellFormedness
    has_penn_tags: bool  # otherwise there are no violations to count

    def as_dict(self) -> dict[str, Any]:
        """Both counts in JSON values."""
        counts = {"gold": self.gold.as_dict(), "predicted": self.predicted.as_dict()}
        left_out = () if self.has_penn_tags else ("ill_formed", "by_name")
        return {key: {name: each[name] for name in each if name not in left_out} for key, each in counts.items()}

    def text(self) -> str:
        """A section of a report: the trees with each violation, and shares in percent."""
        pair = (self.gold, self.predicted)
        counts = {"Trees": [each.trees for each in pair]}
        shares = {}
        if self.has_penn_tags:
            counts["Ill-formed trees"] = [each.ill_formed for each in pair]
            counts |= {name: [each.by_name[name] for each in pair] for name in VIOLATION_NAMES}
            shares["Ill-formed trees, %"] = [each.ill_formed_share for each in pair]
        if self.predicted.productions:
            shares["Unseen productions, %"] = [each.unseen_share for each in pair]
        lines = ["\n-- Well-formedness --", f"{'':25}     Gold    Test"]
        lines += [f"{name:25} = {gold:6}  {predicted:6}" for name, (gold, predicted) in counts.items()]
        lines += [
            f"{name:25} = {100 * gold:6.2f}  {100 * predicted:6.2f}" for name, (gold, predicted) in shares.items()
        ]
        return "\n".join(lines) + "\n"


def compare_well_formedness(
    gold: Sequence[Tree], predicted: Iterable[Tree], known_productions: Collection[Production] | None = None
) -> WellFormednessComparison | None:
    """The well-formedness of gold and predicted trees; None without Penn's tags and without known productions."""
    is_penn = has_penn_tags(gold)
    if not is_penn and known_productions is None:
        return None
    return WellFormednessComparison(
        measure_well_formedness(gold, known_productions), measure_well_formedness(predicted, known_productions), is_penn
    )


def count_productions(trees: Sequence[Tree]) -> Counter[Production]:
    """The productions of trees; with Penn's tags, of the trees without violations."""
    is_penn = has_penn_tags(trees)
    return Counter(
        production for tree in trees if not (is_penn and violations(tree)) for production in productions(tree)
    )


def productions(tree: Tree) -> Iterator[Production]:
    """The productions of the constituents above the preterminals; tags are symbols like labels.

    >>> list(productions(Tree.parse("(TOP (NP (DT the) (NN cat)))")))
    [('TOP', 'NP'), ('NP', 'DT', 'NN')]
    """
    for node in tree.walk():
        if not node.is_leaf:
            yield (node.label, *[child.label for child in node.child_trees])


def productions_to_text(counts: Mapping[Production, int]) -> str:
    """Lines of a count and the symbols of a production, the most frequent first.

    >>> productions_to_text({("NP", "NN"): 1, ("NP", "DT", "NN"): 2})
    '2 NP DT NN\\n1 NP NN\\n'
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count} {' '.join(map(escape, production))}\n" for production, count in ordered)
