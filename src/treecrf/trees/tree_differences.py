"""Differences between two trees of a sentence, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from treecrf.trees.tree import Span, Tree, strip

_MAX_WORDS = 8  # the longest phrase that is quoted in full
_END_WORDS = 3  # words quoted at each end of a longer phrase
_CLAUSES = frozenset(("S", "SINV", "SQ", "IP"))
_SUBORDINATE_CLAUSES = frozenset(("SBAR", "SBARQ", "CP"))
_NOUN_TAGS = ("NN", "NR", "PN", "PRP")  # how tags of nouns and pronouns begin
_ARGUMENTS = frozenset(("NP", "VP", *_CLAUSES))  # they need not modify the word to which they attach

Position = tuple[int, int]


def describe_difference(first: Tree, other: Tree) -> list[str]:
    """Describes the changes from the first tree to another tree of the same sentence.

    >>> first = Tree.parse("(S (NP (P I)) (VP (V saw) (NP (NP (D the) (N man)) (PP (I with) (N it)))))")
    >>> other = Tree.parse("(S (NP (P I)) (VP (V saw) (NP (D the) (N man)) (PP (I with) (N it))))")
    >>> describe_difference(first, other)
    ['"with it" modifies "saw" instead of "the man"']
    """
    *_, changes = describe_differences([first, other])
    return changes


def describe_differences(trees: Sequence[Tree]) -> Iterator[list[str]]:
    """Describes the changes from the first tree to each tree of the same sentence, itself included."""
    phrases = list(map(_Phrases.of, trees))
    for each in phrases:
        if each.tree.words != trees[0].words:
            raise ValueError(
                f"the trees have the words {trees[0].words!r:.80} and {each.tree.words!r:.80}; expected the same words"
            )
        yield _changes(phrases[0], each)


def _changes(old: "_Phrases", new: "_Phrases") -> list[str]:
    words = old.tree.words
    common = sorted(old.labels.keys() & new.labels.keys())
    relabeled = [position for position in common if old.labels[position] != new.labels[position]]
    resized = _resized(old, new)
    moved = [position for position in common if _is_moved(position, old, new, resized)]
    moved = [position for position in moved if len(set(_attachments(words, position, old, new))) > 1]
    clauses = [_Clause.of(position, new) for position in sorted(new.labels) if _is_new_clause(position, old, new)]
    described = {clause.position: clause for clause in clauses if clause is not None}
    inside_clauses = {part for clause in described.values() for part in (clause.subject, clause.predicate)}
    changes = [
        described[position].describe(words) if position in described else _describe_labels(words, position, old, new)
        for position in relabeled
    ]
    changes += [_describe_move(words, position, old, new) for position in moved]
    for position in sorted(old.labels.keys() ^ new.labels.keys()):
        if any(_explains(phrase, position) for phrase in moved):
            continue
        if position in described:
            changes.append(described[position].describe(words))
        elif position in old.labels or position not in inside_clauses:
            is_new = position in new.labels
            names = " over ".join((new if is_new else old).labels[position])
            changes.append(f"{_quote(words, *position)} is {'' if is_new else 'not '}a constituent ({names})")
    return changes


@dataclass(frozen=True)
class _Phrases:
    """The phrases of a tree: spans with a constituent."""

    tree: Tree
    spans: list[Span]
    labels: dict[Position, list[str]] = field(default_factory=dict)  # outermost first
    parents: dict[Position, Position] = field(default_factory=dict)  # the smallest phrase around a phrase

    @staticmethod
    def of(tree: Tree) -> "_Phrases":
        phrases = _Phrases(tree, tree.spans())
        ancestors: list[Position] = []
        for start, end, label in phrases.spans:  # parents before children
            phrases.labels.setdefault((start, end), []).append(label)
            while ancestors and not ancestors[-1][0] <= start < end <= ancestors[-1][1]:
                ancestors.pop()
            if ancestors and ancestors[-1] != (start, end):
                phrases.parents[start, end] = ancestors[-1]
            ancestors.append((start, end))
        return phrases

    def head(self, position: Position) -> Position | None:
        """The head of a phrase: its first child with the same label, or else the child at its start."""
        at_start = [child for child in self.children(position) if child[0] == position[0]]
        return next(iter(self.children_alike(position) + at_start), None)

    def children(self, position: Position) -> list[Position]:
        return sorted(child for child, parent in self.parents.items() if parent == position)

    def children_alike(self, position: Position) -> list[Position]:
        """The children with the label of the phrase, such as a noun phrase without its modifiers."""
        label = self.labels[position][-1]
        return [child for child in self.children(position) if label in self.labels[child]]

    def parts(self, position: Position) -> list[Position]:
        """The children of a phrase, and its own words."""
        return sorted([*self.children(position), *((word, word + 1) for word in self.own_words(position))])

    def own_words(self, position: Position) -> list[int]:
        """The words of a phrase that are not in its children."""
        children = self.children(position)
        return [word for word in range(*position) if not any(start <= word < end for start, end in children)]

    def categories(self, position: Position) -> set[str]:
        """The labels of a phrase without functions; a word without a constituent has none."""
        return {_category(label) for label in self.labels.get(position, ())}

    def is_noun(self, position: Position) -> bool:
        return "NP" in self.categories(position) or (
            position not in self.labels and self.stripped.tags[position[0]].startswith(_NOUN_TAGS)
        )

    def head_word(self, position: Position) -> int | None:
        """The head of a phrase if it is one of its own words, or a word of its only child with the same label."""
        while len(alike := self.children_alike(position)) == 1:
            position = alike[0]
        if alike:
            return None  # a coordination
        own = self.own_words(position)
        if self.heads[position] in own:
            return self.heads[position]
        # the rules do not know the tags of every treebank
        return own[0] if len(own) == 1 and "VP" in self.categories(position) else None

    @cached_property
    def heads(self) -> dict[Position, int]:
        """The head words of the phrases, by the rules of Collins."""
        nodes = zip(self.stripped.walk(), self.stripped.heads(), strict=True)
        heads = [head for node, head in nodes if not node.is_leaf]
        return {(start, end): head for (start, end, _), head in zip(self.spans, heads, strict=True)}

    @cached_property
    def stripped(self) -> Tree:
        """The tree without empty elements, like its spans."""
        return next(iter(strip(self.tree, str)))


@dataclass(frozen=True)
class _Clause:
    """A clause with a verb phrase, or a small clause of a subject and a predicate."""

    position: Position
    subject: Position | None
    predicate: Position
    verb: int | None

    @staticmethod
    def of(position: Position, phrases: _Phrases) -> "_Clause | None":
        parts = phrases.parts(position)
        predicates = [part for part in parts if "VP" in phrases.categories(part)]
        nouns = [part for part in parts if phrases.is_noun(part) and (not predicates or part < predicates[0])]
        subject = nouns[-1] if predicates and nouns else None
        if "VP" in phrases.categories(position):
            predicates, subject = [position], None
        elif not predicates and len(parts) == 2 and phrases.is_noun(parts[0]) and parts[1] in phrases.labels:
            return _Clause(position, parts[0], parts[1], None)
        verb = phrases.head_word(predicates[0]) if len(predicates) == 1 else None
        return None if verb is None else _Clause(position, subject, predicates[0], verb)

    def describe(self, words: Sequence[str]) -> str:
        roles = [f"{_quote(words, *self.subject)} subject"] if self.subject else []
        if self.verb is None:
            roles.append(f"{_quote(words, *self.predicate)} predicate")
        else:
            roles.append(f"{_quote(words, self.verb, self.verb + 1)} verb")
        return f"{_quote(words, *self.position)} is a clause: {', '.join(roles)}"


def _category(label: str) -> str:
    """The label without functions, such as NP of NP-SBJ."""
    return label.split("-")[0]


def _is_new_clause(position: Position, old: _Phrases, new: _Phrases) -> bool:
    """Whether a phrase is a clause in the new tree alone, and not only a part of one without its punctuation."""
    if not new.categories(position) & _CLAUSES:
        return False
    if position in old.labels:
        return not old.categories(position) & (_CLAUSES | _SUBORDINATE_CLAUSES | {"VP"})
    parent = new.parents.get(position)
    return parent is None or not new.categories(parent) & (_CLAUSES | _SUBORDINATE_CLAUSES)


def _resized(old: _Phrases, new: _Phrases) -> dict[Position, Position]:
    """The phrases that end or start elsewhere in the new tree: with the same label and the same start or end."""
    pairs: dict[Position, Position] = {}
    for lost in sorted(old.labels.keys() - new.labels.keys()):
        candidates = [
            position
            for position in new.labels.keys() - old.labels.keys() - {*pairs.values()}
            if new.labels[position][-1] == old.labels[lost][-1] and (position[0] == lost[0] or position[1] == lost[1])
        ]
        if candidates:
            pairs[lost] = min(candidates, key=lambda position: (abs(position[0] - lost[0]), abs(position[1] - lost[1])))
    return pairs


def _is_moved(position: Position, old: _Phrases, new: _Phrases, resized: Mapping[Position, Position]) -> bool:
    """Whether a phrase of both trees is attached to another phrase.

    The head of a phrase is not attached to it. A phrase that only one tree has and that has no head is not named as a
    place of attachment.
    """
    before, after = old.parents.get(position), new.parents.get(position)
    if before is None or after is None or after in (before, resized.get(before)):
        return False
    if after not in old.labels and after not in resized.values():
        return new.head(after) not in (None, position)
    if before not in new.labels and before not in resized:
        return _contains(after, before) and old.head(before) not in (None, position)
    return True


def _contains(outer: Position, inner: Position) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _explains(moved: Position, position: Position) -> bool:
    """Whether a phrase exists in only one tree because another phrase, inside it or beside it, is moved."""
    return _contains(position, moved) or moved[0] == position[1] or moved[1] == position[0]


def _describe_labels(words: Sequence[str], position: Position, old: _Phrases, new: _Phrases) -> str:
    old_names, new_names = old.labels[position], new.labels[position]
    while len(old_names) > 1 and len(new_names) > 1 and old_names[0] == new_names[0]:  # such as the root
        old_names, new_names = old_names[1:], new_names[1:]
    return f"{_quote(words, *position)} is {' over '.join(new_names)} instead of {' over '.join(old_names)}"


def _describe_move(words: Sequence[str], position: Position, old: _Phrases, new: _Phrases) -> str:
    before, after = _modified(words, position, old), _modified(words, position, new)
    if before is None or after is None or before == after:
        before, after = _attachments(words, position, old, new)
        return f"{_quote(words, *position)} attaches to {after} instead of {before}"
    verb = "attaches to" if (old.categories(position) | new.categories(position)) & _ARGUMENTS else "modifies"
    return f"{_quote(words, *position)} {verb} {after} instead of {before}"


def _modified(words: Sequence[str], position: Position, phrases: _Phrases) -> str | None:
    """The verb or the phrase to which a phrase is attached, in quotes, if the labels and the heads show it."""
    parent = phrases.parents[position]
    if phrases.categories(position) & phrases.categories(parent):  # such as a conjunct
        return None
    head = phrases.head_word(parent)
    if head is None or position[0] <= head < position[1]:
        return None
    alike = phrases.children_alike(parent)
    if alike and _category(phrases.labels[parent][-1]) != "VP":
        return _quote(words, *alike[0])
    return _quote(words, head, head + 1)


def _attachments(words: Sequence[str], position: Position, old: _Phrases, new: _Phrases) -> list[str]:
    """The phrases to which a phrase attaches in the old and the new tree: labels, with words if they are equal."""
    parents = [(phrases, phrases.parents[position]) for phrases in (old, new)]
    labels = [phrases.labels[parent][-1] for phrases, parent in parents]
    if labels[0] != labels[1]:
        return labels
    start, end = position
    # the words of the parent after the phrase, if the phrase is first in it, or before the phrase
    rests = [(end, parent[1]) if parent[0] == start else (parent[0], start) for _, parent in parents]
    return [f"{labels[0]} {_quote(words, *rest)}" for rest in rests]


def _quote(words: Sequence[str], start: int, end: int) -> str:
    phrase = list(words[start:end])
    if len(phrase) > _MAX_WORDS:
        phrase = [*phrase[:_END_WORDS], "...", *phrase[-_END_WORDS:]]
    return f'"{" ".join(phrase)}"'
