"""Conversion of constituency trees to basic Universal Dependencies."""

from itertools import pairwise

from treecrf.trees.dependencies.clauses import CLAUSES, VERBS, clause_head, is_wh, verb_phrase_head
from treecrf.trees.dependencies.groups import CONJUNCTIONS, NOMINALS, group_children, merge_fixed_expressions
from treecrf.trees.dependencies.lexicon import BE, GET, WORDS
from treecrf.trees.dependencies.nominals import head_index, name_arcs
from treecrf.trees.dependencies.relations import first_word_with, is_clausal, relation, subject_relation
from treecrf.trees.dependencies.units import NOUN_TAGS, VERB_TAGS, Arcs, Unit, build_units, first_word, in_postorder
from treecrf.trees.tree import Tree

_PREPOSITIONS = frozenset(("IN", "TO", "VBG", "VBN", "RP", "JJ", "RB", "FW", "CC"))
_REPEATED = frozenset(("NP", "PRP", "DT", "PRP$", "IN", "MD"))
_MODIFIERS = frozenset(("ADJP", "WHADJP", "ADVP", "WHADVP", "QP", "JJ", "JJR", "RB", "CD"))


def convert_words(tree: Tree) -> Arcs:
    """The arcs of all words that are not punctuation; the head of the sentence and punctuation have none."""
    root = build_units(tree)
    arcs = Arcs(len(root.leaves()))
    if root.is_punctuation:
        return arcs
    fixed = merge_fixed_expressions(root)
    group_children(root)
    for node in in_postorder(root):
        if not node.is_leaf and node.items:
            _convert(node, arcs)
    for word, head in fixed:
        arcs.attach(word, head, "fixed")
    return arcs


def _convert(node: Unit, arcs: Arcs) -> None:
    """Finds the head of a constituent and attaches the heads of its other children."""
    items = node.items
    if node.conjuncts:
        _convert_coordination(node, arcs)
    elif len(items) > 1 and _is_hyphenated(node):
        _convert_hyphenated(node, arcs)
    elif len(items) > 1 and all(item.label in ("NNP", "NNPS") for item in items):
        _convert_name(node, arcs)
    else:
        _convert_phrase(node, arcs)


def _convert_phrase(node: Unit, arcs: Arcs) -> None:
    items = node.items
    head = items[_head_number(node)]
    node.head = head.head
    node.is_passive = node.is_passive or head.is_passive or _is_passive(node, head)
    is_predicate = node.label == "VP" and head.label in CLAUSES  # the subject of a predicate clause is its own
    node.subject = -1 if is_predicate else head.subject
    if is_free_relative(node, head, head):
        make_free_relative(arcs, head)
        node.head = head.head
    for item in items:
        if item is not head:
            _attach_item(node, head, item, arcs)
    if node.label in NOMINALS or node.label in NOUN_TAGS:
        _attach_inner_modifiers(items, head, arcs)
        _attach_et_al(items, head, arcs)
    if node.label in ("QP", "NP"):
        _attach_numbers(items, head, arcs)
    if node.label == "PRN":
        for mark in (node.children[0], node.children[-1]):
            if mark.is_leaf and mark.is_punctuation:
                arcs.attach(mark.head, node.head, "punct")


def _head_number(node: Unit) -> int:
    label = node.label
    if len(node.items) == 1:
        return 0
    if label in NOMINALS or label in NOUN_TAGS or label in _MODIFIERS:
        return head_index(node)
    if label == "VP" or label in VERB_TAGS:
        return verb_phrase_head(node)
    if label in ("PP", "WHPP", "IN"):
        return _complement_number(node)
    return clause_head(node)


def _complement_number(node: Unit) -> int:
    """The number of a preposition's complement; a participle with a prepositional phrase is its own head."""
    items = node.items
    first = next((i for i, item in enumerate(items) if item.label in _PREPOSITIONS), None)
    if first is None:
        return next((i for i, item in enumerate(items) if item.label in ("PP", "WHPP")), len(items) - 1)
    while first + 1 < len(items) and items[first].label in ("RB", "JJ") and items[first + 1].label in _PREPOSITIONS:
        first += 1
    following = [i for i in range(first + 1, len(items)) if items[i].label not in _PREPOSITIONS]
    content = [i for i in following if items[i].label not in ("PRN", "INTJ", "ADVP")] or following
    if items[first].label in ("VBN", "VBG") and content and items[content[0]].label == "PP":
        return first
    return content[0] if content else first


def _is_passive(node: Unit, head: Unit) -> bool:
    """Whether a verb phrase has a passive auxiliary of its head."""
    if head.label != "VP" or first_word_with(head, VERBS).label not in ("VBN", "VBD"):
        return False
    return any(item.label in VERBS and first_word(item).text in BE | GET for item in node.items if item is not head)


def _attach_item(node: Unit, head: Unit, item: Unit, arcs: Arcs) -> None:
    """Attaches one child of a constituent to the head."""
    if node.label in ("SBAR", "SBARQ") and head.label in ("S", "SQ", "SINV", "VP") and is_wh(item):
        attach_wh(arcs, node, head, item)
        return
    if is_free_relative(node, head, item):
        make_free_relative(arcs, item)
        arcs.attach(item.head, node.head, relation(node, head, _nominal_copy(item)))
        return
    is_between = item.label == "SYM" or (node.label in ("QP", "CD") and item.label in ("IN", "TO"))
    following = next(iter(node.items[node.items.index(item) + 1 :]), None)
    if is_between or item.label == "EDITED" or (following and _is_repeated(item, following)):
        is_joint = item.label in ("SYM", "IN", "TO")  # a word between two numbers
        arcs.attach(item.head, (following or head).head, "case" if is_joint else "reparandum")
        return
    clause = _next_clause(node, head, item)
    if clause is not None:
        arcs.attach(item.head, clause.head, relation(node, clause, item))
        return
    if node.label == "CONJP" or item.label == "CONJP":
        _attach_conjunction(item, node.head, arcs)
        return
    name = relation(node, head, item)
    arcs.attach(item.head, node.head, name)
    if name.startswith(("nsubj", "csubj", "expl")) and node.label in CLAUSES:
        node.subject = item.head
    if name == "ccomp" and node.label == "VP" and item.label == "S" and _is_small_clause(item):
        arcs.attach(item.subject, node.head, "obj")
        arcs.attach(item.head, node.head, "xcomp")


def _next_clause(node: Unit, head: Unit, item: Unit) -> Unit | None:
    """The clause that an adverb between two clauses belongs to: He was late, (so) we left."""
    if node.label != "S" or head.label != "S" or item.label not in ("RB", "ADVP", "IN", "CC") or item.is_before(head):
        return None
    return next((other for other in node.items if other.label == "S" and item.is_before(other)), None)


def _is_repeated(item: Unit, following: Unit) -> bool:
    """Whether a speaker repeats the words of a noun phrase or function word at once: the guy - the guy left."""
    if item.label not in _REPEATED or following.label != item.label:
        return False
    return [leaf.text for leaf in item.leaves()] == [leaf.text for leaf in following.leaves()]


def _attach_numbers(items: list[Unit], head: Unit, arcs: Arcs) -> None:
    """Attaches the first of two numbers to the second: (3 million), and the end of a range to its start."""
    for first, second in pairwise(items):
        if first.label == second.label == "CD" and second.head == first.head + 1:
            if first is not head:
                arcs.attach(first.head, second.head, "compound")
            if second is not head:
                arcs.attach(second.head, head.head, "nummod")
        elif first.label in ("SYM", "TO", "IN") and second.label == "CD" and head.is_before(second):
            arcs.attach(second.head, head.head, "nmod")


def _attach_inner_modifiers(items: list[Unit], head: Unit, arcs: Arcs) -> None:
    """Attaches modifiers of a noun that itself modifies the head: (four step) approach, (sea level) rise."""
    end = items.index(head)
    nouns = [i for i in range(end + 1) if items[i].label in ("NN", "NNS")]
    for first, second in pairwise(nouns):
        if second < end and second == first + 1 and end == second + 1:
            arcs.attach(items[first].head, items[second].head, "compound")
    for number, noun in pairwise(items[:end]):
        is_count = number.label == "CD" and noun.label == "NN" and number.text not in ("one", "1")
        if is_count and noun.is_leaf:
            arcs.attach(number.head, noun.head, "nummod")
        if number.label in ("NNP", "NNPS") and noun.label == "CD":  # (World War II) museum
            arcs.attach(noun.head, number.head, "flat")


def _attach_et_al(items: list[Unit], head: Unit, arcs: Arcs) -> None:
    """Attaches "et al." like a conjunction and a conjunct."""
    for et, al in pairwise(items):
        if et.text == "et" and al.text in ("al.", "al"):
            arcs.attach(et.head, al.head, "cc")
            arcs.attach(al.head, head.head, "conj")


def _nominal_copy(clause: Unit) -> Unit:
    """A stand-in for a free relative, which has the relations of a noun phrase or an adverb."""
    label = "ADVP" if clause.first_item.label in ("WHADVP", "ADVP", "WRB") else "NP"
    return Unit(label, [], head=clause.head, text="_")


def _is_small_clause(clause: Unit) -> bool:
    """Whether the subject of a clause is the object of the verb before it: the clause has no finite verb."""
    verbs = [leaf for leaf in clause.leaves() if leaf.label in VERBS]
    return not verbs or verbs[0].label in ("TO", "VB", "VBG", "VBN")


def _attach_conjunction(item: Unit, head: int, arcs: Arcs) -> None:
    """Attaches the words of a conjunction to the conjunct after it: but also."""
    for leaf in item.leaves():
        if not leaf.is_punctuation:
            is_adverb = leaf.label in ("RB", "RBR", "JJ") or leaf.text == "not"
            arcs.attach(leaf.head, head, "advmod" if is_adverb else "cc")


def _convert_coordination(node: Unit, arcs: Arcs) -> None:
    """Makes the first conjunct the head; conjunctions and modifiers go to the next or the previous conjunct."""
    first = node.conjuncts[0]
    node.head, node.is_passive, node.subject = first.head, first.is_passive, first.subject
    items = node.items
    positions = [i for i, item in enumerate(items) if item in node.conjuncts]
    for i, item in enumerate(items):
        if i in positions:
            arcs.attach(item.head, first.head, "conj")
            continue
        following = next((items[p] for p in positions if p > i), None)
        previous = next((items[p] for p in reversed(positions) if p < i), first)
        is_before = following is not None and (item.label in CONJUNCTIONS or _follows_conjunction(items, i))
        target = following if is_before and following is not None else previous
        if item.label == "SYM":
            arcs.attach(item.head, target.head, "cc")
        elif item.label == "CONJP":
            _attach_conjunction(item, target.head, arcs)
        else:
            arcs.attach(item.head, target.head, relation(node, target, item))


def _follows_conjunction(items: list[Unit], index: int) -> bool:
    """Whether only modifiers stand between the item and the conjunction before it."""
    return index > 0 and (items[index - 1].label in CONJUNCTIONS or items[index].label == "SYM")


def _is_hyphenated(node: Unit) -> bool:
    """Whether hyphens join all words of the constituent."""
    inner = node.children[1::2]
    return len(node.children) % 2 == 1 and all(child.label == "HYPH" for child in inner)


def _convert_hyphenated(node: Unit, arcs: Arcs) -> None:
    """Attaches hyphenated words: the last is the head, but the first of state-of-the-art."""
    items = node.items
    prepositions = [i for i, item in enumerate(items) if item.label in ("IN", "TO") and 0 < i < len(items) - 1]
    if prepositions:
        node.head = items[0].head
        last = items[-1]
        arcs.attach(last.head, node.head, "nmod")
        for item in items[1:-1]:
            arcs.attach(item.head, last.head, "case" if item.label in ("IN", "TO") else "det")
        return
    node.head = items[-1].head
    for item, following in pairwise(items):
        is_count = item.label == "CD" and following.label in ("NN", "NNS")
        target = following.head if is_count else node.head
        name = "nummod" if is_count else "advmod" if item.label in ("RB", "RBR") else "compound"
        arcs.attach(item.head, target, "amod" if item.label == "JJ" else name)


def _convert_name(node: Unit, arcs: Arcs) -> None:
    """Attaches the words of a name, to the first for a person and to the last for other names."""
    items = node.items
    sisters = node.parent.items if node.parent is not None else []
    has_determiner = any(item.label == "DT" for item in sisters)
    head, name_heads = name_arcs(items, has_determiner=has_determiner)
    node.head = items[head].head
    for item, (number, name) in zip(items, name_heads, strict=True):
        arcs.attach(item.head, items[number].head, name)


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
    elif clause.subject < 0 and first_word(clause).label != "TO":
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
        has_subject = any(item.label in NOMINALS and item.is_before(head) for item in parent.items)
        return parent.label != "S" or clause is not parent.items[0] or not has_subject
    if parent.label in ("PP", "WHPP"):
        is_question = first_word(parent).text in WORDS["question_prepositions"]
        return word in ("what", "where", "who", "which") and not is_question
    if parent.label == "VP":
        predicate = next((leaf.text for leaf in head.leaves() if leaf.head == head.head), "")
        return word in ("what", "where") and predicate not in WORDS["question_predicates"]
    return parent.label in ("S", "NP") and word == "what" and (parent.label == "NP" or clause.is_before(head))
