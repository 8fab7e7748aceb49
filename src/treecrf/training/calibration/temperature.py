"""Temperature scaling: divides span and label scores by temperatures, so that probabilities are calibrated.

Scores are linear in the last weights of their scorer, so a temperature divides these weights once. Batches,
constraints, alternatives and quantization then need no change.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from treecrf.arrays import Doubles, Floats
from treecrf.chart import inside, outside
from treecrf.network.data.batch import Scores
from treecrf.network.nn import SpanModel
from treecrf.parser import Parser
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.log_space import log_softmax, logsumexp
from treecrf.training.calibration.predictions import match_constituents, score_batches
from treecrf.training.calibration.reliability import log_losses
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet

CHOICES = tuple(float(choice) for choice in np.geomspace(0.5, 4.0, 40))


class Temperatures(NamedTuple):
    """The divisors of span scores and label scores; equal for a one-stage model, which only scores labeled spans."""

    spans: float = 1.0
    labels: float = 1.0


def fit_temperatures(parser: Parser, trees: Sequence[Tree], *, choices: Sequence[float] = CHOICES) -> Temperatures:
    """Finds the temperatures with the lowest log loss of the uncalibrated parser's constituents, by grid search."""
    one_stage = parser.model_config.one_stage
    labels = LabelSet(parser.vocabulary.labels)
    losses = np.zeros((len(choices), len(choices)))  # by temperature of spans and of labels
    for scores, gold in score_batches(parser, trees):
        span_probabilities, label_probabilities, is_correct = _probabilities_on_grid(scores, gold, labels, choices)
        for number, marginals in enumerate(span_probabilities):
            if one_stage:
                losses[number, number] += log_losses(marginals * label_probabilities[number], is_correct).sum()
            else:
                losses[number] += log_losses(marginals * label_probabilities, is_correct).sum(-1)
    if one_stage:
        best = int(np.diagonal(losses).argmin())
        return Temperatures(choices[best], choices[best])
    best_spans, best_labels = divmod(int(losses.argmin()), len(choices))
    return Temperatures(choices[best_spans], choices[best_labels])


def _probabilities_on_grid(
    scores: Scores, gold: Sequence[Tree], labels: LabelSet, temperatures: Sequence[float]
) -> tuple[Doubles, Doubles, Doubles]:
    """Returns probabilities of predicted constituents, and whether each is correct (constituents,).

    The probabilities (temperatures, constituents) are of the constituent's span, and of its label given the span.
    """
    constituents = match_constituents(scores, decode(scores), labels, gold)
    label_scores = scores.labels_at(constituents.cells)
    marginals, name_probabilities = [], []
    for temperature in temperatures:
        marginals.append(_marginals(scores, temperature).ravel()[constituents.cells][constituents.rows])
        probabilities = np.exp(log_softmax(label_scores / np.float32(temperature)))
        name_probabilities.append((probabilities @ labels.contains)[constituents.rows, constituents.columns])
    return np.stack(marginals).astype(float), np.stack(name_probabilities), np.array(constituents.is_correct, float)


def _marginals(scores: Scores, temperature: float) -> Floats:
    """Returns the probabilities of spans at a temperature."""
    spans = scores.spans / np.float32(temperature)
    if scores.labels is not None:
        spans = logsumexp(scores.labels / np.float32(temperature)).astype(np.float32)
    return outside(spans, scores.lengths, inside(spans, scores.lengths)[0])


@torch.no_grad()
def apply_temperatures(model: SpanModel, temperatures: Temperatures) -> None:
    """Divides a model's scores by temperatures, in place, by dividing the weights of its scorers."""
    if min(temperatures) <= 0:
        raise ValueError(f"temperatures are {tuple(temperatures)}; expected numbers above 0")
    if model.span_scorer is None and temperatures.spans != temperatures.labels:
        raise ValueError(
            f"temperatures are {tuple(temperatures)}, but the model has one scorer for spans and labels; "
            "expected two equal temperatures"
        )
    for scorer, temperature in ((model.span_scorer, temperatures.spans), (model.label_scorer, temperatures.labels)):
        for weight in [] if scorer is None else scorer.output_weights():
            weight.div_(temperature)
