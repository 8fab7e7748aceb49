"""Lines of brackets from arrays of spans: many sentences at once, without trees."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treecrf.trees.notation import escape, escape_for_treebanks, penn_brackets
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import from_spans, unary_chain
from treecrf.trees.treebank.word_table import TokenLines

try:
    from treecrf.trees.treebank import _bracket_writer
except ImportError:  # installed without a C compiler
    available = False
else:
    available = True

Int32Array = npt.NDArray[np.int32]
Tags = Sequence[Sequence[str | None] | None] | None


class FlatTrees(NamedTuple):
    """The trees of many sentences as arrays: 2n-1 spans per tree, by start and then end, and n tags per tree."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    tags: npt.NDArray[np.int64] | None = None  # ids of predicted tags
    vectors: npt.NDArray[np.float32] | None = None  # (words, d) from the network, for functions and empty elements

    @staticmethod
    def concatenate(batches: "Sequence[FlatTrees]") -> "FlatTrees":
        """The trees of several batches as one."""
        starts, ends, labels = (np.concatenate([batch[column] for batch in batches]) for column in range(3))
        tags = [batch.tags for batch in batches if batch.tags is not None]
        vectors = [batch.vectors for batch in batches if batch.vectors is not None]
        return FlatTrees(
            starts,
            ends,
            labels,
            np.concatenate(tags) if tags else None,
            np.concatenate(vectors) if vectors else None,
        )


class BracketWriter:
    """Writes the lines that `str(from_spans(...))` gives, for label and tag ids.

    With `exact`, `Tree.parse` reads the lines back. Without it, parentheses in words are `-LRB-` and `-RRB-`, as in
    treebanks.
    """

    def __init__(self, labels: Sequence[str], tags: Sequence[str], *, root: str = "TOP", exact: bool = True) -> None:
        self._labels, self._tags, self._root, self._exact = labels, tags, root, exact
        self._escape: Callable[[str], str] = escape if exact else escape_for_treebanks
        self._openings = tuple("".join(map(self._opening, unary_chain(label))) for label in labels)
        self._rootless = labels.index("") if "" in labels else -1  # label of a sentence that is one preterminal

    def _opening(self, name: str) -> str:
        """The text before the words of a constituent."""
        return f" ({self._escape(name) if name else ''}"

    def lines(self, sentences: Sequence[Sequence[str]], trees: FlatTrees, *, tags: Tags = None) -> list[str]:
        """The brackets of each sentence; `tags` of words, if not None, replace the tree's.

        Words of trees without tags have the first tag of the writer.
        """
        words = sum(map(len, sentences)) if not isinstance(sentences, TokenLines) else len(sentences.rows)
        tag_ids = np.zeros(words, np.int64) if trees.tags is None else trees.tags
        columns = (trees.starts, trees.ends, trees.labels, tag_ids)
        arrays = [np.ascontiguousarray(column, dtype=np.int32) for column in columns]
        expected = [2 * words - len(sentences)] * 3 + [words]
        if [len(array) for array in arrays] != expected:
            raise ValueError(
                f"{len(sentences)} sentences of {words} words with {[len(array) for array in arrays]} starts, ends, "
                f"labels and tags; expected {expected}"
            )
        if not available:
            return list(self._lines_in_python(sentences, arrays, tags))
        starts, ends, labels, tag_addresses = (array.ctypes.data for array in arrays)
        addresses = (words, starts, ends, labels, tag_addresses)
        texts = (self._openings, tuple(map(self._escape, self._tags)), self._opening(self._root), self._rootless)
        if not isinstance(sentences, TokenLines) or tags is not None:
            return _bracket_writer.write_lines(sentences, tags, *addresses, *texts, self._escape)
        line_starts, line_ends, lengths = (
            column.ctypes.data for column in (sentences.starts, sentences.ends, sentences.lengths)
        )
        places = (sentences.data, len(sentences), line_starts, line_ends, lengths)
        return _bracket_writer.write_text(*places, *addresses, *texts, self._exact)

    def _lines_in_python(
        self, sentences: Sequence[Sequence[str]], arrays: Sequence[Int32Array], tags: Tags
    ) -> Iterator[str]:
        """The same lines, without the compiled code."""
        starts, ends, labels, tag_ids = (iter(array.tolist()) for array in arrays)
        for number, words in enumerate(sentences):
            columns = [islice(column, 2 * len(words) - 1) for column in (starts, ends, labels)]
            spans = [Span(start, end, self._labels[label]) for start, end, label in zip(*columns, strict=True)]
            names = [self._tags[tag] for tag in islice(tag_ids, len(words))]
            user_tags = (None if tags is None else tags[number]) or [None] * len(words)
            leaves = [
                Tree(name if tag is None else tag, (word,))
                for name, tag, word in zip(names, user_tags, words, strict=True)
            ]
            line = str(from_spans(spans, leaves, self._root))
            yield line if self._exact else penn_brackets(line)
