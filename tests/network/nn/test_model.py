from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from network.nn.batches import NUMERICALIZER, SMALL, TREES, VOCABULARY, batch_of, host_batch_of, small_model
from network.nn.test_losses import SHORT, label_scores_by_span
from treecrf.chart import naive
from treecrf.network.nn import SpanModel, TensorBatch
from treecrf.network.nn.scorers import nonzero_static
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.constraints import ConstrainedScores
from treecrf.parser.decoding.device_decode import decode_on_device

LOSSES = ["two-stage", "one-stage-crf", "one-stage-margin"]
SCORERS = ["biaffine", "minus"]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


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
    return max(naive.brackets(0, length), key=lambda tree: sum(values[span].item() for span in tree))


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
    for name in ("starts", "ends", "labels", "tags"):
        assert getattr(on_device, name).tolist() == getattr(on_host, name).tolist(), name


def test_trees_decoded_without_a_tagger_have_no_tags():
    scores = small_model().score_on_device(host_batch_of(TREES))
    assert decode_on_device(scores)().tags is None
    assert decode(scores.to_host()).tags is None


def test_nonzero_static_returns_indices_in_order():
    mask = torch.tensor([False, True, True, False, True, False])
    assert nonzero_static(mask, 3).tolist() == [1, 2, 4]


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
