import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.nn import SpanModel
from treecrf.network.runtime.scorer import DEFAULT_PRECISION
from treecrf.network.runtime.scorer import Scorer as RuntimeScorer
from treecrf.parser import Parser, components
from treecrf.parser.components import default_device, load_scorer, require_torch
from treecrf.parser.network import network_state
from treecrf.parser.pipeline import DEFAULT_BATCHING
from treecrf.parser.storage import ParserState
from treecrf.trees.treebank.well_formed import count_productions

TREES = toy_trees(20)


@pytest.fixture
def parser() -> Parser:
    parser = random_parser(TREES, tag_head=True)
    parser.productions = count_productions(TREES)
    return parser


def test_settings_are_stored_in_the_config(parser: Parser) -> None:
    before = parser.config
    parser.root, parser.f1_threshold, parser.same_label_unaries = "ROOT", 0.25, False
    assert parser.config == replace(before, root="ROOT", f1_threshold=0.25, same_label_unaries=False)
    assert (parser.root, parser.f1_threshold, parser.language) == ("ROOT", 0.25, before.language)
    assert parser.config.model == parser.model_config


@pytest.mark.parametrize(
    ("name", "value"),
    [("f1_threshold", 1.0), ("f1_threshold", -0.1), ("grammar_weight", 1.5), ("grammar_weight", -0.1), ("root", "\n")],
)
def test_impossible_settings_are_refused_and_change_nothing(parser: Parser, name: str, value: object) -> None:
    before = parser.config
    with pytest.raises(ValueError, match=name):
        setattr(parser, name, value)
    assert parser.config == before


def test_settings_renew_the_utility_of_decoding(parser: Parser) -> None:
    assert parser.expected_f1 is None
    parser.f1_threshold = 0.4
    utility = parser.expected_f1
    assert utility is not None and utility.threshold == 0.4 and utility is parser.expected_f1
    assert utility.grammar is not None and utility.grammar.weight == parser.grammar_weight
    parser.grammar_weight = 0.0
    assert parser.expected_f1 is not None and parser.expected_f1.grammar is None


def test_damaged_productions_name_the_parser(parser: Parser) -> None:
    parser.f1_threshold = 0.4
    parser.productions = {(): 1}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"the parser: .*productions.*; copy the folder again"):
        _ = parser.expected_f1


def test_a_one_stage_model_has_smaller_batches_and_sentences() -> None:
    parser = random_parser(TREES, loss="one-stage-crf")
    parser.vocabulary = replace(parser.vocabulary, labels=[f"L{number}" for number in range(3000)])
    assert parser.batching.batch_cells == (1 << 28) // 3000 < DEFAULT_BATCHING["cpu"].batch_cells
    assert parser.reader.max_words == 299


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
    precision: components.Precision | None,
    is_fast: bool,
    has_torch: bool,
    expected: str,
) -> None:
    monkeypatch.setattr(components, "is_fast", lambda: is_fast)
    monkeypatch.setattr(components, "has_torch", lambda: has_torch)
    scorer = load_scorer(state, "cpu", precision)
    assert isinstance(scorer, SpanModel if expected == "network" else RuntimeScorer) and scorer.device == "cpu"
    assert scorer.precision.split()[0] == ("float32" if expected == "network" else expected)


@pytest.mark.parametrize("has_driver", [True, False])
def test_a_gpu_is_the_default_only_with_a_driver(monkeypatch: pytest.MonkeyPatch, has_driver: bool) -> None:
    monkeypatch.setattr(components, "_has_gpu_driver", lambda: has_driver)
    monkeypatch.delitem(sys.modules, "torch")
    gpu = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setattr("builtins.__import__", lambda name, *rest: gpu if name == "torch" else __import__(name, *rest))
    assert default_device() == ("cuda" if has_driver else "cpu")


def test_the_error_names_the_command_that_installs_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    require_torch("a GPU")
    monkeypatch.setattr(components, "has_torch", lambda: False)
    with pytest.raises(ImportError, match=r"a GPU needs PyTorch: pip install 'treecrf\[torch\]'"):
        require_torch("a GPU")
