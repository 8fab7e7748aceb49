"""Wh-phrases: their role in questions, relative clauses and free relatives."""

from treecrf.trees.dependencies.clauses import is_wh
from treecrf.trees.dependencies.lexicon import BE, WORDS
from treecrf.trees.dependencies.relations import is_clausal, subject_relation
from treecrf.trees.dependencies.units import VERB_TAGS, Arcs, Unit, first_word


def attach_wh(arcs: Arcs, parent: Unit, clause: Unit, phrase: Unit) -> None:
    """Attaches the wh-phrase before a clause to the word that it belongs to; it may become the head of `parent`."""
    verb = clause.head
    word = first_word(phrase)
    if _is_bare_copula(arcs, clause) and word.text not in ("when", "why") and phrase.label not in ("PP", "WHPP"):
        arcs.promote(phrase.head, verb, "cop")
        parent.head = phrase.head
    elif phrase.label in ("PP", "WHPP"):
        arcs.attach(phrase.head, verb, "advcl" if is_clausal(phrase) else "obl")
    elif phrase.label in ("WHADVP", "ADVP", "WRB"):
        arcs.attach(phrase.head, verb, "advmod")
    elif phrase.label in ("WHADJP", "ADJP"):
        arcs.attach(phrase.head, verb, "xcomp")
    elif clause.subject < 0 and not _is_infinitive(clause):
        predicate = next((item for item in clause.items if item.head == verb), clause)
        arcs.attach(phrase.head, verb, subject_relation(predicate))
        clause.subject = phrase.head
    else:
        _attach_object(arcs, parent, clause, phrase)


def _is_bare_copula(arcs: Arcs, clause: Unit) -> bool:
    """Whether a clause is a subject and a form of be, without a predicate."""
    head = next((leaf for leaf in clause.leaves() if leaf.head == clause.head), None)
    if head is None or head.text not in BE or head.label not in VERB_TAGS or clause.subject < 0:
        return False
    return not any(arcs.relations[word] == "expl" for word in arcs.dependents(clause.head))


def _is_infinitive(clause: Unit) -> bool:
    return first_word(clause).label == "TO"


def _attach_object(arcs: Arcs, parent: Unit, clause: Unit, phrase: Unit) -> None:
    """Attaches a wh-phrase to a stranded preposition's verb, or to the innermost verb without an object."""
    stranded = [leaf for leaf in clause.leaves() if _is_stranded(leaf)]
    if stranded:
        preposition = stranded[-1].head
        if preposition == clause.head:  # what is it about
            arcs.promote(phrase.head, preposition, "case")
            parent.head = phrase.head
            return
        verb = arcs.heads[preposition]
        arcs.attach(preposition, phrase.head, "case")
        arcs.attach(phrase.head, verb if verb >= 0 else clause.head, "obl")
        return
    verb, gap_relation = clause.head, "obj"
    while True:
        dependents = arcs.dependents(verb)
        inner = [word for word in dependents if arcs.relations[word] in ("xcomp", "ccomp") and word > verb]
        if not inner or any(arcs.relations[word] == "obj" for word in dependents):
            break
        verb = inner[-1]
        has_subject = any(arcs.relations[word].startswith("nsubj") for word in arcs.dependents(verb))
        if arcs.relations[verb] == "ccomp" and not has_subject:
            gap_relation = "nsubj"
            break
    arcs.attach(phrase.head, verb, gap_relation)


def _is_stranded(leaf: Unit) -> bool:
    parent = leaf.parent
    return leaf.label in ("IN", "TO") and parent is not None and parent.label == "PP" and len(parent.items) == 1


def make_free_relative(arcs: Arcs, clause: Unit) -> None:
    """Makes the wh-word of a clause its head: eat (what you want)."""
    phrase = clause.first_item
    if phrase.head == clause.head or phrase.label in ("PP", "WHPP"):
        return
    is_adverb = phrase.label in ("WHADVP", "ADVP", "WRB")
    verb = clause.head
    arcs.heads[phrase.head] = -1
    arcs.attach(verb, phrase.head, "advcl:relcl" if is_adverb else "acl:relcl")
    clause.head = phrase.head


def is_free_relative(parent: Unit, head: Unit, clause: Unit) -> bool:
    """Whether a wh-clause in this place is a free relative, and not a question or an adverbial clause."""
    if clause.label != "SBAR" or len(clause.items) < 2 or not is_wh(clause.first_item):
        return False
    word = first_word(clause.first_item).text
    if word.endswith("ever") and word != "however":
        return parent.label != "S" or clause is not parent.items[0]
    if parent.label in ("PP", "WHPP"):
        is_question = first_word(parent).text in WORDS["question_prepositions"]
        return word in ("what", "where", "who", "which") and not is_question
    if parent.label == "VP":
        predicate = next((leaf.text for leaf in head.leaves() if leaf.head == head.head), "")
        return word in ("what", "where") and predicate not in WORDS["question_predicates"]
    return parent.label in ("S", "NP") and word == "what" and (parent.label == "NP" or clause.is_before(head))
