"""Bracket lines from numbers: many sentences at once, and no tree in between."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treecrf.tree import escape, unescape
from treecrf.treebank.binarize import is_intermediate

try:
    from treecrf.treebank import _bracket_writer
except ImportError:  # installed on a machine without a C compiler
    available = False
else:
    available = True

Numbers = npt.NDArray[np.int32]
Given = Sequence[Sequence[str | None] | None] | None


class FlatTrees(NamedTuple):
    """The trees of some sentences, flat: of each its 2n-1 spans, by start and then end, and its n tags."""

    starts: Numbers
    ends: Numbers
    labels: Numbers
    tags: Numbers


class BracketWriter:
    """Writes what `str(from_spans(...))` would give, for labels and tags by number.

    With `exact`, lines are read back by `Tree.parse`; else parentheses in words are `-LRB-` and `-RRB-`, as treebanks
    have them.
    """

    def __init__(self, labels: Sequence[str], tags: Sequence[str], *, root: str = "TOP", exact: bool = True) -> None:
        self._spell: Callable[[str], str] = escape if exact else spell_for_treebanks
        self._openings = tuple(self._opening(label) for label in labels)
        self._tags = tuple(map(self._spell, tags))
        self._root = f" ({self._spell(root) if root else ''}"
        self._bare = labels.index("") if "" in labels else -1  # the label of a sentence that is a lone preterminal

    def _opening(self, label: str) -> str:
        """What stands before the words of a span with this label: the constituents of its chain, outermost first."""
        if not label or is_intermediate(label):
            return ""
        names = map(unescape, label.split(" "))
        return "".join(f" ({self._spell(name) if name else ''}" for name in names)

    def lines(self, sentences: Sequence[Sequence[str]], trees: FlatTrees, *, tags: Given = None) -> list[str]:
        """The brackets of each sentence; given `tags` of its words, where they are not None, go before the tree's."""
        arrays = [np.ascontiguousarray(array, dtype=np.int32) for array in trees]
        total = sum(map(len, sentences))
        expected = [2 * total - len(sentences)] * 3 + [total]
        if [len(array) for array in arrays] != expected:
            raise ValueError(
                f"{len(sentences)} sentences of {total} words with {[len(array) for array in arrays]} starts, ends, "
                f"labels and tags; expected {expected}"
            )
        if not available:
            return list(self._plain_lines(sentences, FlatTrees(*arrays), tags))
        starts, ends, labels, tag_ids = (array.ctypes.data for array in arrays)
        texts = (self._openings, self._tags, self._root, self._bare, self._spell)
        return _bracket_writer.write_lines(sentences, tags, total, starts, ends, labels, tag_ids, *texts)

    def _plain_lines(self, sentences: Sequence[Sequence[str]], trees: FlatTrees, given: Given) -> Iterator[str]:
        """The same without the compiled part."""
        starts, ends, labels, tags = (iter(array.tolist()) for array in trees)
        for number, words in enumerate(sentences):
            count = len(words)
            spans = list(zip(*(islice(column, 2 * count - 1) for column in (starts, ends, labels)), strict=True))
            known = [self._tags[tag] for tag in islice(tags, count)]
            own = None if given is None else given[number]
            if own is not None:
                known = [name if tag is None else self._spell(tag) for tag, name in zip(own, known, strict=True)]
            yield self._line(words, known, spans)

    def _line(self, words: Sequence[str], tags: Sequence[str], spans: list[tuple[int, int, int]]) -> str:
        openings, closings = [""] * len(words), [1] * len(words)
        for start, end, label in spans:
            opening = self._openings[label]
            openings[start] = opening + openings[start]  # the longer span, which comes later, is outside
            closings[end - 1] += opening.count("(")
        if len(words) > 1 or spans[0][2] != self._bare:
            openings[0] = self._root + openings[0]
            closings[-1] += 1
        parts = zip(openings, tags, map(self._spell, words), closings, strict=True)
        return "".join(f"{opening} ({tag} {word}{')' * count}" for opening, tag, word, count in parts)[1:]


def spell_for_treebanks(text: str) -> str:
    """A word or label as treebanks write it in brackets: parentheses as -LRB- and -RRB-, all else by `escape`.

    >>> spell_for_treebanks("(a b)")
    '-LRB-a\\\\u{20}b-RRB-'
    """
    return escape(text).replace(r"\u{28}", "-LRB-").replace(r"\u{29}", "-RRB-")
