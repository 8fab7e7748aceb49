"""Saved parsers as networks of PyTorch, and networks as saved parsers."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.chart.tree_crf import TreeCRF
from treecrf.network.nn import SpanModel
from treecrf.network.nn.bert import SkipInit
from treecrf.network.nn.transformer import build_encoder, save_encoder_config
from treecrf.network.runtime.weights import dequantize_weights
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.storage import ENCODER, ParserState, check_shapes
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import from_spans, is_intermediate, to_spans

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
        components=parser.arrays,
    )


def to_span_crf(distribution: BracketDistribution, device: str) -> SpanCRF:
    """Converts a distribution over bracketings to tensors on a device."""
    scores, lengths = torch.from_numpy(distribution.scores), torch.from_numpy(distribution.lengths)
    return SpanCRF(scores.to(device), lengths, validate=False)


def to_tree_crf(distribution: TreeDistribution, device: str) -> TreeCRF:
    """Converts a distribution over trees to tensors on a device.

    The empty label is free, except in sentences of one word, where it gives a tree without a root. In a batch with such
    a sentence, it counts as a constituent, and in the other sentences it is added to another free label.
    """
    if distribution.all_derivations:
        raise ValueError(
            'a model with the loss "tree" sums over all derivations of a tree, and TreeCRF has one of them'
        )
    lengths, shape = distribution.scores.lengths, distribution.scores.spans.shape
    is_span, strings = distribution.scores.is_span, distribution.labels.strings
    cells = np.flatnonzero(is_span)
    potentials = np.zeros((is_span.size, len(strings)))
    potentials[cells] = distribution.potentials(cells)
    shortest = int(lengths.argmin())
    is_free = distribution.is_free(shortest)
    if lengths[shortest] == 1 and "" in strings:
        empty, others = strings.index(""), np.flatnonzero(is_span & (lengths[:, None, None] > 1))
        if len(others) and not is_free.any():
            raise ValueError("the model has no intermediate labels; give sentences of one word in a batch of their own")
        if len(others):
            first_free = int(is_free.argmax())
            potentials[others, first_free] = np.logaddexp(potentials[others, first_free], potentials[others, empty])
            potentials[others, empty] = -np.inf
    allowed = torch.from_numpy(potentials > -np.inf).view(*shape, -1)
    label_scores = torch.from_numpy(np.where(potentials > -np.inf, potentials, 0.0)).view(*shape, -1)
    return TreeCRF(
        torch.zeros(shape, dtype=torch.float64, device=device),
        label_scores.to(device),
        torch.from_numpy(lengths).to(device),
        is_constituent=torch.from_numpy(~is_free).to(device),
        normalize_labels=False,
        allowed=None if allowed.all() else allowed.to(device),
    )


def trees_to_charts(trees: Sequence[Tree], labels: Sequence[str], device: str) -> Tensor:
    """The label ids of the constituents below the root, (b, n + 1, n + 1), and -1 elsewhere."""
    size, ids = max(len(tree.words) for tree in trees) + 1, {label: number for number, label in enumerate(labels)}
    charts = torch.full((len(trees), size, size), -1)
    for number, tree in enumerate(trees):
        for start, end, label in to_spans(tree):
            if not is_intermediate(label):
                if label not in ids:
                    raise ValueError(
                        f"tree {number} has {label!r} over words[{start}:{end}], which is no label of the model"
                    )
                charts[number, start, end] = ids[label]
    return charts.to(device)


def charts_to_trees(
    charts: Tensor, leaves: Iterable[Sequence[Tree]], labels: Sequence[str], root: str
) -> Iterator[Tree]:
    """The trees of charts of label ids, over the preterminals of each sentence."""
    for chart, preterminals in zip(charts.cpu(), leaves, strict=True):
        positions = (chart >= 0).nonzero().tolist()
        yield from_spans([Span(i, j, labels[int(chart[i, j])]) for i, j in positions], preterminals, root)
