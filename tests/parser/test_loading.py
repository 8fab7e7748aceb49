import sys
from types import SimpleNamespace

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.nn import SpanModel
from treecrf.network.runtime.scorer import Scorer as RuntimeScorer
from treecrf.parser import loading
from treecrf.parser.loading import default_device, load_scorer, require_torch
from treecrf.parser.network import network_state
from treecrf.parser.storage import ParserState


@pytest.fixture(scope="module")
def state() -> ParserState:
    return network_state(random_parser(toy_trees(20)))


@pytest.mark.parametrize(
    ("precision", "is_fast", "has_torch", "expected"),
    [
        ("int8", True, True, "int8"),
        ("int8", False, True, "int8"),
        (None, True, True, "int8"),
        (None, False, True, "network"),  # plain C is slower than PyTorch
        (None, False, False, "int8"),
        ("float32", True, True, "network"),
    ],
)
def test_the_precision_selects_the_scorer(
    state: ParserState,
    monkeypatch: pytest.MonkeyPatch,
    precision: loading.Precision | None,
    is_fast: bool,
    has_torch: bool,
    expected: str,
) -> None:
    monkeypatch.setattr(loading, "is_fast", lambda: is_fast)
    monkeypatch.setattr(loading, "has_torch", lambda: has_torch)
    scorer = load_scorer(state, "cpu", precision)
    assert isinstance(scorer, RuntimeScorer if expected == "int8" else SpanModel)
    assert scorer.precision.startswith("int8" if expected == "int8" else "float32") and scorer.device == "cpu"


@pytest.mark.parametrize("has_driver", [True, False])
def test_a_gpu_is_the_default_only_with_a_driver(monkeypatch: pytest.MonkeyPatch, has_driver: bool) -> None:
    monkeypatch.setattr(loading, "_has_gpu_driver", lambda: has_driver)
    monkeypatch.delitem(sys.modules, "torch")
    gpu = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setattr("builtins.__import__", lambda name, *rest: gpu if name == "torch" else __import__(name, *rest))
    assert default_device() == ("cuda" if has_driver else "cpu")


def test_the_error_names_the_command_that_installs_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    require_torch("a GPU")
    monkeypatch.setattr(loading, "has_torch", lambda: False)
    with pytest.raises(ImportError, match=r"a GPU needs PyTorch: pip install 'treecrf\[torch\]'"):
        require_torch("a GPU")
