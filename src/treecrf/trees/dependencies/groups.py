"""Groups of sisters that a flat constituent does not mark: conjuncts, hyphenated words and names.

Each group becomes a node between the constituent and its children. The node of a group has the label of its first
conjunct or of its last word, so that the rules for heads treat it like that conjunct or word.
"""

from itertools import pairwise

from treecrf.trees.dependencies.lexicon import COMMENT_VERBS
from treecrf.trees.dependencies.nodes import NOUN_TAGS, VERB_TAGS, Node

NOMINALS = frozenset(("NP", "NX", "NML", "NAC", "WHNP"))
CONJUNCTIONS = frozenset(("CC", "CONJP"))
_POSTMODIFIERS = frozenset(("PP", "SBAR", "S", "VP", "RRC", "PRN", "WHPP"))
_MODIFIERS = frozenset(("ADVP", "RB", "INTJ", "PRN", "UH", "RBR"))
_FILLERS = frozenset(("INTJ", "UH"))
_CLASSES = {
    **dict.fromkeys((*NOUN_TAGS, "NP", "PRP", "$", "FW", "WHNP"), "noun"),
    **dict.fromkeys(("JJ", "JJR", "JJS", "ADJP", "VBN", "VBG", "WHADJP"), "adjective"),
    **dict.fromkeys(("CD", "QP"), "number"),
    **dict.fromkeys(("DT", "PRP$", "PDT"), "determiner"),
    **dict.fromkeys(("S", "SINV", "SQ", "SBARQ"), "clause"),
    **dict.fromkeys((*(VERB_TAGS - {"VBN", "VBG"}), "MD", "VP"), "verb"),
    **dict.fromkeys(("IN", "TO", "RP"), "preposition"),
    **dict.fromkeys(("PP", "ADVP", "WHPP", "WHADVP"), "adverbial"),
}


def group_children(root: Node) -> None:
    """Groups the children of every constituent."""
    stack = [root]
    while stack:
        node = stack.pop()
        stack += node.children
        if len(node.children) > 1:
            _group_hyphenated(node)
            _group_names(node)
            _group_limits(node)
            _mark_contrasts(node)
            _group_comment(node)
            group_coordination(node)


def _group_hyphenated(node: Node) -> None:
    """Groups words around hyphens: the (data - driven) approach."""
    children = node.children
    if not any(child.label == "HYPH" for child in children):
        return
    grouped: list[Node] = []
    index = 0
    while index < len(children):
        end = index
        while end + 2 < len(children) and children[end + 1].label == "HYPH" and _is_word(children[end + 2]):
            end += 2
        if end > index and _is_word(children[index]) and end - index + 1 < len(children):
            grouped.append(Node(children[end].label, children[index : end + 1]))
            index = end + 1
        else:
            grouped.append(children[index])
            index += 1
    node.replace_children(grouped)


def _is_word(node: Node) -> bool:
    return not node.is_punctuation and node.label not in CONJUNCTIONS


def _group_names(node: Node) -> None:
    """Groups proper nouns that stand side by side."""
    if node.label not in NOMINALS and node.label not in ("ADJP", "PRN", "FRAG", "INTJ"):
        return
    grouped: list[Node] = []
    run: list[Node] = []
    for child in [*node.children, None]:
        if child is not None and child.label in ("NNP", "NNPS"):
            run.append(child)
            continue
        if len(run) > 1 and len(run) < len(node.items):
            grouped.append(Node("NNP", run))
        else:
            grouped += run
        run = []
        if child is not None:
            grouped.append(child)
    node.replace_children(grouped)


def _group_limits(node: Node) -> None:
    """Groups "at least" and "at most" before a number."""
    for index, (child, following) in enumerate(pairwise(node.children)):
        if node.label == "QP" and child.text == "at" and following.label in ("JJS", "RBS"):
            group = Node("PP", [child, following])
            node.replace_children([*node.children[:index], group, *node.children[index + 2 :]])
            return


def _mark_contrasts(node: Node) -> None:
    """Treats "not", and a slash, between two sisters of one kind as a conjunction: kings, not laws; and/or."""
    children = node.children
    for index in range(1, len(children) - 1):
        before, child, after = children[index - 1 : index + 2]
        is_slash = child.label == "SYM" and child.text in ("/", "&", "+")
        if is_slash and _are_similar(before, after):
            child.label = "CC"
        elif child.text == "not" and before.label == "," and index > 1 and _are_similar(children[index - 2], after):
            child.label = "CONJP"


def _group_comment(node: Node) -> None:
    """Makes a clause of a comment after a clause: It is late, (you know)."""
    items = node.items
    for index in range(1, len(items) - 1):
        subject, phrase = items[index : index + 2]
        is_after_clause = items[index - 1].label == "S" and subject.label == "NP" and phrase.label == "VP"
        if node.label != "S" or not is_after_clause or index + 2 < len(items):
            continue
        words = [leaf.text for leaf in [*subject.leaves(), *phrase.leaves()]]
        if len(words) == 2 and words[0] in ("i", "you", "we") and words[1] in COMMENT_VERBS:
            start = next(i for i, child in enumerate(node.children) if child is subject)
            end = next(i for i, child in enumerate(node.children) if child is phrase)
            clause = Node("S", node.children[start : end + 1])
            node.replace_children([*node.children[:start], clause, *node.children[end + 1 :]])


def group_coordination(node: Node) -> None:
    """Marks the conjuncts of a coordination, or groups the conjuncts of each if the constituent has other children."""
    for _ in range(sum(child.label in CONJUNCTIONS for child in node.children)):
        if not node.conjuncts:
            _group_first_coordination(node)


def _group_first_coordination(node: Node) -> None:
    first, last = _conjunction_range(node)
    if first < 0:
        return
    left, right = _neighbor(node.children, first, -1), _neighbor(node.children, last, 1)
    if node.label == "S" and _joins_flat_clauses(node, first):
        _group_segments(node, "S")
        return
    is_flat = node.label in NOMINALS and (left.is_leaf or right.is_leaf or left.label not in ("NP", "NX"))
    if is_flat and not _joins_modifiers(node, left, right, last):
        _group_segments(node, "NP")
    else:
        _group_conjuncts(node, first)


def _joins_flat_clauses(node: Node, conjunction: int) -> bool:
    """Whether subjects and verb phrases stand on both sides of a conjunction, without nodes of their clauses."""
    sides = node.children[:conjunction], node.children[conjunction:]
    return all({"NP", "VP"} <= {child.label for child in side} for side in sides)


def _conjunction_range(node: Node) -> tuple[int, int]:
    """The positions of the first and the last conjunction that have a word on both sides; -1 if there is none."""
    content = [index for index, child in enumerate(node.children) if _is_word(child) and child.label not in _FILLERS]
    if not content:
        return -1, -1
    positions = [
        index
        for index, child in enumerate(node.children)
        if child.label in CONJUNCTIONS and content[0] < index < content[-1]
    ]
    return (positions[0], positions[-1]) if positions else (-1, -1)


def _neighbor(children: list[Node], index: int, step: int) -> Node:
    index += step
    while not _is_word(children[index]):
        index += step
    return children[index]


def _joins_modifiers(node: Node, left: Node, right: Node, last: int) -> bool:
    """Whether the conjunction of a flat noun phrase joins modifiers: (old and new) houses."""
    following = [child for child in node.children[last + 1 :] if not child.is_punctuation]
    following = following[: next((i for i, child in enumerate(following) if child.label in _POSTMODIFIERS), None)]
    classes = _CLASSES.get(left.label), _CLASSES.get(right.label)
    if classes == ("number", "number"):
        return True
    if len(following) < 2:
        return False
    if classes[0] == "noun":
        is_before_noun = following[-1].label in ("NN", "NNS")
        return left.label == right.label and (left.label == "NN" or (left.label == "NNP" and is_before_noun))
    return classes[0] == classes[1] or classes[0] == "adjective"


def _group_segments(node: Node, label: str) -> None:
    """Makes a constituent of each segment between conjunctions and commas: (the cats) and (big dogs)."""
    last = max(index for index, child in enumerate(node.children) if child.label in CONJUNCTIONS)
    is_end = _POSTMODIFIERS if label == "NP" else frozenset((".",))
    end = next((i for i, child in enumerate(node.children) if i > last and child.label in is_end), None)
    children, rest = node.children[:end], node.children[end:] if end is not None else []
    pieces: list[Node] = []
    segments: list[Node] = []
    segment: list[Node] = []
    for child in [*children, None]:
        is_separator = child is not None and (child.is_punctuation or child.label in CONJUNCTIONS)
        if child is not None and not is_separator:
            segment.append(child)
            continue
        if child is not None and child.label != "," and child.is_punctuation:
            (segment if segment else pieces).append(child)
            continue
        is_comma = child is not None and child.label == ","
        if child is not None and is_comma and not (segment and _CLASSES.get(segment[-1].label) in ("noun", "verb")):
            (segment if segment else pieces).append(child)
            continue
        if segment:
            segments.append(segment[0] if len(segment) == 1 else Node(label, segment))
            pieces.append(segments[-1])
            segment = []
        if child is not None:
            pieces.append(child)
    _store_conjuncts(node, pieces, segments, [], rest)


def _group_conjuncts(node: Node, first: int) -> None:
    children = node.children
    left = _left_conjunct(children, first)
    start = left
    previous = left - 1
    while previous >= 0:  # a, b and c: comma-separated conjuncts before the conjunction
        if children[previous].is_punctuation and previous > 0 and _are_similar(children[previous - 1], children[left]):
            start = previous - 1
            previous = start - 1
        else:
            break
    end = _last_conjunct(children, first)
    members = [
        index
        for index in range(start, end + 1)
        if _is_word(children[index])
        and (index in (left, end) or _are_similar(children[index], children[left]))
        and not _is_modifier(children, index, children[left])
    ]
    conjuncts = [children[index] for index in members] or [children[left]]
    _store_conjuncts(node, children[start : end + 1], conjuncts, children[:start], children[end + 1 :])


def _left_conjunct(children: list[Node], conjunction: int) -> int:
    """The position of the conjunct before a conjunction: the nearest sister that is like the one after it."""
    right = _right_conjunct(children, conjunction)
    positions = [index for index in range(conjunction - 1, -1, -1) if _is_word(children[index])]
    similar = [index for index in positions if _are_similar(children[index], children[right])]
    content = [index for index in positions if children[index].label not in _MODIFIERS]
    return (similar or content or positions)[0]


def _right_conjunct(children: list[Node], conjunction: int) -> int:
    positions = [index for index in range(conjunction + 1, len(children)) if _is_word(children[index])]
    content = [index for index in positions if children[index].label not in _MODIFIERS]
    return (content or positions)[0]


def _last_conjunct(children: list[Node], conjunction: int) -> int:
    """The position of the conjunct after the last conjunction of a chain."""
    end = _right_conjunct(children, conjunction)
    following = end + 1
    while following < len(children):
        if children[following].label in CONJUNCTIONS and any(map(_is_word, children[following + 1 :])):
            end = _right_conjunct(children, following)
            following = end + 1
        elif children[following].is_punctuation or _are_similar(children[following], children[end]):
            following += 1
        else:
            break
    return end


def _is_modifier(children: list[Node], index: int, conjunct: Node) -> bool:
    """Whether a sister between conjuncts only modifies the next one: and (then) leaves."""
    return children[index].label in _MODIFIERS and conjunct.label not in _MODIFIERS and index + 1 < len(children)


def _are_similar(first: Node, second: Node) -> bool:
    if first.is_punctuation or second.is_punctuation:
        return False
    classes = _CLASSES.get(first.label), _CLASSES.get(second.label)
    return first.label == second.label or (classes[0] is not None and classes[0] == classes[1])


def _store_conjuncts(
    node: Node, pieces: list[Node], conjuncts: list[Node], before: list[Node], after: list[Node]
) -> None:
    """Makes the constituent itself the coordination if nothing else is in it, and otherwise a group of pieces."""
    if all(child.is_punctuation for child in [*before, *after]):
        node.replace_children([*before, *pieces, *after])
        node.conjuncts = conjuncts
        return
    group = Node(conjuncts[0].label, pieces)
    group.conjuncts = conjuncts
    node.replace_children([*before, group, *after])
