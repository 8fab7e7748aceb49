"""Distillation: losses by enumeration, and zero gradients for a student that equals its teacher."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from network.nn.batches import SMALL, TREES, VOCABULARY, batch_of, host_batch_of, small_model
from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF
from treecrf.network.data.batch import Batch
from treecrf.network.data.padding import PaddedShape, pad_to
from treecrf.network.nn import IGNORED, SpanModel, TensorBatch
from treecrf.network.nn.distillation import SoftTargets, SoftTargetStore

LOSSES = ["two-stage", "one-stage-crf"]
TAGGED = replace(SMALL, tag_head=True)


def short_batch() -> TensorBatch:
    return batch_of([tree for tree in TREES if len(tree.words) <= 7][:4])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_student_that_equals_its_teacher_gets_zero_gradients(loss: str) -> None:
    model, batch = small_model(TAGGED, loss=loss).double(), batch_of(TREES)
    with torch.no_grad():
        soft_targets = SoftTargets.from_scores([model(batch)], batch, distillation_weight=1.0)
    model.loss(batch, soft_targets).total().backward()
    for parameter in model.parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, torch.zeros_like(parameter), atol=1e-7, rtol=0)


def test_the_span_loss_is_the_cross_entropy_over_the_teachers_trees() -> None:
    teacher, student, batch = small_model().double(), small_model().double(), short_batch()
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.mul_(-0.7)
        theirs, ours = teacher(batch), student(batch)
    soft_targets = SoftTargets.from_scores([theirs], batch, distillation_weight=1.0)
    actual = soft_targets.span_loss(SpanCRF(ours.spans, ours.lengths))
    expected = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(batch.lengths.tolist()):
        every = naive.trees(length, batch.longest + 1)
        teacher_scores, student_scores = (
            torch.where(every, scores.spans[row], 0.0).sum((1, 2)) for scores in (theirs, ours)
        )
        expected -= (teacher_scores.softmax(0) * student_scores.log_softmax(0)).sum()
    torch.testing.assert_close(actual, expected)


def test_the_distillation_weight_interpolates_between_gold_trees_and_soft_targets() -> None:
    batch = batch_of(TREES)
    teachers, student = [small_model(TAGGED), small_model(TAGGED)], small_model(TAGGED)
    with torch.no_grad():
        for parameter in teachers[1].parameters():
            parameter.mul_(0.5)
        scores = [teacher(batch) for teacher in teachers]
        totals = {
            weight: student.loss(batch, SoftTargets.from_scores(scores, batch, distillation_weight=weight)).total()
            for weight in (0.0, 0.25, 1.0)
        }
        gold = student.loss(batch).total()
    torch.testing.assert_close(totals[0.0], gold)
    torch.testing.assert_close(totals[0.25], 0.75 * gold + 0.25 * totals[1.0])
    assert not torch.isclose(gold, totals[1.0])


def test_soft_targets_are_averaged_and_tags_are_by_the_teachers_that_predict_them() -> None:
    batch = batch_of(TREES)
    with torch.no_grad():
        one, other = small_model(TAGGED)(batch), small_model(SMALL)(batch)
    both = SoftTargets.from_scores([one, one], batch, distillation_weight=0.5)
    torch.testing.assert_close(both.spans.sum((1, 2)), 2.0 * batch.lengths - 1)
    torch.testing.assert_close(both.labels.sum(-1), torch.ones(len(both.labels)))
    mixed = SoftTargets.from_scores([one, other], batch, distillation_weight=0.5)
    assert both.tags is not None and mixed.tags is not None
    torch.testing.assert_close(mixed.tags, both.tags)
    assert SoftTargets.from_scores([other], batch, distillation_weight=0.5).tags is None


def test_items_without_a_gold_class_have_no_soft_targets() -> None:
    batch = batch_of(TREES)
    assert batch.labels is not None and batch.gold_tags is not None
    batch.labels[3] = IGNORED
    with torch.no_grad():
        soft_targets = SoftTargets.from_scores([small_model(TAGGED)(batch)], batch, distillation_weight=0.5)
    assert soft_targets.tags is not None
    assert soft_targets.labels[3].sum() == 0 and soft_targets.labels[2].sum() > 0.99
    torch.testing.assert_close(soft_targets.tags.sum(-1), (batch.gold_tags != IGNORED).float())


def test_stored_soft_targets_equal_computed_ones_in_any_batch() -> None:
    model, lengths = small_model(TAGGED), [len(tree.words) for tree in TREES]
    sizes = {"labels": VOCABULARY.sizes.labels, "tags": VOCABULARY.sizes.tags}
    store = SoftTargetStore(lengths, **sizes, distillation_weight=0.5, device=torch.device("cpu"))
    for ids in (list(range(5)), list(range(5, len(TREES)))):
        batch = TensorBatch.from_host(_host_batch(ids))
        store.write(batch, _targets(model, batch))
    ids = [4, 0, len(TREES) - 1, 4]
    shape = PaddedShape(sentences=6, words=max(lengths) + 2, distinct_words=48, chars=12)
    for host_batch in (_host_batch(ids), pad_to(_host_batch(ids), shape)):
        batch = TensorBatch.from_host(host_batch)
        for actual, expected in zip(store.read(batch), _targets(model, batch), strict=True):
            torch.testing.assert_close(actual, expected, atol=1e-3, rtol=0)


def _host_batch(ids: list[int]) -> Batch:
    return replace(host_batch_of([TREES[index] for index in ids]), sentence_ids=np.array(ids, dtype=np.int64))


@torch.no_grad()
def _targets(model: SpanModel, batch: TensorBatch) -> SoftTargets:
    return SoftTargets.from_scores([model(batch)], batch, distillation_weight=0.5)
