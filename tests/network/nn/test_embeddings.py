from dataclasses import replace

import pytest
import torch

from network.nn.batches import NUMERICALIZER, SMALL, TREES, VOCABULARY, batch_of, small_model
from treecrf.network.nn import ModelConfig, TensorBatch
from treecrf.network.nn.embeddings import CharLSTM, WordInputs, WordVectors, drop_features


def test_a_word_has_the_same_character_vector_in_every_sentence():
    model = CharLSTM(VOCABULARY.sizes.chars, 4, 6).eval()
    batch = batch_of(TREES)
    vectors = model(batch)
    for number, tree in enumerate(TREES):
        for place, word in enumerate(tree.words, 1):
            alone = TensorBatch.from_host(NUMERICALIZER.collate([[word]]))
            torch.testing.assert_close(vectors[number, place], model(alone)[0, 1])


def test_the_character_vector_is_the_final_state_of_each_direction():
    model = CharLSTM(VOCABULARY.sizes.chars, 4, 6).eval()
    batch = TensorBatch.from_host(NUMERICALIZER.collate([["river"]]))
    ids = torch.tensor([[NUMERICALIZER._char_ids[char] for char in "river"]])
    reference = torch.nn.LSTM(4, 3, bidirectional=True)
    weights = [weight for parameter in model.lstm.parameters() for weight in parameter]
    for place, (name, _) in enumerate(reference.named_parameters()):
        setattr(reference, name, torch.nn.Parameter(weights[place % 4 * 2 + place // 4]))
    _, (last, _) = reference(model.embedding(ids).transpose(0, 1))
    torch.testing.assert_close(model(batch)[0, 1], torch.cat([last[0, 0], last[1, 0]]))


def test_pretrained_vectors_are_scaled_and_frozen_and_trained_vectors_start_at_zero():
    torch.manual_seed(0)
    table = torch.randn(9, 4) * 5
    model = WordVectors(6, 4, vectors=9, pretrained=table)
    words, vectors = torch.tensor([[1, 5, 1]]), torch.tensor([[8, 5, 1]])
    batch = replace(batch_of(TREES), words=words, vectors=vectors)
    torch.testing.assert_close(model(batch), (table / table.std())[vectors])
    model(batch).sum().backward()
    assert model.trained.weight.grad.any() and model.pretrained.weight.grad is None


def test_the_error_for_vectors_of_another_size_names_the_setting():
    with pytest.raises(ValueError, match=r"300 numbers.*100.*set word_size to 300"):
        WordVectors(6, 100, vectors=9, pretrained=torch.ones(9, 300))
    with pytest.raises(ValueError, match="8 pretrained vectors; expected 9"):
        WordVectors(6, 4, vectors=9, pretrained=torch.ones(8, 4))


def test_features_are_dropped_as_a_whole_and_the_others_scaled_up():
    torch.manual_seed(0)
    first, second, third = drop_features([torch.ones(50, 20, 3), torch.ones(50, 20, 2), torch.ones(50, 20, 1)], 0.33)
    scales = torch.cat([first[..., :1], second[..., :1], third], -1)
    assert (first == first[..., :1]).all() and (second == second[..., :1]).all()
    remaining = (scales > 0).sum(-1)
    torch.testing.assert_close(scales.sum(-1), torch.where(remaining > 0, 3.0, 0.0))
    torch.testing.assert_close((scales > 0).float().mean((0, 1)), torch.full((3,), 0.67), atol=0.05, rtol=0)


@pytest.mark.parametrize("kind", ["shared", "vanilla"])
def test_input_dropout_drops_whole_vectors_or_single_numbers(kind):
    torch.manual_seed(0)
    config = ModelConfig(word_size=8, char_size=0, tag_size=8, dropout=0.5, dropout_kind=kind)
    inputs = WordInputs(config, VOCABULARY.sizes)
    out = inputs(batch_of(TREES, with_tags=True))
    zeros = (out == 0).view(*out.shape[:2], 2, 8).sum(-1)
    is_whole = (zeros == 0) | (zeros == 8)
    assert is_whole.all() == (kind == "shared")


def test_the_error_for_a_missing_input_names_it():
    model = small_model(SMALL, tag_size=3)
    with pytest.raises(ValueError, match="part-of-speech tags and the batch has none"):
        model(batch_of(TREES))
    from treecrf.network.data.numericalize import Numericalizer

    with pytest.raises(ValueError, match="characters and the batch has none"):
        small_model()(batch_of(TREES, numericalizer=Numericalizer(VOCABULARY, characters=False)))
    with pytest.raises(ValueError, match="capital letters and the batch has none"):
        small_model(SMALL, tag_head=True, tag_capitals=True)(batch_of(TREES))
    with pytest.raises(ValueError, match="no rows of the pretrained table"):
        WordVectors(6, 4, vectors=9, pretrained=torch.randn(9, 4))(replace(batch_of(TREES), words=torch.tensor([[1]])))
