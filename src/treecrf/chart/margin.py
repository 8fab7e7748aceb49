"""The max-margin loss of one-stage parsers, which only the paper's ablations train."""

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF


def margin_loss(scores: Tensor, lengths: Tensor, gold: Tensor, *, margin: float = 1.0) -> Tensor:
    """The structured hinge loss with Hamming cost: the best cost-augmented score minus the gold tree's score, (b,).

    `scores` is (b, n + 1, n + 1, labels); `gold` is (b, n + 1, n + 1): the label of each gold span, -1 elsewhere. Each
    labeled span that is not gold costs `margin`. The maximum over labels is taken before the cubic loop.
    """
    is_gold = gold >= 0
    gold_scores = scores.gather(-1, gold.clamp(min=0)[..., None])[..., 0]
    is_gold_label = torch.nn.functional.one_hot(gold.clamp(min=0), scores.shape[-1]).bool() & is_gold[..., None]
    augmented = torch.where(is_gold_label, scores, scores + margin).amax(-1)
    best_tree = SpanCRF(augmented.detach().float(), lengths, validate=False).argmax
    violation = torch.where(best_tree, augmented, 0.0) - torch.where(is_gold, gold_scores, 0.0)
    return violation.sum((-1, -2)).clamp(min=0)
