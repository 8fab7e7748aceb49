import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chart.charts import random_tree
from treecrf.chart import naive
from treecrf.chart.margin import margin_loss

LABELS = 3


def best_augmented_score(scores, gold, length, margin):
    """The best cost-augmented score, by enumeration of all trees with the best label of each span."""
    is_gold_label = torch.nn.functional.one_hot(gold.clamp(min=0), LABELS).bool() & (gold >= 0)[..., None]
    augmented = torch.where(is_gold_label, scores, scores + margin).amax(-1)
    return naive.tree_scores(augmented, length)[1].max()


@given(st.integers(1, 6), st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 2.5]))
@settings(max_examples=30)
def test_margin_loss_is_the_worst_violation_over_all_labeled_trees(length, seed, margin):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(1, length + 1, length + 1, LABELS, generator=generator, dtype=torch.float64)
    labels = torch.randint(LABELS, (length + 1, length + 1), generator=generator)
    gold = torch.where(random_tree(length, length + 1, generator), labels, -1)
    best = best_augmented_score(scores[0], gold, length, margin)
    is_gold = gold >= 0
    gold_score = scores[0].gather(-1, gold.clamp(min=0)[..., None])[..., 0][is_gold].sum()
    loss = margin_loss(scores, torch.tensor([length]), gold[None], margin=margin)
    torch.testing.assert_close(loss[0], (best - gold_score).clamp(min=0), atol=1e-5, rtol=1e-6)


def test_gradient_raises_the_gold_tree_and_lowers_the_best_other_tree():
    scores = torch.zeros(1, 3, 3, LABELS, requires_grad=True)
    gold = torch.tensor([[[-1, 0, 1], [-1, -1, 2], [-1, -1, -1]]])
    loss = margin_loss(scores, torch.tensor([2]), gold)
    loss.sum().backward()
    assert scores.grad is not None
    assert loss.item() == 3.0
    assert scores.grad[0, 0, 1, 0] == scores.grad[0, 0, 2, 1] == scores.grad[0, 1, 2, 2] == -1.0
    assert scores.grad.sum().item() == 0.0
