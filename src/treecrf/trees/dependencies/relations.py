"""Names of the relations between a head and the other children of a constituent."""

from treecrf.trees.dependencies.clauses import CLAUSES, VERBS, clause_of, is_existential, is_wh
from treecrf.trees.dependencies.groups import NOMINALS
from treecrf.trees.dependencies.lexicon import BE, GET, RELATIONS, WORDS
from treecrf.trees.dependencies.nominals import is_possessive, is_temporal
from treecrf.trees.dependencies.units import NOUN_TAGS, Unit, first_word

_ADVERBIAL = frozenset(("ADV", "DIR", "EXT", "LOC", "MNR", "PRP", "TMP"))  # functions of noun phrases


def is_clausal(phrase: Unit) -> bool:
    """Whether a prepositional phrase has a clause as its complement, as in "by asking"."""
    node = phrase
    while not node.is_leaf and node.items:
        if node.label in CLAUSES or node.label in ("VP", "VBN", "VBG"):
            return not (node.label == "SBAR" and _is_nominal(node))
        inner = next((item for item in node.items if item.head == node.head), None)
        if inner is None:
            return False
        node = inner
    return node.label in ("VBN", "VBG", "VB")


def _is_nominal(clause: Unit) -> bool:
    """Whether a free relative is headed by its wh-word."""
    return clause.first_item.head == clause.head and is_wh(clause.first_item)


def relation(parent: Unit, head: Unit, item: Unit) -> str:
    """The relation of an item of a constituent to the constituent's head."""
    label = item.label
    if parent.label in ("PP", "WHPP"):
        return _prepositional_relation(head, item)
    if label in ("CC", "CONJP"):
        is_first = item.is_before(head) and item.text in ("both", "either", "neither")
        return "cc:preconj" if is_first else "cc"
    if label in RELATIONS["anywhere"]:
        return RELATIONS["anywhere"][label]
    if parent.label in NOMINALS or parent.label in NOUN_TAGS:
        return _nominal_relation(head, item)
    if parent.label in ("ADJP", "ADVP", "QP", "WHADJP", "WHADVP", "JJ", "RB", "CD"):
        return _modifier_relation(parent, head, item)
    return clause_relation(parent, head, item)


def _nominal_relation(head: Unit, item: Unit) -> str:
    label, is_after = item.label, head.is_before(item)
    if label in RELATIONS["nominals"]:
        return RELATIONS["nominals"][label]
    if label in ("CD", "QP"):
        return _number_relation(head, item) if is_after else "nummod"
    if label in NOMINALS or label in NOUN_TAGS or label == "$":
        if is_possessive(item) and not is_after:
            return "nmod:poss"
        if is_after:
            is_rate = len(item.leaves()) == 2 and first_word(item).text in ("a", "an")  # $ 30 a barrel
            return "nmod:unmarked" if is_temporal(item) or (is_rate and _is_amount(head)) else "appos"
        return "nmod:desc" if head.label == "NNP" and label in ("NN", "NP") else "compound"
    if label in ("PP", "WHPP"):
        return "acl" if is_clausal(item) else "nmod"
    if label == "S":
        return "acl"
    if label == "SBAR":
        return "acl:relcl" if _is_relative(item) else "acl"
    return _parenthetical_relation(item) if label == "PRN" else "dep"


def _is_amount(phrase: Unit) -> bool:
    return any(item.label in ("CD", "QP", "$") for item in phrase.items)


def _number_relation(head: Unit, item: Unit) -> str:
    """The relation of a number after its noun: $ 5, May 3, May 1998, page 12."""
    if head.label == "$" or item.label == "QP":
        return "nummod"
    if first_word(head).text in WORDS["months"]:
        return "nummod" if len(item.text) < 3 else "nmod:unmarked"
    return "flat"


def _is_relative(clause: Unit) -> bool:
    """Whether a clause in a noun phrase is relative: it has a wh-phrase, or no subordinator."""
    first, is_infinitive = clause.first_item, any(leaf.label == "TO" for leaf in clause.leaves()[:2])
    return is_wh(first) or (first.label not in ("IN", "SBAR", "RB", "ADVP") and not is_infinitive)


def _parenthetical_relation(item: Unit) -> str:
    content = next((child for child in item.items if child.head == item.head), item)
    if content.label in NOMINALS or content.label in NOUN_TAGS:
        return "appos"
    if content.label in ("PP", "ADVP", "ADJP"):
        return {"PP": "nmod", "ADVP": "advmod", "ADJP": "amod"}[content.label]
    return "parataxis" if content.label in CLAUSES else "dep"


def _prepositional_relation(head: Unit, item: Unit) -> str:
    if item.label in RELATIONS["prepositional_phrases"]:
        return RELATIONS["prepositional_phrases"][item.label]
    if item.label == "PP":
        return "obl" if head.label in VERBS else "nmod"
    return "mark" if head.label in CLAUSES or head.label == "VP" or is_clausal(head) else "case"


def _modifier_relation(parent: Unit, head: Unit, item: Unit) -> str:
    label = item.label
    if label in ("PP", "WHPP"):
        return "advcl" if is_clausal(item) else "obl"
    if label == "S":
        return "xcomp" if first_word(head).text in WORDS["control_adjectives"] else "advcl"
    if label == "SBAR":
        return "ccomp" if _is_complement(item) else "advcl"
    if label in ("CD", "QP"):
        return "compound" if parent.label == "QP" or head.label == "CD" else "nummod"
    if label in ("NP", "NN", "NNS", "NNP", "NX") and parent.label in ("ADVP", "ADJP", "WHADVP"):
        return "obj" if head.is_before(item) else "obl:unmarked" if label == "NP" else "compound"
    return RELATIONS["modifiers"].get(label, "dep")


def clause_relation(parent: Unit, head: Unit, item: Unit) -> str:
    """The relation of an item of a clause or verb phrase to the predicate."""
    label, is_before = item.label, item.is_before(head)
    if label in VERBS:
        return verb_relation(parent, head, item)
    if "SBJ" in item.functions and label in ("S", "SBAR"):
        return "csubj:pass" if head.is_passive else "csubj"
    if label in NOMINALS or label in NOUN_TAGS or label in ("PRP", "QP", "CD", "$", "DT"):
        return _argument_relation(parent, head, item)
    if label in ("PP", "WHPP"):
        return "advcl" if is_clausal(item) else "advmod" if _acts_as_adverb(item) else _oblique_relation(head, item)
    if label == "SBAR":
        if parent.label in CLAUSES and is_before and not _has_subject(parent, head) and not _is_adverbial(item):
            return "csubj"
        return _subordinate_relation(parent, head, item)
    if label == "S":
        return _inner_clause_relation(parent, head, item)
    if label in ("ADJP", "VP"):
        is_comparative = is_before and first_word(item).text == "the"  # the fatter you get
        return "xcomp" if is_comparative or (parent.label == "VP" and not is_before) else "advcl"
    return RELATIONS["clauses"].get(label, "dep")


def _subordinate_relation(parent: Unit, head: Unit, item: Unit) -> str:
    if parent.label != "VP" or not _is_complement(item):
        return "advcl"
    if head.label in VERBS or head.label == "VP":
        return "ccomp"
    if is_wh(item.first_item):  # it was the cook who called
        return "advcl:relcl"
    return "csubj" if is_extraposition(parent) else "ccomp"


def is_extraposition(phrase: Unit) -> bool:
    """Whether the subject of a verb phrase is an "it" that stands for a clause in it."""
    clause = clause_of(phrase)
    return clause is not None and any(map(_is_expletive, clause.items))


def verb_relation(parent: Unit, head: Unit, item: Unit) -> str:
    """The relation of a verb to the predicate whose auxiliary or copula it is."""
    text = first_word(item).text
    if item.label == "TO":
        return "mark"
    if head.label == "VP":
        is_participle = first_word_with(head, VERBS).label in ("VBN", "VBD")
        return "aux:pass" if text in BE | GET and is_participle else "aux"
    if text in BE:
        return "cop"
    return "aux" if item.label == "MD" else "dep"


def first_word_with(node: Unit, labels: frozenset[str]) -> Unit:
    """The first word with one of the tags, or the first word."""
    return next((leaf for leaf in node.leaves() if leaf.label in labels), first_word(node))


def _acts_as_adverb(phrase: Unit) -> bool:
    """Whether a prepositional phrase is one adverb: of course."""
    leaves = phrase.leaves()
    return len(leaves) == 1 and leaves[0].label == "RB"


def _oblique_relation(head: Unit, phrase: Unit) -> str:
    is_agent = head.label == "VBN" and first_word(phrase).text == "by"
    return "obl:agent" if is_agent else "obl"


def _has_subject(clause: Unit, head: Unit) -> bool:
    return any(item.label == "NP" and item.is_before(head) for item in clause.items)


def _argument_relation(parent: Unit, head: Unit, item: Unit) -> str:
    if is_existential(item) or _is_expletive(item) or (first_word(item).text == "it" and _is_cleft(head)):
        return "expl"
    if "SBJ" in item.functions:
        return subject_relation(head)
    if _ADVERBIAL.intersection(item.functions):
        return "obl:unmarked"
    if parent.label in CLAUSES and item.is_before(head):
        return _preverbal_relation(parent, head, item)
    is_inverted = not _has_subject(parent, head) and first_word(head).text in BE  # here are some tips
    if parent.label in ("SINV", "SQ") or (parent.label == "S" and is_inverted):
        return subject_relation(head)
    if parent.label in CLAUSES:
        return "obl:unmarked" if is_temporal(item) else "vocative"
    if is_temporal(item) and first_word(head).text not in WORDS["verbs_of_time"]:
        return "obl:unmarked"
    if _is_amount(item) and first_word(head).text in WORDS["verbs_of_change"]:  # rose 5 %
        return "obl:unmarked"
    return _object_relation(parent, head, item)


def _preverbal_relation(parent: Unit, head: Unit, item: Unit) -> str:
    """The relation of a noun phrase before the predicate: the last one is the subject, but not one of time."""
    nouns = [other for other in parent.items if other.label in NOMINALS and other.is_before(head)]
    tagged = [noun for noun in nouns if "SBJ" in noun.functions]
    subjects = tagged or [noun for noun in nouns if not is_temporal(noun)] or nouns
    if not subjects or subjects[-1] is item:
        return subject_relation(head)
    if is_temporal(item):
        return "obl:unmarked"
    return "vocative" if item.leaves()[0].label == "NNP" else "dislocated"


def _is_expletive(item: Unit) -> bool:
    """Whether "it" stands for a clause later in the sentence: the Penn Treebank puts it into two noun phrases."""
    return [child.label for child in item.children] == ["NP"] and [leaf.text for leaf in item.leaves()] == ["it"]


def _is_cleft(phrase: Unit) -> bool:
    """Whether a verb phrase has a nominal predicate and a relative clause beside it: was the cook who called."""
    items = phrase.items
    has_clause = any(item.label == "SBAR" and is_wh(item.first_item) for item in items[2:])
    return phrase.label == "VP" and has_clause and items[1].head == phrase.head and items[1].label in NOMINALS


def subject_relation(head: Unit) -> str:
    """The relation of a subject to its predicate."""
    if head.is_passive:
        return "nsubj:pass"
    return "nsubj:outer" if _is_clausal_predicate(head) else "nsubj"


def _is_clausal_predicate(head: Unit) -> bool:
    """Whether the predicate of a copula is a clause: the aim is to win."""
    inner: Unit | None = head
    while inner is not None and inner.label == "VP":
        inner = next((item for item in inner.items if item.head == head.head), None)
    return inner is not None and head.label == "VP" and inner.label in CLAUSES


def _object_relation(parent: Unit, head: Unit, item: Unit) -> str:
    if head.label not in VERBS and head.label != "VP":  # a copula's predicate has no objects
        return "nsubj" if any(map(is_existential, parent.items)) else "obl:unmarked"
    verb = first_word(head).text
    if verb in BE:
        return "nsubj"
    nouns = [other for other in parent.items if other.label == "NP" and not is_temporal(other)]
    has_clause = verb in WORDS["verbs_of_telling"] and any(other.label == "SBAR" for other in parent.items)
    if (len(nouns) > 1 or has_clause) and nouns and nouns[0] is item:
        return "iobj"
    return "xcomp" if verb in WORDS["linking_verbs"] else "obj"


def _is_complement(clause: Unit) -> bool:
    """Whether a subordinate clause is a complement: it has no subordinator, a complementizer or a question word."""
    first = clause.first_item
    if first.label in ("IN", "DT"):
        return first.text in WORDS["subordinators_of_complements"]
    if first.label in ("WHADVP", "WRB") or (first.label == "ADVP" and is_wh(first)):
        return first_word(first).text in ("how", "why", "where")
    return first.label not in ("RB", "ADVP", "PP")


def _is_adverbial(clause: Unit) -> bool:
    first = clause.first_item
    word = first_word(first).text
    return (first.label == "IN" and word not in ("that", "whether", "for")) or word in ("when", "while", "whenever")


def _inner_clause_relation(parent: Unit, head: Unit, item: Unit) -> str:
    is_open = item.subject < 0
    if parent.label == "SINV":
        return "ccomp"
    if parent.label in CLAUSES and item.is_before(head):
        if is_open and not _has_subject(parent, head):
            return "csubj"
        return "advcl" if is_open else "ccomp"
    if parent.label in CLAUSES:
        return "advcl" if is_open else "parataxis"
    if head.label not in VERBS and head.label != "VP":
        return "csubj" if is_extraposition(parent) else "advcl"
    return "xcomp" if is_open else "ccomp"
