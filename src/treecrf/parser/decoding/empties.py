"""Empty elements of decoded trees: what is inserted at each gap of the constituents, with its antecedents.

A network classifies the gaps. A class is nothing, or the templates of empty elements.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treecrf.arrays import AnyArray, Floats, Ints, Mask
from treecrf.network.runtime.constituent_scorer import ConstituentScorer, weight_shapes
from treecrf.network.runtime.weights import Weights
from treecrf.parser.decoding.antecedents import check_template, index_antecedents
from treecrf.parser.decoding.constituent_features import Symbols
from treecrf.parser.decoding.constituents import DecodedBatch, Empty
from treecrf.parser.decoding.gaps import EXTRA_SYMBOLS, SYMBOLS, WORDS, Gaps, find_gaps
from treecrf.trees.tree import Tree, parse_trees

_FIRST_OF_CLAUSE = SYMBOLS.index("first of SBAR")
_MOST_COST = 2.0  # difference of scores; chosen on dev
TEMPLATES, CONTEXTS = "templates", "contexts"  # arrays beside the weights of the scorer


class EmptyElements:
    """Inserts empty elements into decoded trees.

    `arrays` are the weights of a `ConstituentScorer` with its classes, one a line, and the codes of the contexts that
    `find_gaps` takes; `layers` has the layers of the CPU runtime.
    """

    def __init__(self, arrays: Mapping[str, AnyArray], symbols: Symbols, layers: Any) -> None:
        self._templates = list(map(check_template, bytes(arrays[TEMPLATES]).decode().split("\n")))
        self._plain = [" ".join(map(_without_functions, parse_trees(text))) for text in self._templates]
        self._contexts = arrays[CONTEXTS].astype(np.int64)
        if self._contexts.ndim != 1 or not len(self._contexts) or (np.diff(self._contexts) <= 0).any():
            raise ValueError(f"{CONTEXTS} of shape {self._contexts.shape}; expected sorted numbers")
        self._fillers = list(_find_fillers(self._templates, symbols))
        self._symbols, self._arrays, self._layers = symbols, arrays, layers

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
        gaps = find_gaps(batch, self._symbols, self._contexts)
        classes = self._classes(gaps, self._scorer(batch.vectors, *gaps.features, 0))
        (filled,) = classes.nonzero()
        rows = (gaps.constituents[filled], gaps.positions[filled], classes[filled])
        templates = self._templates if functions else self._plain
        empties = [
            Empty(constituent, position, templates[number])
            for constituent, position, number in zip(*(row.tolist() for row in rows), strict=True)
        ]
        return index_antecedents(batch.constituents, labels, empties)

    def _classes(self, gaps: Gaps, scores: Floats) -> Ints:
        """The best class of each gap; a wh-phrase without a trace gets the best one that costs little."""
        classes = scores.argmax(-1)
        best = scores.max(-1)
        for filler in self._fillers:
            is_filled = filler.is_trace[classes]
            clauses = gaps.clauses[filler.is_filler[gaps.features.symbols[:, _FIRST_OF_CLAUSE]]]
            clauses = np.union1d(clauses, gaps.constituents[filler.is_inserted[classes]])
            clauses = np.setdiff1d(clauses, gaps.clauses[is_filled])
            traces = scores[:, filler.traces]
            costs = best - traces.max(-1)
            (rows,) = np.nonzero(np.isin(gaps.clauses, clauses) & (costs < _MOST_COST))
            rows = rows[np.lexsort((costs[rows], gaps.clauses[rows]))]
            rows = rows[np.diff(gaps.clauses[rows], prepend=-1) != 0]  # the first row of each clause
            classes[rows] = filler.traces[traces[rows].argmax(-1)]
        return classes


class _Filler(NamedTuple):
    """A category of wh-phrases: its symbol, and the classes that insert it or its trace."""

    is_filler: Mask  # (symbols,)
    is_inserted: Mask  # (classes,)
    is_trace: Mask  # (classes,)
    traces: Ints


def _find_fillers(templates: Sequence[str], symbols: Symbols) -> Iterator[_Filler]:
    for number, category in enumerate(symbols.categories):
        is_trace = np.array([f"*T*@<{category}0" in template for template in templates])
        if category.startswith("WH") and is_trace.any():
            is_inserted = np.array([f"({category} (-NONE- 0))" in template for template in templates])
            is_filler = np.arange(symbols.size + EXTRA_SYMBOLS) == number
            yield _Filler(is_filler, is_inserted, is_trace, np.flatnonzero(is_trace))


def _without_functions(tree: Tree) -> str:
    return str(tree.fold(lambda node, children: Tree(node.category, children) if children else node))
