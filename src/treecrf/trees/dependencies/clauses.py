"""Heads of verb phrases and clauses: content verbs, and predicates of copulas."""

from collections.abc import Collection, Iterable, Sequence

from treecrf.trees.dependencies.lexicon import AUXILIARIES, BE, WORDS
from treecrf.trees.dependencies.nominals import is_temporal
from treecrf.trees.dependencies.units import VERB_TAGS, Unit, first_word, positions

CLAUSES = frozenset(("S", "SQ", "SINV", "SBARQ", "SBAR"))
VERBS = VERB_TAGS | {"MD", "TO"}
WH_TAGS = frozenset(("WP", "WDT", "WP$", "WRB"))
_PREDICATES = frozenset(("NP", "NX", "NAC", "WHNP", "NN", "NNS", "NNP", "PRP", "QP", "CD", "DT", "$"))
_PREDICATES |= {"ADJP", "WHADJP", "UCP", "JJ", "JJR", "JJS", "VBN", "VBG"}
_LATE_PREDICATES = frozenset(["PP", "S", "SBAR", "PRT", "FRAG", "SINV", "SQ", "SBARQ", "X", "WHPP", "IN", "RP"])


def is_existential(node: Unit) -> bool:
    """Whether a noun phrase is the "there" of "there is"."""
    leaves = node.leaves()
    return len(leaves) == 1 and leaves[0].label == "EX"


def is_wh(node: Unit) -> bool:
    """Whether a constituent is a wh-phrase, whatever its label."""
    if node.label.startswith("WH"):
        return True
    if node.label not in ("NP", "PP", "ADVP", "ADJP"):
        return node.label in WH_TAGS
    leaves = [leaf for leaf in node.leaves() if not leaf.is_punctuation]
    return any(leaf.label in WH_TAGS for leaf in leaves[:3]) and len(leaves) <= 5


def clause_of(node: Unit) -> Unit | None:
    """The clause whose verb phrase contains the node."""
    return next((ancestor for ancestor in node.ancestors() if ancestor.label not in ("VP", "VB", "VBZ", "VBP")), None)


def _has_existential_subject(node: Unit) -> bool:
    clause = node if node.label in CLAUSES else clause_of(node)
    return clause is not None and any(map(is_existential, clause.items))


def _predicate(items: Sequence[Unit], start: int) -> int | None:
    """The number of the predicate after a copula, among the items from `start`."""
    candidates = range(start, len(items))
    nominal = [i for i in candidates if items[i].label in _PREDICATES]
    content = [i for i in nominal if items[i].label not in ("NP", "NN", "NNP") or not is_temporal(items[i])]
    if content:
        return content[0]
    for i in candidates:
        is_locative = any(leaf.text in WORDS["locative_adverbs"] for leaf in items[i].leaves())
        if items[i].label in _LATE_PREDICATES or (items[i].label in ("ADVP", "WHADVP") and is_locative):
            return i
    adverbs = [
        i for i in candidates if items[i].label in ("ADVP", "RB") and first_word(items[i]).text not in _NEGATIONS
    ]
    return nominal[0] if nominal else adverbs[-1] if adverbs else None


_NEGATIONS = frozenset(("not", "n't", "also", "just", "only", "too", "really"))


def is_auxiliary(item: Unit, following: Sequence[Unit]) -> bool:
    """Whether a verb is an auxiliary of the verb phrase that follows it."""
    if item.label in ("MD", "TO"):
        return True
    text = first_word(item).text
    return text in AUXILIARIES and any(other.label == "VP" for other in following)


def verb_phrase_head(node: Unit) -> int:
    """The number of the head among the items of a verb phrase, SQ or SINV."""
    items = node.items
    verbs = positions(items, VERBS)
    if not verbs:
        return next((i for i, item in enumerate(items) if item.label == "VP"), _fallback_head(items))
    first = verbs[0]
    following = items[first + 1 :]
    phrase = next((i for i in range(first + 1, len(items)) if items[i].label == "VP"), None)
    if phrase is not None and is_auxiliary(items[first], following):
        return phrase
    verb = next((i for i in verbs if items[i].label not in ("MD", "TO")), None)
    if verb is None:
        return phrase if phrase is not None else first
    if first_word(items[verb]).text not in BE or _has_existential_subject(node):
        return verb
    start = verb + 1
    if node.label in ("SQ", "SINV") and phrase is None:
        start = next((i + 1 for i in range(verb + 1, len(items)) if items[i].label == "NP"), len(items))
    predicate = _predicate(items, start)
    return verb if predicate is None else predicate


def clause_head(node: Unit) -> int:
    """The number of the head among the items of S, SBAR, SBARQ, FRAG and other constituents."""
    items = node.items
    if node.label in ("SQ", "SINV"):
        phrases = positions(items, ("VP", "SQ", "SINV", "S"))
        verbs = positions(items, VERBS)
        content = [i for i in phrases if items[i].label == "VP"] or ([] if verbs else phrases)
        return verb_phrase_head(node) if verbs else content[0] if content else _fallback_head(items)
    if node.label in ("SBAR", "SBARQ"):
        return _subordinate_head(items)
    if node.label == "S":
        return _sentence_head(items)
    return _fallback_head(items)


def _sentence_head(items: Sequence[Unit]) -> int:
    head = _first_position(items, (("VP",), ("S", "SINV", "SQ", "SBARQ"), VERBS))
    if head is not None:
        return head
    adjectives = positions(items, ("ADJP", "UCP", "VBN"))
    nouns = positions(items, ("NP",))
    if adjectives:
        return adjectives[-1]
    if len(nouns) > 1:
        return nouns[1]
    if nouns and nouns[0] + 1 in positions(items, ("PP", "ADVP")):
        return nouns[0] + 1
    return nouns[0] if nouns else _fallback_head(items)


def _subordinate_head(items: Sequence[Unit]) -> int:
    head = _first_position(items, (("S", "SQ", "SINV", "SBARQ"), ("VP",), ("SBAR",)))
    content = [i for i, item in enumerate(items) if item.label not in ("IN", "CC", "RB", "ADVP", "WHADVP")]
    return head if head is not None else content[-1] if content else len(items) - 1


def _first_position(items: Sequence[Unit], label_groups: Iterable[Collection[str]]) -> int | None:
    """The first item with a label of the first group that any item has."""
    return next((found[0] for labels in label_groups if (found := positions(items, labels))), None)


_FALLBACKS = (
    ("S", "SINV", "SQ", "SBARQ", "VP"),
    ("NP", "NX", "NML", "NN", "NNS", "NNP", "NNPS", "WHNP", "NAC", "UCP"),
    ("ADJP", "JJ", "JJR", "VBN", "VBG", "VB", "VBZ", "VBD", "VBP"),
    ("SBAR", "PP", "FRAG", "QP", "CD", "PRP", "X", "WHPP"),
    ("ADVP", "WHADVP", "RB", "WHADJP", "PRN", "DT", "FW", "UH", "INTJ", "IN"),
)


def _fallback_head(items: Sequence[Unit]) -> int:
    return _first_position(items, _FALLBACKS) or 0
