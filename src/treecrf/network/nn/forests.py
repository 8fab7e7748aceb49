"""The loss of gold forests: sets of trees, each of which is right.

The trees of a forest are the trees of a restricted chart, in which the score of a span is the log-sum of its allowed
labels, less their costs. If the mean cost of the trees is known, costs are multiplied by the factor with which the
trees of a batch have this mean: posterior regularization (Ganchev et al., 2010). No function here synchronizes the
device.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF
from treecrf.chart.torch_backend import logsumexp
from treecrf.network.nn.batch import Spans, TensorBatch
from treecrf.network.nn.scorers import TensorScores

_LARGEST_FACTOR = 64.0
_BISECTIONS = 16


@dataclass(frozen=True)
class _Forests:
    """The restricted charts of a batch."""

    scores: Tensor  # (b, n + 1, n + 1) of spans
    lengths: Tensor
    is_span: Tensor  # (b, n + 1, n + 1) the spans of the forests' trees
    cells: Tensor  # (r,) the spans at which labels have costs
    log_probs: Tensor  # (r, labels); -inf for labels that no tree has
    costs: Tensor  # (r, labels)

    def restrict(self, factor: Tensor | float) -> tuple[SpanCRF, Tensor]:
        """The distribution over trees if costs have this factor, and the mean cost of the labels at each span (r,)."""
        terms = self.log_probs - factor * self.costs
        sums = logsumexp(terms, -1)
        chart = self.scores.flatten().index_add(0, self.cells, sums).view_as(self.scores)
        crf = SpanCRF(chart.masked_fill(~self.is_span, -torch.inf), self.lengths, validate=False)
        label_probs = (terms - sums.masked_fill(sums == -torch.inf, 0.0)[:, None]).exp()
        return crf, (label_probs * self.costs).sum(-1)

    @torch.no_grad()
    def matching_factor(self, mean_cost: Tensor) -> Tensor:
        """The factor with which the trees have a mean cost, by bisection: costs fall as it rises."""
        low, high = (torch.full_like(self.scores[0, 0, 0], bound) for bound in (-_LARGEST_FACTOR, _LARGEST_FACTOR))
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            crf, label_costs = self.restrict(middle)
            is_costly = (crf.marginals.flatten()[self.cells] * label_costs).sum() > mean_cost
            low, high = torch.where(is_costly, middle, low), torch.where(is_costly, high, middle)
        return (low + high) / 2


def forest_loss(crf: SpanCRF, scores: TensorScores, batch: TensorBatch) -> Tensor:
    """-log p(the gold forest), summed over sentences: the probability of all its labeled trees, less their costs.

    If a sentence has a gold tree, its chart has the spans of this tree; its labels have a loss of their own.
    """
    cells, restricted_cells, rows, costs, mean_cost = batch.require(
        "forest_cells", "restricted_cells", "restricted_rows", "label_costs", "mean_cost"
    )
    log_probs = scores.labels_at(Spans.at(restricted_cells, crf.scores.shape[1])).log_softmax(-1)
    is_span = torch.zeros_like(crf.scores, dtype=torch.bool)
    is_span.view(-1).index_fill_(0, torch.cat([cells, batch.spans.cells]), True)
    forests = _Forests(
        scores=crf.scores,
        lengths=scores.lengths,
        is_span=is_span,
        cells=restricted_cells,
        log_probs=log_probs.masked_fill((costs < 0)[rows], -torch.inf),
        costs=(1e-6 * costs.clamp(min=0)).to(log_probs.dtype)[rows],
    )
    is_known = batch.host.require("mean_cost")[0].any()
    factor = forests.matching_factor(1e-6 * mean_cost[0]) if is_known else 1.0
    return (crf.log_partition - forests.restrict(factor)[0].log_partition).sum()
