"""Losses compared with sums over all trees and labels."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from network.nn.batches import NUMERICALIZER, SMALL, TREES, VOCABULARY, batch_of, host_batch_of, small_model
from treecrf.chart import naive
from treecrf.chart.crf import SpanCRF
from treecrf.network.data.batch import Batch
from treecrf.network.data.bucketing import PaddedShape, pad_to
from treecrf.network.nn import IGNORED, SpanModel, TensorBatch
from treecrf.network.nn.batch import Spans
from treecrf.network.nn.losses import SoftTargets, SoftTargetStore

LOSSES = ["two-stage", "one-stage-crf", "one-stage-margin"]
SCORERS = ["biaffine", "minus"]


SHORT = [tree for tree in TREES if len(tree.words) <= 4][:3]


def label_scores_by_span(scores, sentence):
    """The label scores of every span of a sentence: {(start, end): (labels,)}."""
    size = scores.spans.shape[1]
    length = int(scores.lengths[sentence])
    spans = [(i, j) for i in range(length) for j in range(i + 1, length + 1)]
    cells = torch.tensor([(sentence * size + i) * size + j for i, j in spans])
    return dict(zip(spans, scores.labels_at(Spans.at(cells, size)), strict=True))


def gold_spans(batch, sentence):
    size = batch.longest + 1
    return {
        (cell // size % size, cell % size): label
        for cell, label in zip(batch.cells.tolist(), batch.labels.tolist(), strict=True)
        if cell // (size * size) == sentence
    }


def test_short_sentences_exist_for_enumeration():
    assert len(SHORT) == 3 and len({len(tree.words) for tree in SHORT}) > 1


@pytest.mark.parametrize("scorer", SCORERS)
def test_two_stage_loss_equals_enumeration(scorer):
    model, batch = small_model(scorer=scorer), batch_of(SHORT)
    scores, loss = model(batch), model.loss(batch)
    brackets = labels = 0
    for sentence in range(batch.size):
        gold, spans = gold_spans(batch, sentence), scores.spans[sentence]
        totals = torch.stack(
            [sum(spans[i, j] for i, j in tree) for tree in naive.brackets(0, int(batch.lengths[sentence]))]
        )
        brackets = brackets + totals.logsumexp(0) - sum(spans[i, j] for i, j in gold)
        by_span = label_scores_by_span(scores, sentence)
        labels = labels - sum(by_span[span].log_softmax(0)[label] for span, label in gold.items())
    torch.testing.assert_close(loss.spans, brackets)
    torch.testing.assert_close(loss.labels, labels)
    words = sum(len(tree.words) for tree in SHORT)
    torch.testing.assert_close(loss.total(), brackets / words + labels / (2 * words - len(SHORT)))


@pytest.mark.parametrize("scorer", SCORERS)
def test_one_stage_crf_loss_equals_enumeration(scorer):
    model, batch = small_model(loss="one-stage-crf", scorer=scorer), batch_of(SHORT)
    scores = model(batch)
    expected = 0
    for sentence in range(batch.size):
        gold, by_span = gold_spans(batch, sentence), label_scores_by_span(scores, sentence)
        # the sum over labelings of a tree is the product over its spans of sums over labels
        trees = naive.brackets(0, int(batch.lengths[sentence]))
        totals = torch.stack([sum(by_span[span].logsumexp(0) for span in tree) for tree in trees])
        expected = expected + totals.logsumexp(0) - sum(by_span[span][label] for span, label in gold.items())
    loss = model.loss(batch)
    torch.testing.assert_close(loss.spans, expected)
    torch.testing.assert_close(loss.total(), expected / sum(len(tree.words) for tree in SHORT))


@pytest.mark.parametrize(("scorer", "margin"), [("biaffine", 1.0), ("biaffine", 0.5), ("minus", 1.0)])
def test_margin_loss_equals_enumeration(scorer, margin):
    model, batch = small_model(loss="one-stage-margin", scorer=scorer, margin=margin), batch_of(SHORT)
    scores = model(batch)
    expected = 0
    for sentence in range(batch.size):
        gold, by_span = gold_spans(batch, sentence), label_scores_by_span(scores, sentence)
        augmented = {
            span: torch.stack([s + margin * (gold.get(span) != label) for label, s in enumerate(values)]).max()
            for span, values in by_span.items()
        }
        trees = naive.brackets(0, int(batch.lengths[sentence]))
        rival = torch.stack([sum(augmented[span] for span in tree) for tree in trees]).max()
        expected = expected + rival - sum(by_span[span][label] for span, label in gold.items())
    torch.testing.assert_close(model.loss(batch).spans, expected)


@pytest.mark.parametrize(("loss", "scorer"), list(product(LOSSES, SCORERS)))
def test_totals_of_parts_with_the_counts_of_the_whole_add_up(loss, scorer):
    model = small_model(loss=loss, scorer=scorer, tag_head=True).eval()
    whole = model.loss(batch_of(TREES))
    parts = [model.loss(batch_of(part)) for part in (TREES[:5], TREES[5:])]
    total = sum(part.total(word_count=whole.word_count, label_count=whole.label_count) for part in parts)
    torch.testing.assert_close(total, whole.total())


def with_first_label(batch, label):
    labels = batch.labels.clone()
    labels[0] = label
    return replace(batch, labels=labels, unseen_labels=int(label == IGNORED))


@pytest.mark.parametrize("loss", LOSSES[:2])
def test_the_loss_sums_over_labels_where_the_gold_label_is_unseen(loss):
    model, batch = small_model(loss=loss).eval(), batch_of(SHORT)
    assert with_first_label(batch, IGNORED).total_labels == batch.total_labels - 1

    def negative_log_likelihood(label):
        parts = model.loss(with_first_label(batch, label))
        return parts.spans + parts.labels

    # the probability of any label is the sum of the probabilities of all labels
    by_label = torch.stack([negative_log_likelihood(label) for label in range(len(VOCABULARY.labels))])
    torch.testing.assert_close(negative_log_likelihood(IGNORED), -(-by_label).logsumexp(0))


def test_the_margin_loss_replaces_an_unseen_label_by_the_best_label():
    model, batch = small_model(loss="one-stage-margin").eval(), batch_of(SHORT)
    best = int(model(batch).labels_at(batch.spans)[0].argmax())
    losses = [model.loss(with_first_label(batch, label)).total() for label in (IGNORED, best, (best + 1) % 5)]
    assert losses[0] == losses[1] != losses[2]


def test_a_batch_with_only_unseen_labels_has_a_finite_loss():
    model, batch = small_model(), batch_of(SHORT)
    unlabeled = replace(batch, labels=torch.full_like(batch.labels, IGNORED), unseen_labels=len(batch.labels))
    assert model.loss(unlabeled).labels == 0 and model.loss(unlabeled).total().isfinite()


def test_losses_need_gold_trees():
    with pytest.raises(ValueError, match="no gold trees"):
        small_model().loss(TensorBatch.from_host(NUMERICALIZER.collate([["the", "cat"]])))


CRF_LOSSES = ["two-stage", "one-stage-crf"]
TAGGED = replace(SMALL, tag_head=True)


def short_batch() -> TensorBatch:
    return batch_of([tree for tree in TREES if len(tree.words) <= 7][:4])


@pytest.mark.parametrize("loss", CRF_LOSSES)
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


def test_the_gold_trees_of_some_sentences_replace_the_targets_of_teachers() -> None:
    batch, student = batch_of(TREES), small_model(TAGGED)
    with torch.no_grad():
        taught = SoftTargets.from_scores([small_model(TAGGED)(batch)], batch, distillation_weight=1.0)
        of_all, of_none = (
            taught.with_gold_trees(batch, torch.full((batch.size,), is_gold)) for is_gold in (True, False)
        )
        some = taught.with_gold_trees(batch, torch.arange(batch.size) == 1)
        torch.testing.assert_close(student.loss(batch, of_all).total(), student.loss(batch).total())
    for actual, expected in zip(of_none, taught, strict=True):
        torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(some.spans[[0, 1]], torch.stack([taught.spans[0], of_all.spans[1]]))


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
