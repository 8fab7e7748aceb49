"""Temperatures: by how much a parser's scores are to be divided, so that its probabilities come true.

Scores are linear in the last weights of their scorer, so a temperature is applied by dividing those once. Nothing else
has to know of it: batches, constraints, alternatives and smaller numbers all see the scores of a calibrated parser.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from treecrf.calibration.predictions import scored
from treecrf.calibration.reliability import Numbers, log_losses
from treecrf.chart.crf import SpanCRF
from treecrf.data.batch import Spans
from treecrf.decoding import decode
from treecrf.nn import Scores, SpanModel
from treecrf.nn.scorers import Biaffine, Minus
from treecrf.parser import Parser
from treecrf.tree import Tree
from treecrf.treebank.binarize import LabelSet, unary_chain

CHOICES = tuple(float(choice) for choice in np.geomspace(0.5, 4.0, 40))


class Temperatures(NamedTuple):
    """What span scores and label scores are divided by; the same where a model has only scores of labelled spans."""

    spans: float = 1.0
    labels: float = 1.0


def fit_temperatures(parser: Parser, trees: Sequence[Tree], *, choices: Sequence[float] = CHOICES) -> Temperatures:
    """The temperatures at which the constituents that the parser finds are most likely as right and wrong as they are.

    Found on a grid; trees are those that it finds as it is.
    """
    one_stage = parser.model.config.one_stage
    total = np.zeros((len(choices), len(choices)))
    for scores, gold in scored(parser, trees):
        spans, labels, right = _at_choices(parser, scores, gold, choices)
        for place, marginals in enumerate(spans):
            if one_stage:
                total[place, place] += log_losses(marginals * labels[place], right).sum()
            else:
                total[place] += log_losses(marginals * labels, right).sum(-1)
    if one_stage:
        best = int(np.diagonal(total).argmin())
        return Temperatures(choices[best], choices[best])
    best_spans, best_labels = divmod(int(total.argmin()), len(choices))
    return Temperatures(choices[best_spans], choices[best_labels])


@torch.no_grad()
def _at_choices(
    parser: Parser, scores: Scores, gold: Sequence[Tree], choices: Sequence[float]
) -> tuple[Numbers, Numbers, Numbers]:
    """The constituents that were found: for each choice, how probable their spans are and, given those, their names."""
    names = LabelSet(parser.vocabulary.labels)
    decoded = decode(scores)
    size = scores.spans.shape[1]
    owners = torch.repeat_interleave(2 * scores.lengths - 1)
    cells = (owners * size + decoded.starts) * size + decoded.ends
    spans, columns, right = _found(
        owners.tolist(), decoded.starts.tolist(), decoded.ends.tolist(), decoded.labels.tolist(), gold, names
    )
    where = torch.tensor(spans, dtype=torch.int64, device=cells.device)
    column = torch.tensor(columns, dtype=torch.int64, device=cells.device)
    raw = scores.labels_at(Spans.at(cells, size))
    holds = torch.from_numpy(names.contains).to(raw)
    marginals, held = [], []
    for choice in choices:
        marginals.append(_crf(scores, choice).marginals.flatten()[cells][where].cpu())
        held.append(((raw / choice).softmax(-1) @ holds)[where, column].cpu())
    return torch.stack(marginals).double().numpy(), torch.stack(held).double().numpy(), np.array(right, float)


def _crf(scores: Scores, temperature: float) -> SpanCRF:
    """The distribution over bracketings at a temperature."""
    if scores.labels is None:
        return SpanCRF(scores.spans / temperature, scores.lengths, validate=False)
    return SpanCRF((scores.labels / temperature).logsumexp(-1), scores.lengths, validate=False)


def _found(
    owners: list[int], starts: list[int], ends: list[int], labels: list[int], gold: Sequence[Tree], names: LabelSet
) -> tuple[list[int], list[int], list[bool]]:
    """Of each constituent: the place of its span, the column of its name, and whether the gold tree has it."""
    columns = {name: column for column, name in enumerate(names.names)}
    truth = [{*tree.spans()} for tree in gold]
    places, found, right = [], [], []
    for place, (owner, start, end, label) in enumerate(zip(owners, starts, ends, labels, strict=True)):
        for name in unary_chain(names.strings[label]):
            places.append(place)
            found.append(columns[name])
            right.append((start, end, name) in truth[owner])
    return places, found, right


@torch.no_grad()
def apply_temperatures(model: SpanModel, temperatures: Temperatures) -> None:
    """Divide a model's scores, by way of its weights."""
    if min(temperatures) <= 0:
        raise ValueError(f"temperatures are {tuple(temperatures)}; expected numbers above 0")
    if model.span_scorer is None and temperatures.spans != temperatures.labels:
        raise ValueError(
            f"temperatures are {tuple(temperatures)} for a model that scores labelled spans; expected the same twice"
        )
    for scorer, temperature in ((model.span_scorer, temperatures.spans), (model.label_scorer, temperatures.labels)):
        for weight in _last_weights(scorer):
            weight /= temperature


def _last_weights(scorer: Biaffine | Minus | None) -> list[Tensor]:
    """The weights that a scorer's scores are linear in."""
    if scorer is None:
        return []
    last: nn.Module = scorer.out if isinstance(scorer, Minus) else scorer
    return [parameter.data for parameter in last.parameters(recurse=False)]
