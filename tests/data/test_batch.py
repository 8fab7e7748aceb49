import torch
from hypothesis import given
from hypothesis import strategies as st

from nn.batches import TREES, batch_of
from treecrf.nn import Batch

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


def test_a_batch_is_transferred_as_one_buffer_without_changes():
    batch = batch_of(TREES)
    buffers = []

    def copy(flat):
        buffers.append(flat)
        return flat.clone()

    copied = batch._transfer(copy)._transfer(copy)
    assert len(buffers) == 2 and buffers[1].data_ptr() == buffers[1].untyped_storage().data_ptr()
    for name, value in vars(batch).items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(getattr(copied, name), value), name
        elif name != "flat":
            assert getattr(copied, name) == value


def test_a_batch_on_a_device_keeps_its_properties():
    batch = batch_of(TREES).to("cpu")
    assert isinstance(batch, Batch) and batch.device.type == "cpu"
    assert batch.longest == max(len(tree.words) for tree in TREES)
    assert batch.total_labels == sum(2 * len(tree.words) - 1 for tree in TREES)
