"""Networks in half precision, whose kernels run on a GPU or in Triton's interpreter, compared with float32."""

from dataclasses import replace

import pytest
import torch

from kernels import DEVICE, with_kernels  # noqa: F401  # a fixture
from network.nn.batches import SMALL, TREES, batch_of, small_model
from network.nn.bert_models import BERT, BERT_CONFIGS, MPNET, bert_batch
from treecrf.network.nn.bert import Bert
from treecrf.network.nn.half_precision import runs_half_kernels, tf32_products

NETWORKS = {
    "lstm": SMALL,
    "minus": replace(SMALL, scorer="minus"),
    "one stage": replace(SMALL, loss="one-stage-crf"),
    "tags": replace(SMALL, tag_head=True),
    **BERT_CONFIGS,
    "distances": BERT_CONFIGS["alone"],
}


@pytest.mark.usefixtures("with_kernels")
@pytest.mark.parametrize("name", NETWORKS)
def test_scores_in_half_precision_are_close_to_the_scores_in_float32(name: str) -> None:
    config = NETWORKS[name]
    has_encoder = bool(config.transformer)
    encoder = Bert(MPNET if name == "distances" else BERT) if has_encoder else None
    model = small_model(config, encoder=encoder).to(DEVICE).eval()
    batch = (bert_batch(TREES) if has_encoder else batch_of(TREES)).to(DEVICE)
    with torch.no_grad():
        expected = model(batch)
        model.halve_precision()
        actual = model(batch)
        cells = torch.cat([batch.spans.cells, batch.spans.cells.new_full((3,), -1)])
        labels = actual.candidate_labels(cells)[:-3], expected.labels_at(batch.spans)
    assert model.precision == "float16" and actual.spans.dtype == torch.float32
    pairs = [(actual.spans, expected.spans), labels]
    if expected.tags is not None:
        pairs.append((actual.tags, expected.tags))
    for half, whole in pairs:
        torch.testing.assert_close(half, whole, atol=0.01 * float(whole.abs().max()), rtol=0.01)


@pytest.mark.usefixtures("with_kernels")
@pytest.mark.parametrize("config", [BERT, MPNET], ids=["bert", "mpnet"])
def test_attention_in_half_precision_is_computed_by_the_kernel(config, monkeypatch):
    encoder, pieces = Bert(config).to(DEVICE).half().eval(), torch.ones(2, 5, dtype=torch.int64, device=DEVICE)
    monkeypatch.delattr("torch.nn.functional.scaled_dot_product_attention")
    with torch.no_grad():
        assert len(encoder(pieces, torch.tensor([5, 3], device=DEVICE))) == 4


def test_only_inference_in_half_precision_on_a_gpu_has_kernels() -> None:
    with torch.no_grad():
        assert not runs_half_kernels(torch.zeros(2))
        assert runs_half_kernels(torch.zeros(2, dtype=torch.float16, device=DEVICE)) == (DEVICE == "cuda")
    assert not runs_half_kernels(torch.zeros(2, dtype=torch.float16, device=DEVICE))


def test_products_are_rounded_only_in_the_context() -> None:
    before = torch.get_float32_matmul_precision()
    with tf32_products(True):
        assert torch.get_float32_matmul_precision() == "high"
    with tf32_products(False):
        assert torch.get_float32_matmul_precision() == before
    assert torch.get_float32_matmul_precision() == before
