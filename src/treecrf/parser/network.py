"""Saved parsers as networks of PyTorch, and networks as saved parsers."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from treecrf.chart.crf import SpanCRF
from treecrf.network.nn import SpanModel
from treecrf.network.nn.bert import SkipInit
from treecrf.network.nn.transformer import build_encoder, save_encoder_config
from treecrf.network.runtime.weights import dequantize_weights
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.storage import ENCODER, ParserState, check_shapes

if TYPE_CHECKING:
    from treecrf.parser.parser import Parser


def build_network(state: ParserState) -> SpanModel:
    source = state.folder or "the parser"  # for error messages
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


def network_state(parser: "Parser") -> ParserState:
    """Builds the ParserState of a parser that has a PyTorch network."""
    model, encoder_json = parser.model, None
    if model.transformer is not None:
        with tempfile.TemporaryDirectory() as folder:
            save_encoder_config(model.transformer.encoder, folder)
            encoder_json = Path(folder, ENCODER).read_bytes()
    return ParserState(
        config=parser.config,
        vocabulary=parser.vocabulary,
        weights={name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()},
        subwords=parser.subwords,
        encoder_json=encoder_json,
        productions=parser.productions,
    )


def to_span_crf(distribution: BracketDistribution, device: str) -> SpanCRF:
    """Converts a distribution over bracketings to tensors on a device."""
    scores, lengths = torch.from_numpy(distribution.scores), torch.from_numpy(distribution.lengths)
    return SpanCRF(scores.to(device), lengths, validate=False)
