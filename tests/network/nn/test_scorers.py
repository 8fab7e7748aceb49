from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from network.nn.batches import TREES, batch_of, host_batch_of, small_model
from treecrf.network.nn import TensorBatch
from treecrf.network.nn.batch import Spans
from treecrf.network.nn.scorers import MLP, Biaffine, Minus


def randomized(scorer):
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.normal_()
    return scorer.double()


@pytest.mark.parametrize("bias_right", [True, False])
def test_biaffine_equals_its_formula_for_every_span_and_class(bias_right):
    torch.manual_seed(0)
    scorer = randomized(Biaffine(6, 4, 3, bias_right=bias_right))
    left, right = scorer.project(torch.randn(2, 5, 6, dtype=torch.float64))
    chart = scorer(left, right)
    assert chart.shape == (2, 5, 5, 3)
    whole = torch.cat([scorer.weight, scorer.weight_right[:, None]], 1)
    if bias_right:
        whole = torch.cat([whole, torch.cat([scorer.weight_left, scorer.bias[:, None]], 1)[:, :, None]], 2)
    one = torch.ones(1, dtype=torch.float64)
    for b, i, j, k in torch.cartesian_prod(*(torch.arange(size) for size in chart.shape)):
        end = torch.cat([right[b, j], one]) if bias_right else right[b, j]
        torch.testing.assert_close(chart[b, i, j, k], torch.cat([left[b, i], one]) @ whole[k] @ end)


def test_minus_equals_an_mlp_over_every_difference():
    torch.manual_seed(0)
    scorer = randomized(Minus(6, 4, 3))
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    chart = scorer(*scorer.project(x))
    for b, i, j in torch.cartesian_prod(torch.arange(2), torch.arange(5), torch.arange(5)):
        hidden = F.leaky_relu(scorer.linear.weight @ (x[b, i] - x[b, j]) + scorer.bias, 0.1)
        torch.testing.assert_close(chart[b, i, j], scorer.out(hidden))


@pytest.mark.parametrize("classes", [1, 3, 40])  # the way to compute scores depends on the number of classes
@pytest.mark.parametrize("build", [Biaffine, partial(Biaffine, bias_right=False), Minus], ids=["both", "left", "minus"])
def test_selected_spans_have_the_scores_of_the_chart(build, classes, monkeypatch):
    monkeypatch.setattr("treecrf.network.nn.scorers._SPANS_PER_CHUNK", 3)
    torch.manual_seed(0)
    scorer = randomized(build(6, 4, classes))
    left, right = scorer.project(torch.randn(2, 5, 6, dtype=torch.float64))
    cells = torch.tensor([1, 7, 13, 19, 26, 29, 44])
    expected = scorer(left, right).flatten(0, 2)[cells]
    torch.testing.assert_close(scorer.at(left, right, Spans.at(cells, 5)), expected)
    with torch.no_grad():
        torch.testing.assert_close(scorer.at(left, right, Spans.at(cells, 5)), expected)


def test_dropout_before_the_activation_of_minus_equals_dropout_after_it():
    torch.manual_seed(0)
    scorer = randomized(Minus(6, 40, 3, dropout=0.5))
    x = torch.randn(1, 2, 6, dtype=torch.float64)
    torch.manual_seed(1)
    left, right = scorer.project(x)
    torch.manual_seed(1)
    mask = F.dropout(torch.ones(1, 1, 40, dtype=torch.float64), 0.5)[0, 0]
    hidden = F.leaky_relu(scorer.linear.weight @ (x[0, 0] - x[0, 1]) + scorer.bias, 0.1)
    torch.testing.assert_close(scorer(left, right)[0, 0, 1], scorer.out(hidden * mask))


def test_vanilla_dropout_of_minus_has_one_mask_for_each_difference():
    torch.manual_seed(0)
    scorer = randomized(Minus(6, 40, 3, dropout=0.5, kind="vanilla"))
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    torch.manual_seed(1)
    chart = scorer(*scorer.project(x))
    torch.manual_seed(1)
    masks = F.dropout(torch.ones(2, 4, 4, 40, dtype=torch.float64), 0.5)
    for b, i, j in torch.cartesian_prod(torch.arange(2), torch.arange(4), torch.arange(4)):
        hidden = F.leaky_relu(scorer.linear.weight @ (x[b, i] - x[b, j]) + scorer.bias, 0.1)
        torch.testing.assert_close(chart[b, i, j], scorer.out(hidden * masks[b, i, j]))


def test_each_part_of_an_mlp_is_orthogonal():
    for weight in MLP(30, 5, parts=2).linear.weight.split(5):
        torch.testing.assert_close(weight @ weight.T, torch.eye(5), atol=1e-5, rtol=0)


@pytest.mark.parametrize("scorer", [Biaffine(6, 4, 3), Minus(6, 4, 3)], ids=["biaffine", "minus"])
def test_scores_start_at_zero(scorer):
    assert not scorer(*scorer.project(torch.randn(2, 5, 6))).any()


LOSSES = ["two-stage", "one-stage-crf", "one-stage-margin"]


@pytest.mark.parametrize("loss", LOSSES)
def test_score_equals_the_forward_pass_without_dropout(loss):
    model, batch = small_model(loss=loss, tag_head=True, dropout=0.5), host_batch_of(TREES)
    assert model.training
    scores = model.score(batch)
    assert not model.training
    expected = model(TensorBatch.from_host(batch))
    assert (scores.is_crf, scores.lengths.tolist()) == (expected.is_crf, batch.lengths.tolist())
    for name in ("spans", "labels", "tags"):
        actual, tensor = getattr(scores, name), getattr(expected, name)
        assert (actual is None) == (tensor is None), name
        assert tensor is None or np.array_equal(actual, tensor.detach().numpy()), name
    label_scores = expected.labels_at(Spans.at(torch.from_numpy(batch.cells), batch.longest + 1))
    assert np.array_equal(scores.labels_at(batch.cells), label_scores.detach().numpy())
    model.train()
    assert not np.array_equal(model(TensorBatch.from_host(batch)).spans.detach().numpy(), scores.spans)


def test_scores_are_float32_under_autocast():
    model = small_model(tag_head=True)
    with torch.autocast("cpu", torch.bfloat16):
        scores = model(batch_of(TREES))
        assert model.loss(batch_of(TREES)).total().dtype == torch.float32
    assert {scores.spans.dtype, scores.left.dtype, scores.labels_at(batch_of(TREES).spans).dtype} == {torch.float32}
