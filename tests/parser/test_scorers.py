import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.nn import SpanModel
from treecrf.network.runtime.scorer import DEFAULT_PRECISION
from treecrf.network.runtime.scorer import Scorer as RuntimeScorer
from treecrf.network.runtime.weights import dequantize_weights
from treecrf.parser import Parser, scorers
from treecrf.parser.network import network_state
from treecrf.parser.scorers import default_device, load_scorer, require_torch
from treecrf.parser.storage import ParserState


@pytest.fixture(scope="module")
def state() -> ParserState:
    return network_state(random_parser(toy_trees(20)))


@pytest.mark.parametrize(
    ("precision", "is_fast", "has_torch", "expected"),
    [
        ("int8", True, True, "int8"),
        ("int14", False, True, "int14"),
        (None, True, True, DEFAULT_PRECISION),
        (None, False, True, "network"),  # plain C is slower than PyTorch
        (None, False, False, DEFAULT_PRECISION),
        ("float32", True, True, "network"),
    ],
)
def test_the_precision_selects_the_scorer(
    state: ParserState,
    monkeypatch: pytest.MonkeyPatch,
    precision: scorers.Precision | None,
    is_fast: bool,
    has_torch: bool,
    expected: str,
) -> None:
    monkeypatch.setattr(scorers, "is_fast", lambda: is_fast)
    monkeypatch.setattr(scorers, "has_torch", lambda: has_torch)
    scorer = load_scorer(state, "cpu", precision)
    assert isinstance(scorer, SpanModel if expected == "network" else RuntimeScorer) and scorer.device == "cpu"
    assert scorer.precision.split()[0] == ("float32" if expected == "network" else expected)


@pytest.mark.parametrize(
    ("precision", "half_precision", "is_half"),
    [(None, True, True), (None, False, False), ("float16", False, True), ("float32", True, False)],
)
def test_a_gpu_computes_in_half_precision_if_the_model_says_so(
    state: ParserState,
    monkeypatch: pytest.MonkeyPatch,
    precision: scorers.Precision | None,
    half_precision: bool,
    is_half: bool,
) -> None:
    monkeypatch.setattr(SpanModel, "to", lambda self, _: self)
    state = replace(state, config=replace(state.config, half_precision=half_precision))
    parser = Parser.from_state(state, "cuda", precision=precision)
    assert parser.scorer.precision == ("float16" if is_half else "float32")
    assert parser.model.precision == "float32"  # what trains or is saved has the whole weights
    assert all(
        np.array_equal(parser.state().weights[name], weight)
        for name, weight in dequantize_weights(state.weights).items()
    )


def test_half_precision_on_a_cpu_is_an_error(state: ParserState) -> None:
    with pytest.raises(
        ValueError, match="cannot run in half precision: it runs on cpu; load it with precision='float32'"
    ):
        load_scorer(state, "cpu", "float16")


@pytest.mark.parametrize("has_driver", [True, False])
def test_a_gpu_is_the_default_only_with_a_driver(monkeypatch: pytest.MonkeyPatch, has_driver: bool) -> None:
    monkeypatch.setattr(scorers, "_has_gpu_driver", lambda: has_driver)
    monkeypatch.delitem(sys.modules, "torch")
    gpu = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setattr("builtins.__import__", lambda name, *rest: gpu if name == "torch" else __import__(name, *rest))
    assert default_device() == ("cuda" if has_driver else "cpu")


def test_the_error_names_the_command_that_installs_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    require_torch("a GPU")
    monkeypatch.setattr(scorers, "has_torch", lambda: False)
    with pytest.raises(ImportError, match=r"a GPU needs PyTorch: pip install 'treecrf\[torch\]'"):
        require_torch("a GPU")
