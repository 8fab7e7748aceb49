"""Saved parsers as networks of PyTorch, and networks as saved parsers."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch

from treecrf.chart.crf import SpanCRF
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import SpanModel
from treecrf.network.nn.skip_init import SkipInit
from treecrf.network.nn.transformer import build_encoder, save_encoder_config
from treecrf.network.runtime.weights import dequantize_weights
from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.storage import ENCODER, ParserConfig, ParserState
from treecrf.parser.weight_file import check_shapes
from treecrf.trees.treebank.productions import Production


def build_network(state: ParserState, source: str | Path) -> SpanModel:
    """The network of a saved parser; `source` names it in error messages."""
    encoder = None
    if state.encoder_json is not None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, ENCODER).write_bytes(state.encoder_json)
            if state.bert is None:
                _check_encoder(folder, state, source)
            encoder = build_encoder(folder)
    with SkipInit():
        model = SpanModel(state.config.model, state.vocabulary.sizes, encoder=encoder)
    tensors = {name: torch.from_numpy(array) for name, array in dequantize_weights(state.weights).items()}
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    check_shapes({name: tuple(tensor.shape) for name, tensor in tensors.items()}, expected, source)
    model.load_state_dict(tensors, strict=True, assign=True)
    return model.eval()


def _check_encoder(folder: str, state: ParserState, source: str | Path) -> None:
    """Checks the weights of an encoder that transformers builds, before memory is allocated for it."""
    with torch.device("meta"):
        expected = {name: tuple(tensor.shape) for name, tensor in build_encoder(folder).state_dict().items()}
    prefix = "transformer.encoder."
    actual = {
        name.removeprefix(prefix): weight.shape for name, weight in state.weights.items() if name.startswith(prefix)
    }
    check_shapes(actual, expected, source)


def network_state(
    config: ParserConfig,
    model: SpanModel,
    *,
    vocabulary: Vocabulary,
    subwords: SubwordTokenizer | None,
    productions: Mapping[Production, int],
) -> ParserState:
    """What `save_parser_state` writes of a parser with a network."""
    encoder_json = None
    if model.transformer is not None:
        with tempfile.TemporaryDirectory() as folder:
            save_encoder_config(model.transformer.encoder, folder)
            encoder_json = Path(folder, ENCODER).read_bytes()
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    return ParserState(
        config=config,
        vocabulary=vocabulary,
        weights=weights,
        subwords=subwords,
        encoder_json=encoder_json,
        productions=productions,
    )


def to_span_crf(distribution: BracketDistribution, device: str) -> SpanCRF:
    """A distribution over bracketings as tensors on a device."""
    scores, lengths = torch.from_numpy(distribution.scores), torch.from_numpy(distribution.lengths)
    return SpanCRF(scores.to(device), lengths, validate=False)
