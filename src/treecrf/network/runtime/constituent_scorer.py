"""The classes of constituents without PyTorch: what `nn.constituent_scorer` computes without dropout."""

from typing import Any

import numpy as np

from treecrf.arrays import Floats, Ints
from treecrf.network.data.model_config import LEAKY_SLOPE
from treecrf.network.runtime.weights import Weights


def weight_shapes(
    *, width: int, size: int, roles: int, symbols: tuple[int, int], classes: int, schemes: int
) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights, for the arguments of `nn.constituent_scorer.ConstituentScorer`."""
    return {
        "words.weight": (size, width),
        "words.bias": (size,),
        "roles.weight": (roles * size, size),
        "roles.bias": (roles * size,),
        "symbols": (*symbols, size),
        "schemes": (schemes, size),
        "hidden.weight": (size, size),
        "hidden.bias": (size,),
        "out.weight": (classes, size),
        "biases": (schemes, classes),
    }


class ConstituentScorer:
    """Logits of the classes of constituents; `layers` has the layers of `int8` or `reference`."""

    def __init__(self, weights: Weights, layers: Any) -> None:
        def linear(name: str, slope: float) -> Any:
            return layers.Linear(weights.matrix(f"{name}.weight"), weights[f"{name}.bias"], slope=slope)

        self._words, self._roles = linear("words", LEAKY_SLOPE), linear("roles", 1.0)
        self._hidden = linear("hidden", LEAKY_SLOPE)
        self._out = layers.Linear(weights.matrix("out.weight"))
        symbols = weights["symbols"]
        self._first_symbols = np.arange(len(symbols)) * symbols.shape[1]
        self._symbols = symbols.reshape(-1, symbols.shape[2])
        self._schemes, self._biases = weights["schemes"], weights["biases"]

    def __call__(self, vectors: Floats, words: Ints, symbols: Ints, scheme: int) -> Floats:
        """Logits (m, classes) of constituents with words (m, roles) among (w, d) vectors, and symbols (m, columns).

        w stands for no word.
        """
        roles = words.shape[1]
        projected = self._roles(self._words(vectors)).reshape(len(vectors) * roles, -1)
        rows = np.concatenate([projected, np.zeros((roles, projected.shape[1]), np.float32)])
        total = np.repeat(self._schemes[scheme : scheme + 1], len(words), 0)
        for table, numbers in (rows, words * roles + np.arange(roles)), (self._symbols, symbols + self._first_symbols):
            for column in numbers.T:  # faster than a sum over an axis
                total += table.take(column, 0)
        hidden = self._hidden(np.maximum(total, np.float32(LEAKY_SLOPE) * total))
        logits: Floats = self._out(hidden) + self._biases[scheme]
        return logits
