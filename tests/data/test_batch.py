import torch
from hypothesis import given
from hypothesis import strategies as st

from nn.batches import TREES, batch_of
from treecrf.nn import Batch

samples = st.lists(st.sampled_from(TREES), min_size=1, max_size=6)


@given(samples)
def test_packed_rows_and_padded_places_are_inverse(trees):
    batch = batch_of(trees)
    rows, places, _ = batch.positions.packing
    assert places.flatten()[rows].tolist() == list(range(batch.total_words + 2 * batch.size))


@given(samples)
def test_packing_is_what_torch_packs(trees):
    batch = batch_of(trees)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        batch.words, batch.lengths + 2, batch_first=True, enforce_sorted=False
    )
    rows, _, counts = batch.positions.packing
    assert torch.equal(counts, packed.batch_sizes)
    assert torch.equal(batch.words.flatten()[rows], packed.data)


def test_a_batch_travels_in_one_piece_and_arrives_whole():
    batch = batch_of(TREES)
    moves = []

    def move(flat):
        moves.append(flat)
        return flat.clone()

    moved = batch._moved(move)._moved(move)
    assert len(moves) == 2 and moves[1].data_ptr() == moves[1].untyped_storage().data_ptr()
    for name, value in vars(batch).items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(getattr(moved, name), value), name
        elif name != "flat":
            assert getattr(moved, name) == value


def test_a_batch_on_its_device_is_still_a_batch():
    batch = batch_of(TREES).to("cpu")
    assert isinstance(batch, Batch) and batch.device.type == "cpu"
    assert batch.longest == max(len(tree.words) for tree in TREES)
    assert batch.total_labels == sum(2 * len(tree.words) - 1 for tree in TREES)
