import pytest
import torch

from nn.batches import TREES, batch_of
from treecrf.nn import lstm
from treecrf.nn.lstm import BiLSTM, SharedDropout, run_lstm


def by_hand(layer, x, lengths, mask):
    """One bidirectional layer, one sentence and one step at a time; mask (2, b, h) multiplies the hidden state."""
    rows = []
    for sentence, length in enumerate(lengths.tolist()):
        halves = []
        for direction, (w_ih, w_hh, b_ih, b_hh) in enumerate(layer.all_weights):
            h = c = x.new_zeros(layer.hidden_size)
            steps = range(length) if direction == 0 else range(length - 1, -1, -1)
            outputs = {}
            for t in steps:
                gates = w_ih @ x[sentence, t] + b_ih + w_hh @ (h * mask[direction, sentence]) + b_hh
                i, f, g, o = gates.chunk(4)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                outputs[t] = h
            halves.append(torch.stack([outputs[t] for t in range(length)]))
        rows.append(torch.cat(halves, -1))
    return rows


def real(rows):
    return torch.cat(list(rows))


def cut(x, lengths):
    return [x[sentence, :length] for sentence, length in enumerate(lengths.tolist())]


@pytest.fixture
def sequences():
    torch.manual_seed(0)
    batch = batch_of(TREES[:4])
    x = torch.randn(*batch.words.shape, 5, dtype=torch.float64, requires_grad=True)
    layer = torch.nn.LSTM(5, 3, bidirectional=True).double()
    return batch, x, layer


def assert_same_with_gradients(actual, expected, inputs):
    torch.testing.assert_close(actual, expected)
    weights = torch.randn_like(expected)
    ours = torch.autograd.grad((actual * weights).sum(), inputs, retain_graph=True)
    theirs = torch.autograd.grad((expected * weights).sum(), inputs, retain_graph=True)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("shared", [True, False], ids=["one mask for the batch", "a mask for each sentence"])
def test_a_recurrent_mask_is_there_at_every_step(sequences, shared):
    batch, x, layer = sequences
    mask = lstm.shared_mask(x, 2, 1 if shared else batch.size, 3, dropout=0.4)
    out = run_lstm(layer, x, batch.lengths + 2, batch.packing, mask=mask)
    expected = by_hand(layer, x, batch.lengths + 2, mask.expand(-1, batch.size, -1))
    assert_same_with_gradients(real(cut(out, batch.lengths + 2)), real(expected), [x, *layer.parameters()])


def test_a_mask_for_each_sentence_that_is_the_same_for_all_is_one_for_the_batch(sequences):
    batch, x, layer = sequences
    mask = lstm.shared_mask(x, 2, 1, 3, dropout=0.4)
    runs = [(x, batch.lengths + 2, batch.packing)] * 2
    one, each = (
        run_lstm(layer, *run, mask=m) for run, m in zip(runs, (mask, mask.repeat(1, batch.size, 1)), strict=True)
    )
    assert_same_with_gradients(
        real(cut(each, batch.lengths + 2)), real(cut(one, batch.lengths + 2)), [x, *layer.parameters()]
    )


def test_one_chunk_of_weights_gives_the_same_weights_and_gradients(sequences):
    _, _, layer = sequences
    weights = lstm._weights(layer, None)
    chunk = lstm._one_chunk(weights, torch.float64)
    starts = [view.storage_offset() for view in chunk]
    assert starts[0] == 0 and min(starts[2:4] + starts[6:]) > max(starts[0:2] + starts[4:6])
    assert_same_with_gradients(
        torch.cat([w.flatten() for w in chunk]), torch.cat([w.flatten() for w in weights]), list(layer.parameters())
    )


@pytest.mark.parametrize("recurrent", ["batch", "sentence", "none"])
@pytest.mark.parametrize("kind", ["shared", "vanilla"])
def test_dropout_changes_training_and_nothing_else(kind, recurrent):
    torch.manual_seed(0)
    batch = batch_of(TREES[:4])
    x = torch.randn(*batch.words.shape, 5)
    model = BiLSTM(5, 6, 2, dropout=0.5, kind=kind, recurrent=recurrent)
    plain = BiLSTM(5, 6, 2)
    plain.load_state_dict(model.state_dict())
    run = batch.lengths + 2, batch.packing
    assert not torch.allclose(model(x, *run), model(x, *run))
    assert torch.equal(model.eval()(x, *run), plain(x, *run))


@pytest.mark.parametrize("recurrent", ["batch", "sentence", "none"])
def test_input_masks_are_shared_by_the_positions_of_a_sentence_but_not_by_sentences(recurrent, monkeypatch):
    seen = []
    shapes = {"batch": [(4, 1, 5), (2, 1, 6)], "sentence": [(4, 1, 5), (2, 4, 6)], "none": [(4, 1, 5)]}[recurrent]
    original = lstm.shared_mask

    def spy(x, *shape, dropout):
        seen.append(shape)
        return original(x, *shape, dropout=dropout)

    monkeypatch.setattr(lstm, "shared_mask", spy)
    batch = batch_of(TREES[:4])
    BiLSTM(5, 6, 1, dropout=0.5, recurrent=recurrent)(
        torch.randn(*batch.words.shape, 5), batch.lengths + 2, batch.packing
    )
    assert seen == shapes


def test_padding_and_neighbours_do_not_change_a_sentence():
    torch.manual_seed(0)
    model = BiLSTM(5, 6, 2).double()
    batch = batch_of(TREES[:6])
    x = torch.randn(*batch.words.shape, 5, dtype=torch.float64)
    together = cut(model(x, batch.lengths + 2, batch.packing), batch.lengths + 2)
    for number, tree in enumerate(TREES[:6]):
        alone = batch_of([tree])
        out = model(x[number : number + 1, : alone.words.shape[1]], alone.lengths + 2, alone.packing)
        torch.testing.assert_close(out[0], together[number])


def test_weights_start_orthogonal_and_biases_at_zero():
    for name, parameter in BiLSTM(5, 6, 2).named_parameters():
        if "bias" in name:
            assert not parameter.any()
        else:
            product = parameter.T @ parameter if parameter.shape[0] > parameter.shape[1] else parameter @ parameter.T
            torch.testing.assert_close(product, torch.eye(len(product)), atol=1e-5, rtol=0)


def test_shared_dropout_has_one_mask_for_a_sentence_and_keeps_the_mean():
    torch.manual_seed(0)
    dropped = SharedDropout(0.25)(torch.ones(200, 3, 50))
    assert (dropped == dropped[:, :1]).all()
    assert abs(dropped.mean().item() - 1) < 0.02
    assert not (SharedDropout(0.25, kind="vanilla")(torch.ones(20, 3, 50)) == 0).all(1).all()
