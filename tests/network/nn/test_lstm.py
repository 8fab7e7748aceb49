import pytest
import torch

from network.nn.batches import TREES, batch_of
from treecrf.network.nn import ModelConfig, lstm
from treecrf.network.nn.lstm import BiLSTM, BiLSTMLayer, SharedDropout


def bilstm(input_size, **settings):
    return BiLSTM(ModelConfig(**({"lstm_size": 6, "lstm_layers": 2, "dropout": 0.0} | settings)), input_size)


def step_by_step(layer, x, lengths, mask):
    """One bidirectional layer, one sentence and one step at a time; mask (2, s, b, h) multiplies the hidden state."""
    rows = []
    for sentence, length in enumerate(lengths.tolist()):
        halves = []
        for direction, (w_ih, w_hh, b_ih, b_hh) in enumerate(zip(*layer.parameters(), strict=True)):
            h = c = x.new_zeros(layer.size)
            positions = range(length) if direction == 0 else range(length - 1, -1, -1)
            outputs = {}
            for step, position in enumerate(positions):
                masked = h * mask[direction, step, sentence]
                i, f, g, o = (w_ih @ x[sentence, position] + b_ih + w_hh @ masked + b_hh).chunk(4)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                outputs[position] = h
            halves.append(torch.stack([outputs[t] for t in range(length)]))
        rows.append(torch.cat(halves, -1))
    return rows


def without_padding(x, lengths):
    return [x[sentence, :length] for sentence, length in enumerate(lengths.tolist())]


@pytest.fixture
def sequences():
    torch.manual_seed(0)
    batch = batch_of(TREES[:4])
    x = torch.randn(*batch.words.shape, 5, dtype=torch.float64, requires_grad=True)
    layer = BiLSTMLayer(5, 3).double()
    return batch, x, layer


def assert_same_with_gradients(actual, expected, inputs):
    torch.testing.assert_close(actual, expected)
    weights = torch.randn_like(expected)
    ours = torch.autograd.grad((actual * weights).sum(), inputs, retain_graph=True)
    theirs = torch.autograd.grad((expected * weights).sum(), inputs, retain_graph=True)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kind", ["one mask for the batch", "a mask for each sentence", "a mask for each step"])
def test_a_recurrent_mask_applies_at_every_step(sequences, kind):
    batch, x, layer = sequences
    steps = x.shape[1] if "step" in kind else 1
    mask = lstm.shared_mask(x, 2, steps, 1 if "batch" in kind else batch.size, 3, dropout=0.4)
    out = layer(x, batch.positions, mask=mask).flatten(2)
    expected = step_by_step(layer, x, batch.lengths + 2, mask.expand(-1, x.shape[1], batch.size, -1))
    assert_same_with_gradients(
        torch.cat(without_padding(out, batch.lengths + 2)), torch.cat(expected), [x, *layer.parameters()]
    )


def test_equal_masks_for_all_sentences_equal_one_mask_for_the_batch(sequences):
    batch, x, layer = sequences
    mask = lstm.shared_mask(x, 2, 1, 1, 3, dropout=0.4)
    one, each = (layer(x, batch.positions, mask=m).flatten(2) for m in (mask, mask.repeat(1, 1, batch.size, 1)))
    assert_same_with_gradients(
        *(torch.cat(without_padding(out, batch.lengths + 2)) for out in (each, one)), [x, *layer.parameters()]
    )


def test_flattened_weights_have_the_same_values_and_gradients(sequences):
    _, _, layer = sequences
    weights = layer._masked_weights(None)
    views = lstm.flatten_weights(weights, torch.float64)
    starts = [view.storage_offset() for view in views]
    assert starts[0] == 0 and min(starts[2:4] + starts[6:]) > max(starts[0:2] + starts[4:6])
    assert_same_with_gradients(
        torch.cat([w.flatten() for w in views]), torch.cat([w.flatten() for w in weights]), list(layer.parameters())
    )


@pytest.mark.parametrize("recurrent", ["batch", "sentence", "none"])
@pytest.mark.parametrize("kind", ["shared", "vanilla"])
def test_dropout_applies_in_training_only(kind, recurrent):
    torch.manual_seed(0)
    batch = batch_of(TREES[:4])
    x = torch.randn(*batch.words.shape, 5)
    model = bilstm(5, dropout=0.5, dropout_kind=kind, recurrent_dropout=recurrent)
    plain = bilstm(5)
    plain.load_state_dict(model.state_dict())
    assert not torch.allclose(model(x, batch.positions), model(x, batch.positions))
    assert torch.equal(model.eval()(x, batch.positions), plain(x, batch.positions))


@pytest.mark.parametrize(("recurrent", "rows"), [("batch", 1), ("sentence", 4), ("none", None)])
def test_masks_have_the_shapes_of_the_recurrent_dropout(recurrent, rows):
    torch.manual_seed(0)
    masks = bilstm(5, dropout=0.5, recurrent_dropout=recurrent)._draw_masks(torch.randn(4, 9, 5))
    assert [tuple(input_mask.shape) for input_mask, _ in masks] == [(4, 1, 5), (4, 1, 12)]
    for input_mask, hidden_mask in masks:
        assert set(input_mask.flatten().tolist()) == {0.0, 2.0} and len(input_mask.unique(dim=0)) > 1
        assert hidden_mask is None if rows is None else tuple(hidden_mask.shape) == (2, 1, rows, 6)
        assert rows is None or len(hidden_mask.unique(dim=0)) == 2  # the directions have different masks
    assert rows != 4 or masks[0][1].unique(dim=2).shape[2] > 1


@pytest.mark.parametrize("recurrent", ["batch", "sentence"])
def test_vanilla_dropout_draws_a_mask_for_every_step_of_inputs_and_hidden_states(recurrent):
    torch.manual_seed(0)
    model = bilstm(20, lstm_size=30, dropout=0.5, dropout_kind="vanilla", recurrent_dropout=recurrent)
    for input_mask, hidden_mask in model._draw_masks(torch.randn(4, 9, 20)):
        assert input_mask.unique(dim=0).shape[0] == 4 and input_mask.unique(dim=1).shape[1] == 9
        assert hidden_mask.shape == (2, 9, 4, 30)
        assert set(hidden_mask.flatten().tolist()) == {0.0, 2.0}
        assert [hidden_mask.unique(dim=dim).shape[dim] for dim in range(3)] == [2, 9, 4]


def test_vanilla_dropout_multiplies_the_states_of_each_layer_with_its_masks(sequences, monkeypatch):
    batch, x, _ = sequences
    model = bilstm(5, lstm_size=3, dropout=0.4, dropout_kind="vanilla", recurrent_dropout="batch").double()
    masks = model._draw_masks(x)
    monkeypatch.setattr(model, "_draw_masks", lambda _: masks)
    lengths, expected = batch.lengths + 2, x
    for layer, (input_mask, hidden_mask) in zip(model.layers, masks, strict=True):
        rows = step_by_step(layer, expected * input_mask, lengths, hidden_mask)
        expected = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    actual = torch.cat(without_padding(model(x, batch.positions).flatten(2), lengths))
    assert_same_with_gradients(actual, torch.cat(without_padding(expected, lengths)), [x, *model.parameters()])


def test_padding_and_other_sentences_do_not_change_a_sentence():
    torch.manual_seed(0)
    model = bilstm(5).double()
    batch = batch_of(TREES[:6])
    x = torch.randn(*batch.words.shape, 5, dtype=torch.float64)
    together = without_padding(model(x, batch.positions), batch.lengths + 2)
    for number, tree in enumerate(TREES[:6]):
        alone = batch_of([tree])
        out = model(x[number : number + 1, : alone.words.shape[1]], alone.positions)
        torch.testing.assert_close(out[0], together[number])


def test_weights_start_orthogonal_and_biases_at_zero():
    for name, parameter in bilstm(5).named_parameters():
        if "bias" in name:
            assert not parameter.any()
        else:
            for weight in parameter:
                torch.testing.assert_close(weight.T @ weight, torch.eye(weight.shape[1]), atol=1e-5, rtol=0)


def test_shared_dropout_has_one_mask_for_a_sentence_and_keeps_the_mean():
    torch.manual_seed(0)
    dropped = SharedDropout(0.25)(torch.ones(200, 3, 50))
    assert (dropped == dropped[:, :1]).all()
    assert abs(dropped.mean().item() - 1) < 0.02
    assert not (SharedDropout(0.25, kind="vanilla")(torch.ones(20, 3, 50)) == 0).all(1).all()
