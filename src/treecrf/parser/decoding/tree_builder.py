"""Builds trees or bracket lines from decoded spans, labels and tags."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from treecrf.network.data.vocabulary import Vocabulary
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import from_spans
from treecrf.trees.treebank.bracket_writer import BracketWriter, FlatTrees

_NO_TAG = "_"  # the tag of words without a given or predicted tag

Words = Sequence[Sequence[str]]
Tags = Sequence[Sequence[str | None] | None] | None  # None, for a batch, a sentence or a word: use the predicted tags


@dataclass(frozen=True, kw_only=True)
class TreeBuilder:
    """Turns the ids of a decoded batch into trees, or directly into brackets."""

    vocabulary: Vocabulary
    root: str
    predicts_tags: bool

    def trees(self, words: Words, tags: Tags, flat_trees: FlatTrees) -> Iterator[Tree]:
        """The trees of a batch."""
        starts, ends = flat_trees.starts.tolist(), flat_trees.ends.tolist()
        spans = map(Span, starts, ends, [self.vocabulary.labels[label] for label in flat_trees.labels.tolist()])
        for leaves in self.leaves(words, tags, flat_trees):
            yield from_spans(islice(spans, 2 * len(leaves) - 1), leaves, self.root)

    def leaves(self, words: Words, tags: Tags, flat_trees: FlatTrees) -> Iterator[list[Tree]]:
        """The preterminals of each sentence, with the given tags or else the predicted ones."""
        predicted = None if flat_trees.tags is None else map(self.vocabulary.tags.__getitem__, flat_trees.tags.tolist())
        for sentence, given_tags in zip(words, tags or [None] * len(words), strict=True):
            names = [_NO_TAG] * len(sentence) if predicted is None else list(islice(predicted, len(sentence)))
            if given_tags is not None:
                names = [name if tag is None else tag for tag, name in zip(given_tags, names, strict=True)]
            yield [Tree(tag, (word,)) for tag, word in zip(names, sentence, strict=True)]

    def bracket_writer(self, *, exact: bool) -> BracketWriter:
        """The writer for `brackets`; with `exact`, parentheses in words can be read back."""
        tags = self.vocabulary.tags if self.predicts_tags else (_NO_TAG,)
        return BracketWriter(self.vocabulary.labels, tags, root=self.root, exact=exact)
