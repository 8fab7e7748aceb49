"""Differences between two trees of a sentence, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treecrf.trees.tree import Tree

_MAX_WORDS = 8  # the longest phrase that is quoted in full
_END_WORDS = 3  # words quoted at each end of a longer phrase

Position = tuple[int, int]


def describe_difference(first: Tree, other: Tree) -> list[str]:
    """Describes the changes from the first tree to another tree of the same sentence.

    >>> first = Tree.parse("(S (NP (P I)) (VP (V saw) (NP (NP (D the) (N man)) (PP (I with) (N it)))))")
    >>> other = Tree.parse("(S (NP (P I)) (VP (V saw) (NP (D the) (N man)) (PP (I with) (N it))))")
    >>> describe_difference(first, other)
    ['"with it" attaches to VP instead of NP']
    """
    words, old, new = first.words, _Phrases.of(first), _Phrases.of(other)
    if other.words != words:
        raise ValueError(f"the trees have the words {words!r:.80} and {other.words!r:.80}; expected the same words")
    common = sorted(old.labels.keys() & new.labels.keys())
    relabeled = [position for position in common if old.labels[position] != new.labels[position]]
    resized = _resized(old, new)
    moved = [position for position in common if _is_moved(position, old, new, resized)]
    moved = [position for position in moved if len(set(_attachments(words, position, old, new))) > 1]
    changes = [_describe_labels(words, position, old, new) for position in relabeled]
    for position in moved:
        before, after = _attachments(words, position, old, new)
        changes.append(f"{_quote(words, *position)} attaches to {after} instead of {before}")
    for position in sorted(old.labels.keys() ^ new.labels.keys()):
        if not any(_explains(phrase, position) for phrase in moved):
            is_new = position in new.labels
            names = " over ".join((new if is_new else old).labels[position])
            changes.append(f"{_quote(words, *position)} is {'' if is_new else 'not '}a constituent ({names})")
    return changes


@dataclass(frozen=True)
class _Phrases:
    """The phrases of a tree: spans with a constituent."""

    labels: dict[Position, list[str]] = field(default_factory=dict)  # outermost first
    parents: dict[Position, Position] = field(default_factory=dict)  # the smallest phrase around a phrase

    @staticmethod
    def of(tree: Tree) -> "_Phrases":
        phrases = _Phrases()
        ancestors: list[Position] = []
        for start, end, label in tree.spans():  # parents before children
            phrases.labels.setdefault((start, end), []).append(label)
            while ancestors and not ancestors[-1][0] <= start < end <= ancestors[-1][1]:
                ancestors.pop()
            if ancestors and ancestors[-1] != (start, end):
                phrases.parents[start, end] = ancestors[-1]
            ancestors.append((start, end))
        return phrases

    def head(self, position: Position) -> Position | None:
        """The head of a phrase: its first child with the same label, or else the child at its start."""
        children = sorted(child for child, parent in self.parents.items() if parent == position)
        label = self.labels[position][-1]
        alike = [child for child in children if label in self.labels[child]]
        at_start = [child for child in children if child[0] == position[0]]
        return next(iter(alike + at_start), None)


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
