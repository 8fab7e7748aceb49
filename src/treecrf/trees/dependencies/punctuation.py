"""Attachment of punctuation by the rules of Universal Dependencies.

- A pair of brackets or quotation marks goes to the head of the words between them.
- A hyphen in a word goes to the head of the two parts.
- Other punctuation separates the words to its left from those to its right. Of the two units that meet there, the
  lower one in the tree gets the mark: the phrase that a comma sets off, or the conjunct after a comma.
- The second mark of a pair of commas or dashes goes where the first one went.
- Full stops, question marks and exclamation marks belong to the unit on their left, usually the sentence.
"""

from collections.abc import Sequence

from treecrf.trees.dependencies.units import Arcs

_CLOSING = {"(": ")", "[": "]", "{": "}", '"': '"', "“": "”", "‘": "’", "``": "''", "«": "»", "'": "'", "`": "'"}
_FINAL = frozenset(".?!") | {"...", "…"}
_DASHES = frozenset(("-", "--", "---", "–", "—"))


class PunctuationAttacher:
    """Attaches the punctuation of one sentence whose other words form a tree."""

    def __init__(
        self,
        arcs: Arcs,
        words: Sequence[str],
        tags: Sequence[str],
        *,
        parents: Sequence[int],
        is_punctuation: Sequence[bool],
    ) -> None:
        self.arcs = arcs
        self.words = words
        self.tags = tags
        self.parents = parents  # the constituent of each word
        self.is_punctuation = is_punctuation
        self.content = [index for index, is_mark in enumerate(is_punctuation) if not is_mark]
        self.first, self.last = _subtree_ends(arcs.heads, self.content)
        self.enclosing: list[tuple[int, int]] = []  # pairs of brackets and quotation marks

    def attach_all(self) -> None:
        """Attaches every mark."""
        marks = [index for index, is_mark in enumerate(self.is_punctuation) if is_mark and self.arcs.heads[index] < 0]
        paired = self._attach_pairs(marks)
        for mark in marks:
            if mark not in paired:
                self.arcs.attach(mark, self._head(mark), "punct")

    def _attach_pairs(self, marks: Sequence[int]) -> set[int]:
        paired: set[int] = set()
        for opening, closing in _find_pairs(marks, self.words, self.tags):
            heads = self._heads_between(opening, closing)
            if heads:
                self.arcs.attach(opening, heads[0], "punct")
                self.arcs.attach(closing, heads[-1], "punct")
                paired |= {opening, closing}
                self.enclosing.append((opening, closing))
        return paired

    def _heads_between(self, opening: int, closing: int) -> list[int]:
        """The words between two marks that have their head outside, or a dependent outside."""
        heads = self.arcs.heads
        inside = set(self._between(opening, closing))
        with_head_outside = {word for word in inside if heads[word] not in inside}
        with_dependent_outside = {heads[word] for word in self.content if word not in inside} & inside
        return sorted(with_head_outside | with_dependent_outside)

    def _between(self, start: int, end: int) -> list[int]:
        """The words between two marks."""
        return [word for word in self.content if start < word < end]

    def _head(self, mark: int) -> int:
        start, end = self._bounds(mark)
        left, right = self._between(start, mark), self._between(mark, end)
        if self.tags[mark] == "HYPH" and left and right:
            for word, head in ((left[-1], right[0]), (right[0], left[-1])):
                if self.arcs.heads[word] == head:
                    return head
        left_path = self._climb(left[-1], mark, start, end) if left else []
        right_path = self._climb(right[0], mark, start, end) if right else []
        if self.words[mark] in _FINAL and left_path:
            return left_path[-1]
        partner = self._head_of_first_mark(mark, left_path, right_path)
        if partner is not None:
            return partner
        if not left_path or not right_path:
            return (left_path or right_path or self.content)[-1]
        return right_path[-1] if self._is_below(right_path[-1], left_path[-1]) else left_path[-1]

    def _bounds(self, mark: int) -> tuple[int, int]:
        """The innermost pair of brackets or quotation marks around a mark; its head is between them."""
        start, end = -1, len(self.words)
        for opening, closing in self.enclosing:
            if opening < mark < closing:
                start, end = max(start, opening), min(end, closing)
        return start, end

    def _climb(self, word: int, mark: int, start: int, end: int) -> list[int]:
        """The word and its ancestors on the same side of the mark whose subtrees end at the mark."""
        path = [word]
        while not self.first[word] < mark < self.last[word]:
            head = self.arcs.heads[word]
            is_same_side = start < head < end and (head < mark) == (word < mark)
            if head < 0 or not is_same_side:
                break
            word = head
            path.append(word)
        return path

    def _head_of_first_mark(self, mark: int, path: Sequence[int], right_path: Sequence[int]) -> int | None:
        """The head of the comma or dash that starts the unit which this one ends, unless the mark starts a sister."""
        heads, relations = self.arcs.heads, self.arcs.relations
        sisters = {(heads[word], relations[word]) for word in right_path[-1:]}
        for word in path:
            before = self.first[word] - 1
            if self.last[word] > mark or before < 0 or not self.is_punctuation[before]:
                continue
            is_same = self.words[before] == self.words[mark] or {self.words[before], self.words[mark]} <= _DASHES
            is_same = is_same and self.parents[before] == self.parents[mark]
            is_in_list = relations[word] == "conj" or (heads[word], relations[word]) in sisters
            if is_same and heads[before] == word and not is_in_list:
                return word
        return None

    def _is_below(self, word: int, ancestor: int) -> bool:
        while word >= 0 and word != ancestor:
            word = self.arcs.heads[word]
        return word == ancestor


def _subtree_ends(heads: Sequence[int], content: Sequence[int]) -> tuple[list[int], list[int]]:
    """The first and the last word below each word."""
    first, last = list(range(len(heads))), list(range(len(heads)))
    for word in content:
        head = heads[word]
        while head >= 0:
            first[head], last[head] = min(first[head], word), max(last[head], word)
            head = heads[head]
    return first, last


def _find_pairs(marks: Sequence[int], words: Sequence[str], tags: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of opening and closing marks, inner pairs first."""
    pairs: list[tuple[int, int]] = []
    open_marks: list[int] = []
    for mark in marks:
        closes = [
            index for index in reversed(open_marks) if _closes(words[index], words[mark], tags[index], tags[mark])
        ]
        if closes:
            pairs.append((closes[0], mark))
            del open_marks[open_marks.index(closes[0]) :]
        elif words[mark] in _CLOSING or tags[mark] in ("``", "-LRB-"):
            open_marks.append(mark)
    return pairs


def _closes(opening: str, closing: str, opening_tag: str, closing_tag: str) -> bool:
    if (opening_tag, closing_tag) in (("``", "''"), ("-LRB-", "-RRB-")):
        return True
    return _CLOSING.get(opening) == closing and closing_tag != "``"
