import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from network.data.letters import letters
from network.nn.batches import TREES, VOCABULARY, batch_of, host_batch_of
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.nn import TensorBatch

samples = st.lists(st.sampled_from(TREES), min_size=1, max_size=6)


@given(samples)
def test_padded_index_and_packed_index_are_inverse(trees):
    batch = batch_of(trees)
    padded_index, packed_index, _ = batch.positions.packing
    assert packed_index.flatten()[padded_index].tolist() == list(range(batch.total_words + 2 * batch.size))


@given(samples)
def test_packing_equals_that_of_torch(trees):
    batch = batch_of(trees)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        batch.words, batch.lengths + 2, batch_first=True, enforce_sorted=False
    )
    padded_index, _, batch_sizes = batch.positions.packing
    assert torch.equal(batch_sizes, packed.batch_sizes)
    assert torch.equal(batch.words.flatten()[padded_index], packed.data)


def assert_same_values(batch, host):
    """The tensors of a batch are views of its flat buffer, and equal the arrays of the batch on the host."""
    storage = batch.flat.untyped_storage().data_ptr()
    for name, value in vars(host).items():
        tensor = getattr(batch, name)
        if isinstance(value, np.ndarray):
            assert tensor.untyped_storage().data_ptr() == storage, name
            assert tensor.shape == value.shape and np.array_equal(tensor.cpu().numpy(), value), name
        else:
            assert tensor == value, name
    assert batch.flat.numel() == sum(array.size for array in vars(host).values() if isinstance(array, np.ndarray))


def batch_with_pieces_and_tags():
    return host_batch_of(TREES, numericalizer=Numericalizer(VOCABULARY, subwords=letters()), with_tags=True)


def test_a_batch_is_transferred_as_one_buffer_without_changes(monkeypatch):
    host = batch_with_pieces_and_tags()
    batch = TensorBatch.from_host(host)
    assert_same_values(batch, host)
    transfers = []

    def copy(tensor, device, **options):
        transfers.append((tensor, device))
        return tensor.clone()

    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "to", copy)
        copied = batch.to("another device")
    assert len(transfers) == 1 and transfers[0][0] is batch.flat and transfers[0][1] == "another device"
    assert copied.flat.data_ptr() != batch.flat.data_ptr() and copied.host is host
    assert_same_values(copied, host)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_batch_in_pinned_memory_is_transferred_to_a_gpu_without_changes():
    host = batch_with_pieces_and_tags()
    batch = TensorBatch.from_host(host, pin_memory=True)
    assert batch.flat.is_pinned()
    assert_same_values(batch.to("cuda"), host)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_batch_on_a_device_keeps_its_properties(device):
    before = batch_of(TREES)
    batch = before.to(device)
    assert isinstance(batch, TensorBatch) and batch.device.type == device
    assert batch.shapes == before.shapes and batch.words.device.type == batch.spans.cells.device.type == device
    assert batch.longest == batch.host.longest == max(len(tree.words) for tree in TREES)
    assert batch.total_labels == batch.host.total_labels == sum(2 * len(tree.words) - 1 for tree in TREES)
