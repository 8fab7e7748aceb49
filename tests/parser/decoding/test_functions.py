from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from treecrf.parser.decoding.functions import CATEGORIES, NAMES, SCHEMES, Functions, FunctionTagger


def test_a_label_has_all_probable_functions_in_the_order_of_their_names() -> None:
    functions = Functions(["NOM", "LOC", "SBJ"], np.float32([[0.9, 0.2, 0.8], [0, 0.51, 0.5], [0, 0, 0]]))
    assert functions.labels(["S", "PP", "NP"]) == ["S-NOM-SBJ", "PP-LOC", "NP"]
    ((name, probability),) = functions.of(1)
    assert name == "LOC" and probability == pytest.approx(0.51) and functions.of(2) == ()


def tagger(names: list[str]) -> FunctionTagger:
    texts = {NAMES: "\n".join(names), SCHEMES: "ptb", CATEGORIES: "NP"}
    symbols: Any = SimpleNamespace(categories=["NP"])
    return FunctionTagger({name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}, symbols, None)


def test_names_of_functions_are_short_words() -> None:
    names = ["S" * 100, *(f"F{number}" for number in range(61))]
    assert tagger(names).names == names
    with pytest.raises(ValueError, match="63 names; expected at most 62"):
        tagger([*names, "SBJ"])
    for name in ("", "S" * 101, "a b", "SBJ-1", "(", "a\x07"):
        with pytest.raises(ValueError, match="is no function; expected a name such as SBJ"):
            tagger(["LOC", name])


def test_probabilities_are_the_logistic_function_of_the_scores() -> None:
    tags: Any = tagger(["SBJ", "LOC"])
    tags._symbols.features = lambda batch, rows: (rows,)
    tags.__dict__["_scorer"] = lambda vectors, rows, scheme: np.float32([[0, 3], [-2, 40]])
    constituents = type("Constituents", (), {"ids": np.array([0, 1, 0]), "__len__": lambda self: 3})()
    batch: Any = SimpleNamespace(constituents=constituents, vectors=None)
    expected = [[0.5, 1 / (1 + np.exp(-3))], [0, 0], [1 / (1 + np.exp(2)), 1]]
    assert tags(batch).probabilities == pytest.approx(np.array(expected), abs=1e-6)
