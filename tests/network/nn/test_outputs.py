import numpy as np
import pytest
import torch

from network.nn.batches import TREES, batch_of, host_batch_of, small_model
from treecrf.network.nn import TensorBatch
from treecrf.network.nn.batch import Spans

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
