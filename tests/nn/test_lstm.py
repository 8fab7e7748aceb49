import pytest
import torch

from nn.batches import TREES, batch_of
from treecrf.nn import lstm
from treecrf.nn.lstm import BiLSTM, Recurrence, SharedDropout, masked_lstm, reversal, run_lstm


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


def test_a_recurrent_mask_folded_into_the_weights_is_the_mask_at_every_step(sequences):
    batch, x, layer = sequences
    mask = lstm.shared_mask(x, 2, 3, dropout=0.4)
    data, _ = run_lstm(layer, x.flatten(0, 1)[batch.rows], batch.counts, mask=mask)
    actual = real(cut(data[batch.places], batch.lengths + 2))
    expected = real(by_hand(layer, x, batch.lengths + 2, mask[:, None].expand(-1, batch.size, -1)))
    assert_same_with_gradients(actual, expected, [x, *layer.parameters()])


def test_a_recurrent_mask_for_each_sentence_is_the_mask_at_every_step(sequences):
    batch, x, layer = sequences
    x = x.float().detach().requires_grad_()
    layer = layer.float()
    mask = lstm.shared_mask(x, 2, batch.size, 3, dropout=0.4)
    out = masked_lstm(layer, x, reversal(batch.lengths + 2, x.shape[1]), mask)
    expected = real(by_hand(layer, x, batch.lengths + 2, mask))
    assert_same_with_gradients(real(cut(out, batch.lengths + 2)), expected, [x, *layer.parameters()])


def test_the_recurrence_has_the_gradient_of_its_finite_differences():
    torch.manual_seed(0)
    gates = torch.randn(2, 4, 3, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 8, 2, dtype=torch.float64, requires_grad=True)
    mask = lstm.shared_mask(gates.detach(), 2, 3, 2, dropout=0.5)
    assert torch.autograd.gradcheck(Recurrence.apply, (gates, weight, mask))


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
    shapes = {"batch": [(4, 5), (2, 6)], "sentence": [(4, 1, 5), (2, 4, 6)], "none": [(4, 5)]}[recurrent]
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


def test_a_dropped_input_number_is_dropped_at_every_position_of_its_sentence():
    batch = batch_of(TREES[:4])
    model = BiLSTM(5, 6, 1, dropout=0.5)
    ones = torch.ones(batch.words.numel(), 5)[batch.rows]
    dropped = model._drop_inputs(ones, batch.rows // batch.words.shape[1], batch.size)
    for sentence in cut(dropped[batch.places], batch.lengths + 2):
        assert (sentence == sentence[0]).all() and set(sentence.flatten().tolist()) <= {0.0, 2.0}
    assert len({tuple(sentence[0].tolist()) for sentence in cut(dropped[batch.places], batch.lengths + 2)}) > 1


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
