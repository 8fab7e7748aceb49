"""Empty elements of decoded trees: what is inserted at each gap of the constituents, with its antecedents.

A network classifies the gaps. A class is nothing, or the templates of empty elements.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from treecrf.arrays import AnyArray
from treecrf.network.runtime.constituent_scorer import ConstituentScorer, weight_shapes
from treecrf.network.runtime.weights import Weights
from treecrf.parser.decoding.antecedents import index_antecedents
from treecrf.parser.decoding.constituent_features import Symbols
from treecrf.parser.decoding.constituents import DecodedBatch, Empty
from treecrf.parser.decoding.gaps import EXTRA_SYMBOLS, SYMBOLS, WORDS, find_gaps
from treecrf.trees.search.heads import HeadRules
from treecrf.trees.tree import Tree, parse_trees

TEMPLATES, CONTEXTS = "templates", "contexts"  # arrays beside the weights of the scorer


class EmptyElements:
    """Inserts empty elements into decoded trees.

    `arrays` are the weights of a `ConstituentScorer` with its classes, one a line, and the codes of the contexts that
    `find_gaps` takes; `layers` has the layers of the CPU runtime.
    """

    def __init__(self, arrays: Mapping[str, AnyArray], symbols: Symbols, rules: HeadRules, layers: Any) -> None:
        self._templates = bytes(arrays[TEMPLATES]).decode().split("\n")
        self._plain = [" ".join(map(_without_functions, parse_trees(text))) for text in self._templates]
        self._contexts = arrays[CONTEXTS].astype(np.int64)
        if self._contexts.ndim != 1 or not len(self._contexts) or (np.diff(self._contexts) <= 0).any():
            raise ValueError(f"{CONTEXTS} of shape {self._contexts.shape}; expected sorted numbers")
        self._symbols, self._rules = symbols, rules
        self._arrays, self._layers = arrays, layers

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights, for vectors of words of this width."""
        size = self._arrays["words.weight"].shape[0]
        symbols = (len(SYMBOLS), self._symbols.size + EXTRA_SYMBOLS)
        return weight_shapes(
            width=width, size=size, roles=len(WORDS), symbols=symbols, classes=len(self._templates), schemes=1
        )

    @cached_property
    def _scorer(self) -> ConstituentScorer:
        return ConstituentScorer(Weights(self._arrays), self._layers)

    def __call__(self, batch: DecodedBatch, labels: Sequence[str], *, functions: bool) -> tuple[list[str], list[Empty]]:
        """The labels with the indices of antecedents, and the empty elements, with their functions or without."""
        gaps = find_gaps(batch, self._symbols, self._rules, self._contexts)
        classes = self._scorer(batch.vectors, *gaps.features, 0).argmax(-1)
        (filled,) = classes.nonzero()
        rows = (gaps.constituents[filled], gaps.positions[filled], classes[filled])
        templates = self._templates if functions else self._plain
        empties = [
            Empty(constituent, position, templates[number])
            for constituent, position, number in zip(*(row.tolist() for row in rows), strict=True)
        ]
        return index_antecedents(batch.constituents, labels, empties)


def _without_functions(tree: Tree) -> str:
    return str(tree.fold(lambda node, children: Tree(node.category, children) if children else node))
