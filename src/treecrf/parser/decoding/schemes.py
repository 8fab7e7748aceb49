"""Annotation schemes: what each treebank of a model that knows several writes, and what it never writes.

A scheme has the counts of the productions of its own trees, and the labels and tags of these trees. What they do not
have is excluded if at most half of the schemes have it: what most of the others have is rare in the texts of the
scheme, and no matter of convention. Productions are not excluded unless five would be expected from their number in
all trees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from treecrf.arrays import AnyArray, Floats
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.grammar import ProductionCounts
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import unary_chain
from treecrf.trees.treebank.well_formed import Production, count_productions, productions_to_text

K = TypeVar("K")

_EXPECTED = 5.0  # occurrences from which on a production is excluded if it never occurs
_LEAST = 2  # occurrences of a production; single ones may be errors, and are many
_EXCLUDED = np.float32(-1000.0)  # score of excluded labels and tags: callers may still require them
_PARTS = ("productions", "labels", "tags")


class Scheme(NamedTuple):
    """The grammar of a scheme, and what is added to the scores of labels and tags."""

    productions: Mapping[Production, int]
    labels: Floats
    tags: Floats

    @staticmethod
    def load(
        name: str,
        arrays: Mapping[str, AnyArray],
        all_counts: Mapping[Production, int],
        labels: Sequence[str],
        tags: Sequence[str],
    ) -> "Scheme":
        """The scheme with this name, given what `scheme_arrays` returned and the productions of all trees.

        In the grammar, the scheme's own trees have the same weight as all trees together.
        """
        names = scheme_names(arrays)
        counts, all_labels, all_tags = (
            {other: bytes(arrays[f"{other} {part}"]).decode() for other in names} for part in _PARTS
        )
        by_scheme = {other: ProductionCounts(text) for other, text in counts.items()}
        own, share = by_scheme[name], sum(by_scheme[name].values()) / max(1, sum(all_counts.values()))
        if not share:
            raise ValueError("it has no productions")
        unused = {
            production
            for production in _excluded(name, by_scheme)
            if share * all_counts.get(production, 0) >= _EXPECTED
        }
        productions = {
            production: count + round(own.get(production, 0) / share)
            for production, count in all_counts.items()
            if production not in unused
        }
        no_labels, no_tags = (
            {*_excluded(name, {other: text.split("\n") for other, text in texts.items()})}
            for texts in (all_labels, all_tags)
        )
        return Scheme(
            productions,
            _offsets([no_labels.isdisjoint(unary_chain(label)) for label in labels]),
            _offsets([tag not in no_tags for tag in tags]),
        )

    def restrict(self, scores: Scores) -> Scores:
        """The scores without the labels and tags that the scheme does not have."""
        return replace(
            scores,
            score_labels=lambda cells: scores.score_labels(cells) + self.labels,
            tags=None if scores.tags is None else scores.tags + self.tags,
        )


def scheme_names(arrays: Mapping[str, AnyArray]) -> list[str]:
    """The names of the schemes, given what `scheme_arrays` returned."""
    return [*dict.fromkeys(key.partition(" ")[0] for key in arrays)]


def scheme_arrays(trees: Mapping[str, Sequence[Tree]]) -> dict[str, AnyArray]:
    """Texts with the productions, labels and tags of each scheme, as a parser's folder stores them."""
    texts: dict[str, str] = {}
    for name, own in trees.items():
        counts = {key: count for key, count in count_productions(own).items() if count >= _LEAST}
        labels = {node.label for tree in own for node in tree.walk() if not node.is_leaf}
        names = ("\n".join(sorted(each)) for each in (labels, {tag for tree in own for tag in tree.tags}))
        texts |= dict(zip((f"{name} {part}" for part in _PARTS), (productions_to_text(counts), *names), strict=True))
    return {key: np.frombuffer(text.encode(), np.uint8) for key, text in texts.items()}


def _excluded(name: str, by_scheme: Mapping[str, Iterable[K]]) -> Iterator[K]:
    """Productions, labels or tags that this scheme lacks and at most half of all schemes have."""
    numbers = Counter(chain.from_iterable(by_scheme.values()))
    own = {*by_scheme[name]}
    return (key for key, number in numbers.items() if key not in own and 2 * number <= len(by_scheme))


def _offsets(is_allowed: Sequence[bool]) -> Floats:
    offsets: Floats = np.where(is_allowed, np.float32(0.0), _EXCLUDED)
    return offsets
