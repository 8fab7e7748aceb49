from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from network.nn.batches import NUMERICALIZER, SMALL, TREES, VOCABULARY, batch_of, host_batch_of, small_model
from treecrf.chart import naive
from treecrf.network.nn import IGNORED, SpanModel, TensorBatch
from treecrf.network.nn.batch import Spans
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.constraints import ConstrainedScores
from treecrf.parser.decoding.device_decode import decode_on_device, nonzero_static

LOSSES = ["two-stage", "one-stage-crf", "one-stage-margin"]
SCORERS = ["biaffine", "minus"]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
SHORT = [tree for tree in TREES if len(tree.words) <= 4][:3]


def label_scores_by_span(scores, sentence):
    """The label scores of every span of a sentence: {(start, end): (labels,)}."""
    size = scores.spans.shape[1]
    length = int(scores.lengths[sentence])
    spans = [(i, j) for i in range(length) for j in range(i + 1, length + 1)]
    cells = torch.tensor([(sentence * size + i) * size + j for i, j in spans])
    return dict(zip(spans, scores.labels_at(Spans.at(cells, size)), strict=True))


def trees_of(length):
    """Every binary tree over a sentence, as the list of its spans."""

    def below(start, end):
        if end - start == 1:
            return [[(start, end)]]
        return [
            [(start, end), *a, *b]
            for middle in range(start + 1, end)
            for a, b in product(below(start, middle), below(middle, end))
        ]

    return below(0, length)


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
        totals = torch.stack([sum(spans[i, j] for i, j in tree) for tree in trees_of(int(batch.lengths[sentence]))])
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
        trees = trees_of(int(batch.lengths[sentence]))
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
        trees = trees_of(int(batch.lengths[sentence]))
        rival = torch.stack([sum(augmented[span] for span in tree) for tree in trees]).max()
        expected = expected + rival - sum(by_span[span][label] for span, label in gold.items())
    torch.testing.assert_close(model.loss(batch).spans, expected)


@pytest.mark.parametrize(("loss", "scorer"), list(product(LOSSES, SCORERS)))
def test_every_parameter_gets_a_gradient(loss, scorer):
    model = small_model(loss=loss, scorer=scorer, tag_size=3, tag_head=True, dropout=0.33)
    model.loss(batch_of(TREES, with_tags=True)).total().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


@pytest.mark.parametrize(("loss", "scorer"), list(product(LOSSES, SCORERS)))
def test_other_sentences_do_not_change_a_sentence(loss, scorer):
    model = small_model(loss=loss, scorer=scorer, tag_head=True).double().eval()
    together = model(batch_of(TREES))
    for number, tree in enumerate(TREES):
        alone, size = model(batch_of([tree])), len(tree.words) + 1
        torch.testing.assert_close(alone.spans[0], together.spans[number, :size, :size])
        torch.testing.assert_close(alone.tags[0], together.tags[number, : size - 1])
        for span, values in label_scores_by_span(alone, 0).items():
            torch.testing.assert_close(values, label_scores_by_span(together, number)[span])


@pytest.mark.parametrize(("loss", "scorer"), list(product(LOSSES, SCORERS)))
def test_totals_of_parts_with_the_counts_of_the_whole_add_up(loss, scorer):
    model = small_model(loss=loss, scorer=scorer, tag_head=True).eval()
    whole = model.loss(batch_of(TREES))
    parts = [model.loss(batch_of(part)) for part in (TREES[:5], TREES[5:])]
    total = sum(part.total(word_count=whole.word_count, label_count=whole.label_count) for part in parts)
    torch.testing.assert_close(total, whole.total())


@pytest.mark.parametrize(("loss", "scorer"), [("two-stage", "biaffine"), ("one-stage-crf", "minus")])
def test_the_model_overfits_five_trees(loss, scorer):
    torch.manual_seed(0)
    config = replace(SMALL, loss=loss, scorer=scorer, tag_head=True, lstm_size=24, span_size=24, label_size=16)
    model, batch = SpanModel(config, VOCABULARY.sizes), batch_of(TREES[:5])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(120):
        optimizer.zero_grad()
        total_loss = model.loss(batch).total()
        total_loss.backward()
        optimizer.step()
    assert total_loss.item() < 0.02
    decoded = decode(model.eval()(batch).to_host())
    size = batch.longest + 1
    assert sorted(zip((batch.cells % (size * size)).tolist(), batch.labels.tolist(), strict=True)) == sorted(
        zip((decoded.starts * size + decoded.ends).tolist(), decoded.labels.tolist(), strict=True)
    )
    assert decoded.tags.tolist() == [VOCABULARY.tag_ids[tag] for tree in TREES[:5] for tag in tree.tags]


def best_by_enumeration(values, length):
    return max(trees_of(length), key=lambda tree: sum(values[span].item() for span in tree))


@pytest.mark.parametrize("mbr", [True, False])
def test_one_stage_decoding_finds_the_best_labeled_tree(mbr):
    model, batch = small_model(loss="one-stage-crf").eval(), batch_of(SHORT)
    scores = model(batch)
    decoded = decode(scores.to_host(), mbr=mbr)
    marginals = naive.marginals(scores.spans, scores.lengths)
    offset = 0
    for sentence, length in enumerate(batch.lengths.tolist()):
        by_span = label_scores_by_span(scores, sentence)
        if mbr:
            value = {s: marginals[(sentence, *s)] * v.softmax(0).max() for s, v in by_span.items()}
        else:
            value = {s: v.max() for s, v in by_span.items()}
        expected = sorted(best_by_enumeration(value, length))
        part = slice(offset, offset + 2 * length - 1)
        spans = list(zip(decoded.starts[part].tolist(), decoded.ends[part].tolist(), strict=True))
        assert spans == expected
        assert decoded.labels[part].tolist() == [int(by_span[span].argmax()) for span in expected]
        offset += 2 * length - 1


@pytest.mark.parametrize("mbr", [True, False])
def test_decoding_returns_only_allowed_spans(mbr):
    scores = small_model().score(NUMERICALIZER.collate([["the", "cat", "slept", "."]]))
    scores.spans[0, 0, 3] = scores.spans[0, 1, 4] = -np.inf
    no_cells, no_labels = np.empty(0, np.int64), np.empty((0, len(VOCABULARY.labels)), np.bool_)
    decoded = decode(ConstrainedScores(**vars(scores), cells=no_cells, forbidden=no_labels), mbr=mbr)
    spans = list(zip(decoded.starts.tolist(), decoded.ends.tolist(), strict=True))
    assert spans == [(0, 1), (0, 2), (0, 4), (1, 2), (2, 3), (2, 4), (3, 4)]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("mbr", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_decoded_on_the_device_are_those_decoded_on_the_host(loss, mbr, device):
    scores = small_model(loss=loss, tag_head=True).to(device).score_on_device(host_batch_of(TREES))
    on_device, on_host = decode_on_device(scores, mbr=mbr)(), decode(scores.to_host(), mbr=mbr)
    for name, values in on_host._asdict().items():
        assert getattr(on_device, name).tolist() == values.tolist(), name


def test_trees_decoded_without_a_tagger_have_no_tags():
    scores = small_model().score_on_device(host_batch_of(TREES))
    assert decode_on_device(scores)().tags is None
    assert decode(scores.to_host()).tags is None


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


def test_nonzero_static_returns_indices_in_order():
    mask = torch.tensor([False, True, True, False, True, False])
    assert nonzero_static(mask, 3).tolist() == [1, 2, 4]


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


def test_scores_are_float32_under_autocast():
    model = small_model(tag_head=True)
    with torch.autocast("cpu", torch.bfloat16):
        scores = model(batch_of(TREES))
        assert model.loss(batch_of(TREES)).total().dtype == torch.float32
    assert {scores.spans.dtype, scores.left.dtype, scores.labels_at(batch_of(TREES).spans).dtype} == {torch.float32}


def test_a_model_on_the_meta_device_loads_weights():
    model = small_model().eval()
    with torch.device("meta"):
        empty = SpanModel(model.config, VOCABULARY.sizes)
    empty.load_state_dict(model.state_dict(), assign=True)
    assert torch.equal(empty.eval()(batch_of(TREES)).spans, model(batch_of(TREES)).spans)


@pytest.mark.parametrize(("boundary", "word_after"), [("next-word", 1), ("same-word", 0)])
def test_a_boundary_has_the_forward_state_of_a_word_and_the_backward_state_of_the_next_or_same_word(
    boundary, word_after
):
    words = torch.randn(2, 6, 20)  # BOS, four words and EOS; states of both directions
    boundaries = small_model(boundary=boundary)._fenceposts(words)
    assert boundaries.shape == (2, 5, 20)
    for i in range(5):
        expected = torch.cat([words[:, i, :10], words[:, i + word_after, 10:]], -1)
        assert torch.equal(boundaries[:, i], expected)


def test_losses_need_gold_trees():
    with pytest.raises(ValueError, match="no gold trees"):
        small_model().loss(TensorBatch.from_host(NUMERICALIZER.collate([["the", "cat"]])))


def test_an_encoder_needs_its_setting_and_vice_versa():
    with pytest.raises(ValueError, match="no encoder was passed"):
        SpanModel(replace(SMALL, transformer="x"), VOCABULARY.sizes)


@needs_gpu
@pytest.mark.parametrize("lstm_size", [10, 80])  # one program for all hidden units, and several programs with barriers
def test_gpu_scores_and_gradients_equal_those_of_the_cpu(lstm_size):
    on_cpu = small_model(lstm_size=lstm_size, tag_head=True)
    on_gpu = small_model(lstm_size=lstm_size, tag_head=True).cuda()
    batch = batch_of(TREES)
    post = torch.arange(batch.longest + 1)
    real = torch.maximum(post[:, None], post) <= batch.lengths[:, None, None]
    actual, expected = on_gpu(batch.to("cuda")).spans.cpu(), on_cpu(batch).spans
    torch.testing.assert_close(actual[real], expected[real], atol=2e-2, rtol=2e-2)
    for model, part in ((on_cpu, batch), (on_gpu, TensorBatch.from_host(batch.host, pin_memory=True).to("cuda"))):
        model.loss(part).total().backward()
    for (name, ours), theirs in zip(on_cpu.named_parameters(), on_gpu.parameters(), strict=True):
        distance = (ours.grad - theirs.grad.cpu()).norm() / ours.grad.norm()
        assert distance < 2e-2, name
