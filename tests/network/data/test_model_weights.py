"""The shapes of weights, compared with the network's own."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from network.berts import small_bert
from treecrf.network.data.model_config import weight_shapes
from treecrf.network.nn import ModelConfig, Sizes, SpanModel
from treecrf.network.nn.bert import Bert

SIZES = Sizes(words=11, chars=7, labels=5, tags=19)
# the sizes differ, so that a size in the wrong place is found
CONFIG = ModelConfig(
    word_size=4, char_embedding_size=21, char_size=6, lstm_size=10, lstm_layers=2, span_size=9, label_size=13
)
BERT = small_bert(23, 8, layers=2, heads=2, inner=18, positions=15)
WORD_INPUTS = [
    {"char_size": char_size, "tag_size": tag_size, "vectors": vectors}
    for char_size, tag_size, vectors in product((0, 6), (0, 2), (0, 17))
]
OUTPUTS = [
    {"loss": loss, "scorer": scorer, "tag_head": tag_head}
    for loss, scorer, tag_head in product(
        ("two-stage", "one-stage-crf", "one-stage-margin"), ("biaffine", "minus"), (False, True)
    )
]
_BESIDE_WORDS = {"transformer": "tiny", "transformer_layers": 2}
_ENCODER = {"transformer": "tiny", "transformer_layers": 2, "encoder": "transformer"}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "none": {},
    "feature": {**_BESIDE_WORDS, "transformer_size": 14},
    "whole feature": {**_BESIDE_WORDS, "transformer_size": 0},
    "tuned feature": {**_BESIDE_WORDS, "transformer_size": 14, "transformer_tuned": True},
    "alone": _ENCODER,
    "with word inputs": {**_ENCODER, "add_word_inputs": True},
}


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_shapes_are_those_of_the_network(transformer: str) -> None:
    for word_inputs, outputs in product(WORD_INPUTS, OUTPUTS):
        changes = TRANSFORMERS[transformer] | word_inputs | outputs
        if transformer == "alone":
            changes["tag_size"] = 0  # without word inputs, a transformer does not read tags
        sizes = replace(SIZES, vectors=changes.pop("vectors"))
        config = replace(CONFIG, **changes)
        encoder = BERT if config.transformer else None
        model = SpanModel(config, sizes, encoder=None if encoder is None else Bert(encoder))
        expected = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
        assert weight_shapes(config, sizes, encoder) == expected, changes
