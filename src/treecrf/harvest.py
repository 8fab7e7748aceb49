"""What a network found, as trees or as their brackets."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from treecrf.brackets import BracketWriter, FlatTrees
from treecrf.cnf import from_spans
from treecrf.encode.vocabulary import Vocabulary
from treecrf.nn import Decoded
from treecrf.tree import Span, Tree
from treecrf.window import Sentences

_NO_TAG = "_"  # the tag of words that nobody tagged


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """Makes trees of the numbers that stand for them."""

    vocabulary: Vocabulary
    root: str
    has_tags: bool  # whether the network predicts some

    def trees(self, sentences: Sentences, decoded: Decoded) -> Iterator[Tree]:
        """The trees of a batch."""
        starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
        spans = map(Span, starts, ends, [self.vocabulary.labels[label] for label in decoded.labels.tolist()])
        for leaves in self.leaves(sentences, decoded):
            yield from_spans(islice(spans, 2 * len(leaves) - 1), leaves, self.root)

    def leaves(self, sentences: Sentences, decoded: Decoded) -> Iterator[list[Tree]]:
        """Each sentence's preterminals: its words under given tags, or else predicted ones."""
        tags = None if decoded.tags is None else map(self.vocabulary.tags.__getitem__, decoded.tags.tolist())
        given = sentences.tags or [None] * len(sentences)
        for words, own in zip(sentences.words, given, strict=True):
            predicted = [_NO_TAG] * len(words) if tags is None else list(islice(tags, len(words)))
            known = predicted if own is None else map(_first, own, predicted)
            yield [Tree(tag, (word,)) for tag, word in zip(known, words, strict=True)]

    def writer(self, *, exact: bool) -> BracketWriter:
        """What writes brackets; see `lines`."""
        tags = self.vocabulary.tags if self.has_tags else (_NO_TAG,)
        return BracketWriter(self.vocabulary.labels, tags, root=self.root, exact=exact)

    @staticmethod
    def lines(writer: BracketWriter, sentences: Sentences, decoded: Decoded) -> list[str]:
        """The brackets of a batch's trees, none of which is built."""
        starts, ends, labels = (part.numpy() for part in (decoded.starts, decoded.ends, decoded.labels))
        tags = np.zeros((len(labels) + len(sentences)) // 2, np.int32) if decoded.tags is None else decoded.tags.numpy()
        return writer.lines(sentences.words, FlatTrees(starts, ends, labels, tags), tags=sentences.tags)


def _first(given: str | None, predicted: str) -> str:
    return predicted if given is None else given
