"""The vocabulary: ids of words, characters, labels and tags, and gold trees as ids."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from treecrf.arrays import Floats, Ints
from treecrf.network.data.batch import IGNORED, SPECIAL, UNK, Sizes
from treecrf.network.data.vectors import Vectors
from treecrf.text.normalization import Normalization, normalizer
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import is_intermediate, to_spans

MERGED = "(*)"  # the intermediate label that stands for all
_MIN_FREQUENCY = 2  # rarer words share the vector of unknown words
_MAX_LABELS = 4000  # decoding has tables with a row and a column for each label
_MAX_LABEL_LENGTH = 1000  # characters of a label or a tag
_MAX_CHAIN = 100  # constituents of a unary chain
_LABEL = re.compile(r"(?:\([^ ()]+\)|[^ ()]+(?: [^ ()]+)*)?")


class UnseenLabel(NamedTuple):
    """A label that does not occur in the training trees."""

    label: str
    spans: int
    first_tree: int  # the number of the first tree with this label, from 0


class Forest(NamedTuple):
    """A set of binarized trees: their spans, and the costs of labels at those spans where not every label is free.

    A tree of cost c counts exp(-c) times. Costs are in millionths; a label of cost -1 is in no tree. If the mean cost
    of the trees is known, costs have a factor with which the forests of a batch have their mean costs.
    """

    spans: Ints  # (c, 2) starts and ends
    restricted: Ints  # (r, 2) the spans with costs
    rows: Ints  # (r,) their rows in `costs`
    costs: Ints  # (k, labels)
    mean_cost: int = 0  # in millionths; 0: not known


@dataclass(frozen=True, slots=True)
class GoldTree:
    """The 2n-1 spans and n tags of a binarized tree as ids; labels and tags without an id are IGNORED.

    With a forest, there are no other spans: each of its trees is right.
    """

    starts: Ints  # (2n - 1,)
    ends: Ints  # (2n - 1,)
    labels: Ints  # (2n - 1,)
    tags: Ints  # (n,)
    forest: Forest | None = None

    @staticmethod
    def of_forest(forest: Forest, tags: Ints) -> "GoldTree":
        none = np.zeros(0, dtype=np.int64)
        return GoldTree(none, none, none, tags, forest)


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The words (in lowercase), characters, labels and tags that have ids.

    Ids of words and characters start after the special ids.
    """

    words: tuple[str, ...]
    chars: tuple[str, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    vectors: tuple[str, ...] | None = None  # further words with pretrained vectors; None without such vectors

    def __post_init__(self) -> None:
        if not 0 < len(self.labels) <= _MAX_LABELS:
            raise ValueError(f"there are {len(self.labels):,} labels; expected 1 to {_MAX_LABELS:,}")
        if not self.tags:
            raise ValueError("there are no tags; expected at least one")

    @staticmethod
    def build(
        trees: Iterable[Tree],
        *,
        parsed: Iterable[Tree] = (),
        vectors: Vectors | None = None,
        unknown: str = "",
        normalization: Normalization = "as-is",
        merge_intermediate: bool = False,
    ) -> "Vocabulary":
        """Builds the vocabulary of training trees; `unknown` is the word whose vector stands for unknown words.

        Trees by a parser, `parsed`, only add their words: a label that no gold tree has is an error of that parser.

        With `merge_intermediate`, all intermediate labels are one. If a loss does not tell them apart, they would share
        the probability that a span has no constituent, and each alone would be less probable than a constituent.
        """
        words, chars, labels, tags = Counter[str](), set[str](), set[str](), set[str]()
        normalize = cache(normalizer(normalization))
        trees = list(trees)
        for tree in chain(trees, parsed):
            tree_words = list(map(normalize, tree.words))
            words.update(word.lower() for word in tree_words)
            chars.update(*tree_words)
        for tree in trees:
            tags.update(tree.tags)
            spans = (span.label for span in to_spans(tree))
            labels.update(MERGED if merge_intermediate and is_intermediate(label) else label for label in spans)
        if not labels:
            raise ValueError("there are no trees to build a vocabulary from; expected at least one tree")
        if vectors is not None and unknown and unknown not in vectors.words:
            raise ValueError(
                f"there is no vector for {unknown!r}, the word that stands for unknown words; name a word with a vector"
            )
        frequent = {word for word, count in words.items() if count >= _MIN_FREQUENCY}
        known = frequent | {unknown}
        return Vocabulary(
            words=tuple(sorted(frequent)),
            chars=tuple(sorted(chars)),
            labels=tuple(sorted(labels)),
            tags=tuple(sorted(tags)),
            vectors=None if vectors is None else tuple(word for word in vectors.words if word not in known),
        )

    @property
    def sizes(self) -> Sizes:
        """The number of ids of each kind."""
        words = len(SPECIAL) + len(self.words)
        return Sizes(
            words=words,
            chars=len(SPECIAL) + len(self.chars),
            labels=len(self.labels),
            tags=len(self.tags),
            vectors=0 if self.vectors is None else words + len(self.vectors),
        )

    def vector_table(self, vectors: Vectors, *, unknown: str = "") -> Floats:
        """The pretrained vectors in the order of word ids; zero for words without a vector."""
        table = np.zeros((self.sizes.vectors, vectors.size), dtype=np.float32)
        ids = self.word_ids | ({unknown: UNK} if unknown else {})
        pairs = [(ids[word], row) for row, word in enumerate(vectors.words) if word in ids]
        target_rows, source_rows = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        table[target_rows] = vectors.matrix[source_rows]
        return table

    @cached_property
    def word_ids(self) -> dict[str, int]:
        return {word: id_ for id_, word in enumerate((*self.words, *(self.vectors or ())), len(SPECIAL))}

    @cached_property
    def label_ids(self) -> dict[str, int]:
        return {label: id_ for id_, label in enumerate(self.labels)}

    @cached_property
    def tag_ids(self) -> dict[str, int]:
        return {tag: id_ for id_, tag in enumerate(self.tags)}

    def encode_tree(self, tree: Tree, *, side: Literal["left", "right"] = "left") -> GoldTree:
        """The ids of a tree, binarized to a side."""
        spans = to_spans(tree, side=side)
        return GoldTree(
            np.array([span.start for span in spans]),
            np.array([span.end for span in spans]),
            np.array([self.label_ids.get(span.label, IGNORED) for span in spans]),
            np.array([self.tag_ids.get(tag, IGNORED) for tag in tree.tags]),
        )

    def unseen_labels(self, trees: Iterable[Tree]) -> list[UnseenLabel]:
        """The labels of these trees without an id, most frequent first; the losses skip their spans."""
        spans = Counter[str]()
        first_trees: dict[str, int] = {}
        for number, tree in enumerate(trees):
            for span in to_spans(tree):
                is_merged = is_intermediate(span.label) and MERGED in self.label_ids
                if span.label not in self.label_ids and not is_merged:
                    spans[span.label] += 1
                    first_trees.setdefault(span.label, number)
        return [UnseenLabel(label, count, first_trees[label]) for label, count in spans.most_common()]

    def to_dict(self) -> dict[str, list[str] | None]:
        """The vocabulary as JSON values, for `from_dict`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: None if value is None else list(value) for name, value in values.items()}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Vocabulary":
        """Reads the values that `to_dict` returns."""
        names = {field.name for field in fields(Vocabulary)}
        if set(values) != names:
            raise ValueError(f"the vocabulary has the keys {list(values)!r:.200}; expected {sorted(names)}")
        for name, items in values.items():
            if items is None and name == "vectors":
                continue
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise ValueError(f"the {name} of the vocabulary are {items!r:.50}; expected a list of strings")
            if len(set(items)) != len(items):
                raise ValueError(
                    f"{len(items) - len(set(items))} {name} occur twice in the vocabulary; expected each once"
                )
        for name in ("labels", "tags"):
            wrong = next((item for item in values[name] if not _is_label(item, is_tag=name == "tags")), None)
            if wrong is not None:
                raise ValueError(
                    f"one of the {name} is {wrong!r:.50}; expected printable labels in the notation of trees"
                )
        lists: dict[str, Any] = {name: None if items is None else tuple(items) for name, items in values.items()}
        return Vocabulary(**lists)


def _is_label(text: str, *, is_tag: bool) -> bool:
    """Whether a label or a tag can be part of a tree's brackets."""
    if len(text) > _MAX_LABEL_LENGTH or not text.isprintable():
        return False
    return is_tag or (_LABEL.fullmatch(text) is not None and text.count(" ") < _MAX_CHAIN)
