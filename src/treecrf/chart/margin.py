"""The max-margin loss of one-stage parsers, in the same chart."""

import torch
from torch import Tensor

from treecrf.chart.crf import SpanCRF


def margin_loss(scores: Tensor, lengths: Tensor, gold: Tensor, *, margin: float = 1.0) -> Tensor:
    """How far the gold tree falls short of beating every other tree by its Hamming cost, (b,).

    `scores` is (b, n + 1, n + 1, labels); `gold` is (b, n + 1, n + 1): the label of each gold span, -1 elsewhere. Each
    labelled span that is not gold costs `margin`. Labels are maximised out before the cubic loop.
    """
    is_gold = gold >= 0
    gold_scores = scores.gather(-1, gold.clamp(min=0)[..., None])[..., 0]
    right = torch.nn.functional.one_hot(gold.clamp(min=0), scores.shape[-1]).bool() & is_gold[..., None]
    costly = torch.where(right, scores, scores + margin).amax(-1)
    rival = SpanCRF(costly.detach().float(), lengths, validate=False).argmax
    total = torch.where(rival, costly, 0.0) - torch.where(is_gold, gold_scores, 0.0)
    return total.sum((-1, -2)).clamp(min=0)
