"""Functions of constituents in decoded trees: SBJ in NP-SBJ."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treecrf.arrays import AnyArray, Floats, Ints
from treecrf.network.runtime.constituent_scorer import ConstituentScorer, weight_shapes
from treecrf.network.runtime.weights import Weights
from treecrf.parser.decoding.constituent_features import SYMBOLS, WORDS, Symbols
from treecrf.parser.decoding.constituents import DecodedBatch
from treecrf.trees.analysis import FunctionTag

# arrays with texts, beside the weights of the scorer
NAMES, SCHEMES, CATEGORIES = "names", "scheme_names", "categories"
_THRESHOLD = 0.5
MOST_NAMES, _MOST_CHARACTERS = 62, 100  # names are bits of a number
_NO_NAME = re.compile(r"[\s()=\\-]")


class Functions(NamedTuple):
    """The probability of each function of m constituents."""

    names: Sequence[str]
    probabilities: Floats  # (m, functions)

    def labels(self, categories: Sequence[str]) -> list[str]:
        """The label of each constituent: its category with its probable functions.

        >>> Functions(["LOC", "PRD"], np.array([[0.9, 0.6], [0.1, 0.4]])).labels(["PP", "NP"])
        ['PP-LOC-PRD', 'NP']
        """
        suffixes = {code: "".join(f"-{name}" for name in self._names(code)) for code in set(self._codes.tolist())}
        return [category + suffixes[code] for category, code in zip(categories, self._codes.tolist(), strict=True)]

    def of(self, constituent: int) -> tuple[FunctionTag, ...]:
        """The probable functions of a constituent with their probabilities."""
        row = self.probabilities[constituent].tolist()
        return tuple(FunctionTag(name, p) for name, p in zip(self.names, row, strict=True) if p > _THRESHOLD)

    @property
    def _codes(self) -> Ints:
        """The functions of each constituent as bits of a number."""
        return (self.probabilities > _THRESHOLD) @ (1 << np.arange(len(self.names)))

    def _names(self, code: int) -> list[str]:
        return [name for number, name in enumerate(self.names) if code >> number & 1]


class FunctionTagger:
    """Predicts the functions of constituents, in the scheme of one of the treebanks that it was trained on.

    `arrays` are the weights of a `ConstituentScorer` with the names of its classes and schemes, the default scheme
    first, and the categories of the constituents that have functions in each scheme; `layers` has the layers of the
    CPU runtime.
    """

    def __init__(self, arrays: Mapping[str, AnyArray], symbols: Symbols, layers: Any) -> None:
        texts = (bytes(arrays[name]).decode().split("\n") for name in (NAMES, SCHEMES, CATEGORIES))
        self.names, self.schemes, categories = texts
        if len(self.names) > MOST_NAMES:
            raise ValueError(f"{len(self.names):,} names; expected at most {MOST_NAMES}")
        for name in self.names:
            if not name.isprintable() or _NO_NAME.search(name) or not 0 < len(name) <= _MOST_CHARACTERS:
                raise ValueError(f"{name!r:.50} is no function; expected a name such as SBJ")
        all_categories = [*symbols.categories, ""]  # the last one for the root
        self._has_functions = [np.isin(all_categories, line.split()) for line in categories]
        self._symbols, self._arrays, self._layers = symbols, arrays, layers

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights, for vectors of words of this width."""
        size = self._arrays["words.weight"].shape[0]
        sizes = {"classes": len(self.names), "schemes": len(self.schemes)}
        symbols = (len(SYMBOLS), self._symbols.size)
        return weight_shapes(width=width, size=size, roles=len(WORDS), symbols=symbols, **sizes)

    @cached_property
    def _scorer(self) -> ConstituentScorer:
        return ConstituentScorer(Weights(self._arrays), self._layers)

    def __call__(self, batch: DecodedBatch, *, scheme: str = "") -> Functions:
        """The functions of a batch's constituents; a scheme that is not known is the default."""
        number = self.schemes.index(scheme) if scheme in self.schemes else 0
        rows = np.flatnonzero(self._has_functions[number][batch.constituents.ids])
        logits = self._scorer(batch.vectors, *self._symbols.features(batch, rows), number)
        probabilities = np.zeros((len(batch.constituents), len(self.names)), np.float32)
        probabilities[rows] = np.float32(0.5) * (np.tanh(np.float32(0.5) * logits) + np.float32(1))
        return Functions(self.names, probabilities)
