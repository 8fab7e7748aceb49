"""What the network knows by number: the vocabulary, and trees in its terms."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treecrf.data.batch import IGNORED, SPECIAL, UNK, Sizes
from treecrf.data.vectors import Vectors
from treecrf.text.normalization import Normalization, normalizer
from treecrf.tree import Tree
from treecrf.treebank.binarize import to_spans

Ints = npt.NDArray[np.int64]

_MIN_FREQUENCY = 2  # rarer words share the vector of the unknown


class Unseen(NamedTuple):
    """A label that training had no example of."""

    label: str
    spans: int
    first_tree: int  # the number of the first tree that has it, from 0


@dataclass(frozen=True, slots=True)
class Gold:
    """A tree as the ids of its 2n-1 spans' labels and n tags; what the vocabulary lacks is IGNORED."""

    starts: Ints
    ends: Ints
    labels: Ints
    tags: Ints


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What has an id of its own. Words are lower-case; ids of words and characters start after the special ones."""

    words: tuple[str, ...]
    chars: tuple[str, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    vectors: tuple[str, ...] | None = None  # words that only the pretrained table has; None where there is no table

    @staticmethod
    def build(
        trees: Iterable[Tree],
        *,
        vectors: Vectors | None = None,
        unknown: str = "",
        normalization: Normalization = "as-is",
    ) -> "Vocabulary":
        """The vocabulary of training trees; `unknown` is the word in the vectors' file that stands for all others."""
        words, chars, labels, tags = Counter[str](), set[str](), set[str](), set[str]()
        read = cache(normalizer(normalization))
        for tree in trees:
            leaves = list(map(read, tree.words))
            words.update(word.lower() for word in leaves)
            chars.update(*leaves)
            tags.update(tree.tags)
            labels.update(span.label for span in to_spans(tree))
        if not labels:
            raise ValueError("there are no trees to build a vocabulary from; expected at least one")
        if vectors is not None and unknown and unknown not in vectors.words:
            raise ValueError(
                f"there is no vector for {unknown!r}, which should stand for unknown words; name one that is there"
            )
        frequent = {word for word, count in words.items() if count >= _MIN_FREQUENCY}
        extra = (
            None if vectors is None else [word for word in vectors.words if word not in frequent and word != unknown]
        )
        return Vocabulary(
            words=tuple(sorted(frequent)),
            chars=tuple(sorted(chars)),
            labels=tuple(sorted(labels)),
            tags=tuple(sorted(tags)),
            vectors=None if extra is None else tuple(extra),
        )

    @property
    def sizes(self) -> Sizes:
        words = len(SPECIAL) + len(self.words)
        return Sizes(
            words=words,
            chars=len(SPECIAL) + len(self.chars),
            labels=len(self.labels),
            tags=len(self.tags),
            vectors=0 if self.vectors is None else words + len(self.vectors),
        )

    def vector_table(self, vectors: Vectors, *, unknown: str = "") -> Tensor:
        """The pretrained vectors in the order of ids, zero for words that have none."""
        table = np.zeros((self.sizes.vectors, vectors.size), dtype=np.float32)
        ids = {word: id_ for id_, word in enumerate((*self.words, *(self.vectors or ())), len(SPECIAL))}
        if unknown:
            ids[unknown] = UNK
        pairs = [(ids[word], row) for row, word in enumerate(vectors.words) if word in ids]
        targets, rows = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        table[targets] = vectors.matrix[rows]
        return torch.from_numpy(table)

    @cached_property
    def label_ids(self) -> dict[str, int]:
        return {label: id_ for id_, label in enumerate(self.labels)}

    @cached_property
    def tag_ids(self) -> dict[str, int]:
        return {tag: id_ for id_, tag in enumerate(self.tags)}

    def gold(self, tree: Tree, *, side: Literal["left", "right"] = "left") -> Gold:
        """A tree's spans, binarized to a side, and tags by number."""
        spans = to_spans(tree, side=side)
        return Gold(
            np.array([span.start for span in spans]),
            np.array([span.end for span in spans]),
            np.array([self.label_ids.get(span.label, IGNORED) for span in spans]),
            np.array([self.tag_ids.get(tag, IGNORED) for tag in tree.tags]),
        )

    def unseen_labels(self, trees: Iterable[Tree]) -> list[Unseen]:
        """The labels of these trees that have no id, the most frequent first: no loss counts their spans."""
        spans = Counter[str]()
        first: dict[str, int] = {}
        for number, tree in enumerate(trees):
            for span in to_spans(tree):
                if span.label not in self.label_ids:
                    spans[span.label] += 1
                    first.setdefault(span.label, number)
        return [Unseen(label, count, first[label]) for label, count in spans.most_common()]

    def to_dict(self) -> dict[str, list[str] | None]:
        """What `from_dict` reads, as JSON can hold it."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: None if value is None else list(value) for name, value in named.items()}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Vocabulary":
        names = {field.name for field in fields(Vocabulary)}
        if set(values) != names:
            raise ValueError(f"a vocabulary of {sorted(values)}; expected {sorted(names)}")
        for name, items in values.items():
            if items is None and name == "vectors":
                continue
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise ValueError(f"the {name} of a vocabulary are {type(items).__name__}; expected a list of strings")
            if len(set(items)) != len(items):
                raise ValueError(
                    f"{len(items) - len(set(items))} {name} stand twice in a vocabulary; expected each once"
                )
        lists: dict[str, Any] = {name: None if items is None else tuple(items) for name, items in values.items()}
        return Vocabulary(**lists)
