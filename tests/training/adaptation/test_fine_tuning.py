from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf import Parser
from treecrf.network.runtime.weights import dequantize_weights
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.training.adaptation.adapt import settings_for
from treecrf.training.adaptation.fine_tuning import fine_tune, is_context, shuffled_batches
from treecrf.training.data_loader import Corpus


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    save_parser_state(folder, random_parser(toy_trees(60), tag_head=True).state(), weight_step=0.0)
    return folder


def test_only_layers_and_scorers_change_and_large_weights_stay_bytes(packed: Path) -> None:
    state, parser = load_parser_state(packed), Parser.load(packed, "cpu", precision="float32")
    corpus = Corpus.from_trees(toy_trees(10), parser.vocabulary)
    config = replace(settings_for(10), epochs=2, learning_rate=1e-2)
    first, second = fine_tune(state, parser, corpus, config)
    assert first.weights.keys() == second.weights.keys() == state.weights.keys()
    for name, weight in second.weights.items():
        assert weight.dtype == state.weights[name].dtype
        is_same = np.array_equal(weight, state.weights[name])
        assert is_same or is_context(name.removeprefix("scale/")), name
    changed = [name for name, weight in second.weights.items() if not np.array_equal(weight, state.weights[name])]
    assert any("lstm" in name for name in changed)
    assert any("label_scorer" in name for name in changed)


def test_training_is_repeatable(packed: Path) -> None:
    state, parser = load_parser_state(packed), Parser.load(packed, "cpu", precision="float32")
    corpus = Corpus.from_trees(toy_trees(10), parser.vocabulary)
    runs = [list(fine_tune(state, parser, corpus, settings_for(10)))[-1] for _ in range(2)]
    first, second = (dequantize_weights(run.weights) for run in runs)
    assert all(np.allclose(weight, second[name], atol=1e-3) for name, weight in first.items())


def test_every_sentence_is_in_one_batch_of_an_epoch() -> None:
    config = replace(settings_for(10), batch_words=20)
    lengths = [5, 30, 7, 9, 11, 2, 8]
    batches = shuffled_batches(lengths, config, 0)
    assert sorted(number for batch in batches for number in batch) == list(range(7))
    assert all(len(batch) == 1 or sum(lengths[number] for number in batch) <= 20 for batch in batches)
    assert batches != shuffled_batches(lengths, config, 1)
