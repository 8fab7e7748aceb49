"""Groups of sisters that a flat constituent does not mark: fixed expressions, conjuncts, hyphenated words and names.

A fixed expression is several words that act as one function word or adverb, such as "because of"; its first word stands
for all of them.

Each other group becomes a unit between the constituent and its children. The unit of a group has the label of its first
conjunct or of its last word, so that the rules for heads treat it like that conjunct or word.
"""

from itertools import groupby, pairwise

from treecrf.trees.dependencies.lexicon import CLASSES, FIXED, FIXED_INSIDE, WORDS
from treecrf.trees.dependencies.units import Unit, in_postorder

NOMINALS = frozenset(("NP", "NX", "NML", "NAC", "WHNP"))
CONJUNCTIONS = frozenset(("CC", "CONJP"))
_POSTMODIFIERS = frozenset(("PP", "SBAR", "S", "VP", "RRC", "PRN", "WHPP"))
_MODIFIERS = frozenset(("ADVP", "RB", "INTJ", "PRN", "UH", "RBR"))
_FILLERS = frozenset(("INTJ", "UH"))
_LONGEST = max(map(len, FIXED))  # words of a fixed expression

Coordination = tuple[list[Unit], list[Unit]]  # children, and the conjuncts if all of them are one coordination


def merge_fixed_expressions(root: Unit) -> list[tuple[int, int]]:
    """Removes the later words of fixed expressions from the tree, and returns their numbers, each with its head.

    The first word keeps its place and gets the tag of the whole expression.
    """
    leaves = [leaf for leaf in root.leaves() if not leaf.is_punctuation]
    arcs: list[tuple[int, int]] = []
    start = 0
    while start < len(leaves):
        size = _expression_size(leaves, start)
        for leaf in leaves[start + 1 : start + size]:
            arcs.append((leaf.head, leaves[start].head))
            leaf.remove()
        if size > 1:
            _relabel(leaves[start], FIXED[tuple(leaf.text for leaf in leaves[start : start + size])].split()[0])
        start += size
    return arcs


def _relabel(leaf: Unit, tag: str) -> None:
    """Gives an expression its tag; a phrase with a fixed preposition is a prepositional phrase."""
    leaf.label = tag
    parent = leaf.parent
    if tag == "IN" and parent is not None and parent.label in ("ADJP", "ADVP"):
        parent.label = "PP"


def _expression_size(leaves: list[Unit], start: int) -> int:
    """The number of words in the longest expression that starts here; 1 if there is none."""
    for size in range(min(_LONGEST, len(leaves) - start), 1, -1):
        words = leaves[start : start + size]
        tag = FIXED.get(tuple(leaf.text for leaf in words))
        if tag is not None and _is_fixed(words, tag, leaves[start + size : start + size + 1]):
            return size
    return 1


def _is_fixed(words: list[Unit], tag: str, next_leaf: list[Unit]) -> bool:
    """Whether the words form a unit in this tree: sisters, or a preposition and the first word of its complement."""
    parent = words[0].parent
    texts = tuple(leaf.text for leaf in words)
    if parent is None or not all(_follows(leaf, parent) for leaf in words[1:]):
        return False
    if tag == "RB in QP":
        return parent.label == "QP" or (bool(next_leaf) and next_leaf[0].label == "CD")
    if texts in (("kind", "of"), ("sort", "of"), ("all", "but")):
        return parent.label == "ADVP" or words[0].label == "RB"
    if texts == ("at", "least"):
        return parent.label != "QP" and not (next_leaf and next_leaf[0].label == "CD")
    return texts not in FIXED_INSIDE or parent.label in FIXED_INSIDE[texts].split()


def _follows(leaf: Unit, parent: Unit) -> bool:
    """Whether a word is a child of the same constituent, or the first word of one of its children."""
    if leaf.parent is parent:
        return True
    grandparent = leaf.parent.parent if leaf.parent is not None else None
    return leaf.parent is not None and grandparent is parent and leaf.parent.children[0] is leaf


def group_children(root: Unit) -> None:
    """Groups the children of every constituent."""
    for unit in in_postorder(root):
        if len(unit.children) > 1:
            children = group_names(unit.label, group_hyphenated(unit.children))
            children = mark_contrasts(group_limits(unit.label, children))
            unit.regroup(*group_coordinations(unit.label, group_comment(unit.label, children)))


def group_hyphenated(children: list[Unit]) -> list[Unit]:
    """Groups words around hyphens: the (data - driven) approach."""
    grouped: list[Unit] = []
    index = 0
    while index < len(children):
        end = index
        while end + 2 < len(children) and children[end + 1].label == "HYPH" and _is_word(children[end + 2]):
            end += 2
        if end > index and _is_word(children[index]) and end - index + 1 < len(children):
            grouped.append(Unit(children[end].label, children[index : end + 1]))
            index = end + 1
        else:
            grouped.append(children[index])
            index += 1
    return grouped


def _is_word(unit: Unit) -> bool:
    return not unit.is_punctuation and unit.label not in CONJUNCTIONS


def group_names(label: str, children: list[Unit]) -> list[Unit]:
    """Groups proper nouns that stand side by side, if the constituent has other words."""
    if label not in NOMINALS and label not in ("ADJP", "PRN", "FRAG", "INTJ"):
        return children
    grouped: list[Unit] = []
    size = sum(not child.is_punctuation for child in children)
    for is_name, group in groupby(children, key=lambda child: child.label in ("NNP", "NNPS")):
        run = list(group)
        grouped += [Unit("NNP", run)] if is_name and 1 < len(run) < size else run
    return grouped


def group_limits(label: str, children: list[Unit]) -> list[Unit]:
    """Groups "at least" and "at most" before a number."""
    for index, (child, following) in enumerate(pairwise(children)):
        if label == "QP" and child.text == "at" and following.label in ("JJS", "RBS"):
            return [*children[:index], Unit("PP", [child, following]), *children[index + 2 :]]
    return children


def mark_contrasts(children: list[Unit]) -> list[Unit]:
    """Makes conjunctions of "not", and of a slash, between two sisters of one kind: kings, not laws; and/or."""
    marked = list(children)
    for index in range(1, len(marked) - 1):
        before, child, after = marked[index - 1 : index + 2]
        is_slash = child.label == "SYM" and child.text in ("/", "&", "+")
        if is_slash and _are_similar(before, after):
            marked[index] = child.relabeled("CC")
        elif child.text == "not" and before.label == "," and index > 1 and _are_similar(marked[index - 2], after):
            marked[index] = child.relabeled("CONJP")
    return marked


def group_comment(label: str, children: list[Unit]) -> list[Unit]:
    """Makes a clause of a comment after a clause: It is late, (you know)."""
    positions = [index for index, child in enumerate(children) if not child.is_punctuation][-3:]
    if label != "S" or [children[index].label for index in positions] != ["S", "NP", "VP"]:
        return children
    _, start, end = positions
    words = [leaf.text for index in (start, end) for leaf in children[index].leaves()]
    if len(words) != 2 or words[0] not in ("i", "you", "we") or words[1] not in WORDS["comment_verbs"]:
        return children
    return [*children[:start], Unit("S", children[start : end + 1]), *children[end + 1 :]]


def group_coordinations(label: str, children: list[Unit]) -> Coordination:
    """Finds the conjuncts of a coordination, or groups the conjuncts of each if the constituent has other children."""
    conjuncts: list[Unit] = []
    for _ in range(sum(child.label in CONJUNCTIONS for child in children)):
        if not conjuncts:
            children, conjuncts = _group_first_coordination(label, children)
    return children, conjuncts


def _group_first_coordination(label: str, children: list[Unit]) -> Coordination:
    conjunctions = _conjunctions(children)
    if not conjunctions:
        return children, []
    first, last = conjunctions[0], conjunctions[-1]
    left, right = _neighbor(children, first, -1), _neighbor(children, last, 1)
    if label == "S" and _joins_flat_clauses(children, first):
        return _group_segments(children, "S")
    is_flat = label in NOMINALS and (left.is_leaf or right.is_leaf or left.label not in ("NP", "NX"))
    if is_flat and not _joins_modifiers(children, left, right, last):
        return _group_segments(children, "NP")
    return _group_conjuncts(children, first)


def _joins_flat_clauses(children: list[Unit], conjunction: int) -> bool:
    """Whether subjects and verb phrases stand on both sides of a conjunction, without units of their clauses."""
    sides = children[:conjunction], children[conjunction:]
    return all({"NP", "VP"} <= {child.label for child in side} for side in sides)


def _conjunctions(children: list[Unit]) -> list[int]:
    """The positions of the conjunctions that have words on both sides."""
    content = [index for index, child in enumerate(children) if _is_word(child) and child.label not in _FILLERS]
    between = range(content[0], content[-1]) if content else ()
    return [index for index in between if children[index].label in CONJUNCTIONS]


def _neighbor(children: list[Unit], index: int, step: int) -> Unit:
    index += step
    while not _is_word(children[index]):
        index += step
    return children[index]


def _joins_modifiers(children: list[Unit], left: Unit, right: Unit, last: int) -> bool:
    """Whether the conjunction of a flat noun phrase joins modifiers: (old and new) houses."""
    following = [child for child in children[last + 1 :] if not child.is_punctuation]
    following = following[: next((i for i, child in enumerate(following) if child.label in _POSTMODIFIERS), None)]
    classes = CLASSES.get(left.label), CLASSES.get(right.label)
    if classes == ("number", "number"):
        return True
    if len(following) < 2:
        return False
    if classes[0] == "noun":
        is_before_noun = following[-1].label in ("NN", "NNS")
        return left.label == right.label and (left.label == "NN" or (left.label == "NNP" and is_before_noun))
    return classes[0] == classes[1] or classes[0] == "adjective"


def _group_segments(children: list[Unit], label: str) -> Coordination:
    """Makes a constituent of each segment between conjunctions and commas: (the cats) and (big dogs)."""
    last = max(index for index, child in enumerate(children) if child.label in CONJUNCTIONS)
    is_end = _POSTMODIFIERS if label == "NP" else frozenset((".",))
    end = next((i for i, child in enumerate(children) if i > last and child.label in is_end), len(children))
    pieces: list[Unit] = []
    segments: list[Unit] = []
    segment: list[Unit] = []
    for child in [*children[:end], None]:
        if child is not None and not _ends_segment(child, segment):
            (segment if segment or not child.is_punctuation else pieces).append(child)
            continue
        if segment:
            segments.append(segment[0] if len(segment) == 1 else Unit(label, segment))
            pieces.append(segments[-1])
            segment = []
        if child is not None:
            pieces.append(child)
    return _coordinate(pieces, segments, [], children[end:])


def _ends_segment(child: Unit, segment: list[Unit]) -> bool:
    """Whether a child is a conjunction, or a comma after a noun or a verb."""
    if child.is_punctuation:
        return child.label == "," and segment != [] and CLASSES.get(segment[-1].label) in ("noun", "verb")
    return child.label in CONJUNCTIONS


def _group_conjuncts(children: list[Unit], first: int) -> Coordination:
    start = left = _left_conjunct(children, first)
    # a, b and c: comma-separated conjuncts before the conjunction
    while start > 1 and children[start - 1].is_punctuation and _are_similar(children[start - 2], children[left]):
        start -= 2
    end = _last_conjunct(children, first)
    conjuncts = [
        children[index]
        for index in range(start, end + 1)
        if _is_word(children[index])
        and (index in (left, end) or _are_similar(children[index], children[left]))
        and not _is_modifier(children, index, children[left])
    ]
    return _coordinate(children[start : end + 1], conjuncts or [children[left]], children[:start], children[end + 1 :])


def _left_conjunct(children: list[Unit], conjunction: int) -> int:
    """The position of the conjunct before a conjunction: the nearest sister that is like the one after it."""
    right = _right_conjunct(children, conjunction)
    positions = [index for index in range(conjunction - 1, -1, -1) if _is_word(children[index])]
    similar = [index for index in positions if _are_similar(children[index], children[right])]
    content = [index for index in positions if children[index].label not in _MODIFIERS]
    return (similar or content or positions)[0]


def _right_conjunct(children: list[Unit], conjunction: int) -> int:
    positions = [index for index in range(conjunction + 1, len(children)) if _is_word(children[index])]
    content = [index for index in positions if children[index].label not in _MODIFIERS]
    return (content or positions)[0]


def _last_conjunct(children: list[Unit], conjunction: int) -> int:
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


def _is_modifier(children: list[Unit], index: int, conjunct: Unit) -> bool:
    """Whether a sister between conjuncts only modifies the next one: and (then) leaves."""
    return children[index].label in _MODIFIERS and conjunct.label not in _MODIFIERS and index + 1 < len(children)


def _are_similar(first: Unit, second: Unit) -> bool:
    if first.is_punctuation or second.is_punctuation:
        return False
    classes = CLASSES.get(first.label), CLASSES.get(second.label)
    return first.label == second.label or (classes[0] is not None and classes[0] == classes[1])


def _coordinate(pieces: list[Unit], conjuncts: list[Unit], before: list[Unit], after: list[Unit]) -> Coordination:
    """Makes the constituent itself the coordination if nothing else is in it, and otherwise a group of pieces."""
    if all(child.is_punctuation for child in [*before, *after]):
        return [*before, *pieces, *after], conjuncts
    return [*before, Unit(conjuncts[0].label, pieces, conjuncts=conjuncts), *after], []
