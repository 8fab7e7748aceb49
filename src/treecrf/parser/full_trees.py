"""Full trees: decoded trees with the functions of their constituents and with empty elements.

The components that predict them are files in a parser's folder, and are loaded when they are first used.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from treecrf.arrays import Floats
from treecrf.files import DamagedFileError
from treecrf.network.runtime import int8, reference
from treecrf.network.runtime.weights import NARROW_LEVELS
from treecrf.parser.decoding.constituent_features import Symbols
from treecrf.parser.decoding.constituents import (
    Constituents,
    DecodedBatch,
    Empty,
    FullTrees,
    LabelChains,
    full_lines,
)
from treecrf.parser.decoding.empties import EmptyElements
from treecrf.parser.decoding.functions import Functions, FunctionTagger
from treecrf.parser.models import installed_folder, names
from treecrf.parser.pipeline import Sentences
from treecrf.parser.storage import COMPONENTS, check_shapes
from treecrf.trees.analysis import Alternative, Analysis
from treecrf.trees.search.heads import HEAD_RULES, HeadRules
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.bracket_writer import FlatTrees

if TYPE_CHECKING:
    from treecrf.parser.components import Components

_NO_RULES = HeadRules({}, default=(("left", ()),))  # for languages without rules
_TITLES = {"functions": "function tags", "empties": "empty elements"}


class Component(Protocol):
    """A component with weights, which is built from its arrays, the symbols and layers."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights, for vectors of words of this width."""


C = TypeVar("C", bound=Component)


class FullTreeBuilder:
    """Builds the full trees of decoded batches that have the vectors of their words."""

    def __init__(self, parser: "Components") -> None:
        self._parser = parser
        self.label_chains = LabelChains(parser.vocabulary.labels)
        self.symbols = Symbols(self.label_chains.categories, parser.vocabulary.tags)
        self.rules = HEAD_RULES.get(parser.language, _NO_RULES)
        is_int8 = parser.scorer.precision.startswith("int")
        self._components: dict[str, Component] = {}
        self._layers: Any = int8.layers(NARROW_LEVELS) if is_int8 else reference

    def check(self, *components: str) -> "FullTreeBuilder":
        """The same builder; an error if the parser does not have the components with these names."""
        for name in components:
            if name not in self._parser.arrays:
                able = [model for model in names() if (installed_folder(model) / COMPONENTS[name]).is_file()]
                raise ValueError(
                    f"the model {self._parser.folder or 'in memory'} predicts no {_TITLES[name]}; "
                    f"installed models that do: {', '.join(able) or 'none'}"
                )
        return self

    def _component(self, name: str, kind: Callable[..., C], batch: DecodedBatch) -> C:
        """The component with this name, whose weights fit the vectors of a batch."""
        if name not in self._components:
            self.check(name)
            arrays, source = self._parser.arrays[name], f"{self._parser.folder or 'the parser'}: {COMPONENTS[name]}"
            try:
                component = kind(arrays, self.symbols, self._layers)
                shapes = component.shapes(batch.vectors.shape[1])
            except (KeyError, ValueError, IndexError) as error:
                raise DamagedFileError(f"{source} has no {_TITLES[name]}: {error!s:.200}") from None
            check_shapes({key: array.shape for key, array in arrays.items() if key in shapes}, shapes, source)
            self._components[name] = component
        return cast(C, self._components[name])

    def decoded_batch(self, sentences: Sentences, trees: FlatTrees) -> DecodedBatch:
        """The constituents, words, tags and vectors of decoded trees."""
        assert trees.vectors is not None, "the decoder keeps vectors"
        lengths = np.array(list(map(len, sentences.words)))
        leaves = self._parser.tree_builder.tags(sentences.words, sentences.tags, trees)
        return DecodedBatch(
            constituents=Constituents.of(trees, lengths, self.label_chains, self._parser.root),
            words=list(chain.from_iterable(sentences.words)),
            tags=list(chain.from_iterable(leaves)),
            vectors=trees.vectors,
            rules=self.rules,
        )

    def functions(self, batch: DecodedBatch) -> Functions:
        """The functions of a batch's constituents with their probabilities."""
        return self._component("functions", FunctionTagger, batch)(batch, scheme=self._parser.scheme)

    def lines(
        self, sentences: Sentences, trees: FlatTrees, *, components: Collection[str], exact: bool = True
    ) -> list[str]:
        """The brackets of the full trees."""
        batch = self.decoded_batch(sentences, trees)
        functions = self.functions(batch) if "functions" in components else None
        return list(self._lines(batch, functions, components, exact=exact))

    def _lines(
        self, batch: DecodedBatch, functions: Functions | None, components: Collection[str], *, exact: bool = True
    ) -> Iterator[str]:
        labels, empties = batch.constituents.labels, list[Empty]()
        if functions is not None:
            labels = functions.labels(labels)
        if "empties" in components:
            restore = self._component("empties", EmptyElements, batch)
            labels, empties = restore(batch, labels, functions=functions is not None)
        return full_lines(batch, labels, empties, exact=exact)

    def trees(self, sentences: Sentences, trees: FlatTrees, *, components: Collection[str]) -> Iterator[Tree]:
        """The full trees."""
        return map(Tree.parse, self.lines(sentences, trees, components=components))

    def analyses(
        self, trees: FlatTrees, analyses: Iterable[Analysis], *, components: Collection[str]
    ) -> Iterator[Analysis]:
        """Analyses of the full trees and alternatives; constituents have functions with probabilities."""
        assert trees.vectors is not None, "the decoder keeps vectors"
        first = 0
        for analysis in analyses:
            end = first + len(analysis.tree.words)
            plain: list[Analysis | Alternative] = [analysis, *analysis.alternatives]
            batch = self._batch_of([one.tree for one in plain], trees.vectors[first:end])
            functions = self.functions(batch) if "functions" in components else None
            numbers, lines = count(), self._lines(batch, functions, components)
            full: list[Any] = []
            for one, line in zip(plain, lines, strict=True):
                constituents = one.constituents
                if functions is not None:
                    constituents = tuple(replace(node, functions=functions.of(next(numbers))) for node in constituents)
                full.append(replace(one, tree=Tree.parse(line), constituents=constituents))
            yield replace(full[0], alternatives=tuple(full[1:]))
            first = end

    def _batch_of(self, trees: Sequence[Tree], vectors: Floats) -> DecodedBatch:
        """Several trees of one sentence."""
        return DecodedBatch(
            constituents=FullTrees.of(trees, self.label_chains.categories).constituents,
            words=[word for tree in trees for word in tree.words],
            tags=[tag for tree in trees for tag in tree.tags],
            vectors=np.tile(vectors, (len(trees), 1)),
            rules=self.rules,
        )
