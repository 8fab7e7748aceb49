"""Heads of noun phrases, names, numbers, adjective phrases and adverb phrases."""

from collections.abc import Sequence

from treecrf.trees.dependencies.groups import NOMINALS
from treecrf.trees.dependencies.lexicon import TEMPORAL_NOUNS, WORDS
from treecrf.trees.dependencies.units import NOUN_TAGS, Unit, first_word, positions

_POSTMODIFIERS = frozenset(("PP", "SBAR", "S", "VP", "RRC", "PRN", "WHPP", "FRAG", "SINV"))
_NAME_TAGS = frozenset(("NNP", "NNPS"))
_ADJECTIVES = frozenset(["JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "ADJP"])
_ADVERBS = frozenset(["RB", "RBR", "RBS", "WRB", "ADVP", "WHADVP", "RP"])


def is_possessive(node: Unit) -> bool:
    """Whether a noun phrase ends with 's."""
    while node.items:
        node = node.items[-1]
    return node.label == "POS"


def is_temporal(node: Unit) -> bool:
    """Whether the head of a noun phrase is a unit or a point of time."""
    while not node.is_leaf:
        node = node.conjuncts[0] if node.conjuncts else node.items[head_index(node)] if node.items else node.children[0]
    return node.text in TEMPORAL_NOUNS or (node.label == "CD" and len(node.text) == 4 and node.text.isdigit())


def head_index(node: Unit) -> int:
    """The number of the head among the items of a noun phrase, adjective phrase, adverb phrase or number."""
    items = node.items
    if node.label == "QP":
        return _number_head(items)
    if node.label in ("ADJP", "WHADJP", "JJ"):
        return _phrase_head(items, _ADJECTIVES, ("NN", "NNS", "NNP", "CD", "QP", "RB", "IN"))
    if node.label in ("ADVP", "WHADVP", "RB"):
        return _phrase_head(items, _ADVERBS, ("DT", "JJ", "JJS", "JJR", "NN", "NP", "CD", "IN", "PP"))
    return _noun_head(items)


def _core(items: Sequence[Unit]) -> Sequence[Unit]:
    """The items before the first postmodifier."""
    end = next((i for i, item in enumerate(items) if item.label in _POSTMODIFIERS and i > 0), len(items))
    return items[:end]


def _noun_head(items: Sequence[Unit]) -> int:
    if items[0].label in ("S", "SBAR", "VP") and all(item.label in NOMINALS for item in items[1:]):
        return 0
    if items[-1].label == "POS" and len(items) > 1:
        items = items[:-1]
    core = _core(items)
    phrases = [i for i, item in enumerate(core) if item.label in NOMINALS and not is_possessive(item)]
    nouns = [i for i, item in enumerate(core) if item.label in NOUN_TAGS or item.label == "$"]
    has_phrase = bool(phrases) and core[phrases[0]].label in ("NP", "WHNP")
    if has_phrase and (not nouns or (phrases[0] == 0 and _is_full(core[0]))):
        return phrases[0]
    if nouns:
        return _described_noun(core, nouns)
    for labels in (("CD", "QP"), ("PRP", "EX", "WP", "WDT"), ("JJ", "JJS", "JJR", "ADJP", "VBN", "VBG"), ("DT", "PDT")):
        if found := positions(core, labels):
            is_range = any(item.label == "SYM" for item in core)
            return found[0] if is_range else found[-1]
    return next((i for i, item in enumerate(core) if item.label not in ("CC", "INTJ", "ADVP", "RB")), 0)


def _is_full(node: Unit) -> bool:
    """Whether a noun phrase has a determiner or a noun as its own head, so that later nouns are appositions."""
    return any(item.label in ("DT", "PRP", "PRP$", "NP") for item in node.items) and not is_temporal(node)


def _described_noun(core: Sequence[Unit], nouns: Sequence[int]) -> int:
    """The last noun; but the noun before a name, if it has a determiner: my friend Bill."""
    last = nouns[-1]
    dollars = [i for i in nouns if core[i].label == "$"]
    if dollars:
        return dollars[0]
    has_determiner = any(item.label in ("DT", "PRP$") or is_possessive(item) for item in core[:last])
    is_name = core[last].label in _NAME_TAGS and last - 1 in nouns and core[last - 1].label in ("NN", "NNS")
    if has_determiner and is_name:
        return last - 1
    return last


def _number_head(items: Sequence[Unit]) -> int:
    """The last number before a range or a second part; the currency sign if there is one."""
    dollars = positions(items, ("$",))
    if dollars:
        return dollars[0]
    numbers = positions(items, ("CD", "QP", "NN", "NNS"))
    if not numbers:
        return len(items) - 1
    last = numbers[0]
    for index in numbers[1:]:
        if index != last + 1:  # 3 - 5, one to two
            break
        last = index
    return last


def _phrase_head(items: Sequence[Unit], labels: frozenset[str], fallbacks: Sequence[str]) -> int:
    core = _core(items)
    found = positions(core, labels)
    if found[:1] == [0] and core[0].label in ("ADJP", "ADVP", "WHADJP", "WHADVP"):
        following = [i for i in found[1:] if core[i].label not in ("ADJP", "ADVP")]
        return following[-1] if following else 0
    content = [i for i in found if core[i].text != "enough"] or found
    if content:
        return content[-1]
    for label in fallbacks:
        if matches := positions(core, (label,)):
            return matches[-1]
    return len(core) - 1


def name_arcs(names: Sequence[Unit], *, has_determiner: bool) -> tuple[int, list[tuple[int, str]]]:
    """The number of the head in a run of proper nouns, and the head and the relation of each name."""
    first, last = 0, len(names)
    while first < last - 1 and first_word(names[first]).text in WORDS["titles"]:
        first += 1
    while last - 1 > first and first_word(names[last - 1]).text in WORDS["name_suffixes"]:
        last -= 1
    core = names[first:last]
    is_place = first_word(core[0]).text in WORDS["head_initial_names"]
    is_flat = _is_person(core, has_title=first > 0, has_determiner=has_determiner) or (is_place and len(core) == 2)
    head = first if is_flat else last - 1
    arcs = [(head, "nmod:desc")] * len(names)
    arcs[first:last] = [(head, "flat" if is_flat else "compound")] * len(core)
    if not is_flat and len(core) > 2:
        _attach_inner_name(core, first, arcs, is_place=is_place)
    return head, arcs


def _attach_inner_name(core: Sequence[Unit], first: int, arcs: list[tuple[int, str]], *, is_place: bool) -> None:
    """Attaches the first of three or more names to the second: (San Francisco) Bay, (Leiden University) Press."""
    text = first_word(core[0]).text
    if is_place:
        arcs[first + 1] = (first, "flat")
    elif text == "new" or not (text in WORDS["institution_nouns"] or text.endswith(("al", "an", "ic", "ish", "ese"))):
        arcs[first] = (first + 1, "compound")


def _is_person(names: Sequence[Unit], *, has_title: bool, has_determiner: bool) -> bool:
    """Whether proper nouns are the name of a person."""
    texts = [first_word(name).text for name in names]
    if len(names) == 1 or any(text in WORDS["institution_nouns"] for text in texts):
        return False
    if any(name.label == "NNPS" for name in names) or len(names) > 5:
        return False
    has_initial = any(len(text) == 2 and text.endswith(".") for text in texts)
    if has_title or has_initial or texts[0] in WORDS["given_names"]:
        return True
    return not has_determiner and texts[0].isalpha() and len(names) == 2
