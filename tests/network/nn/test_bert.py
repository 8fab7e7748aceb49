"""Our BERT compared with Hugging Face's: equal weights, hidden states and gradients."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from network.berts import small_bert
from small import random_parser
from toygrammar import toy_trees
from treecrf.network.nn.bert import Bert, BertConfig, SkipInit
from treecrf.network.nn.transformer import build_encoder, keep_layers, load_encoder, save_encoder_config

transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
TINY = small_bert(90, 24, layers=3, heads=4, inner=40, positions=32)


def random_pair(*, pooler=False):
    """Their BERT and ours, with the same random weights."""
    torch.manual_seed(1)
    config = transformers.BertConfig(**{name: getattr(TINY, name) for name in TINY.__dataclass_fields__})
    theirs = transformers.BertModel(config, add_pooling_layer=pooler).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(0.3 * torch.randn_like(parameter))
    ours = Bert(TINY).eval()
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def random_pieces(vocabulary, width, *, rows=5):
    """Pieces of rows with different lengths."""
    torch.manual_seed(2)
    lengths = torch.randint(1, width + 1, (rows,))
    lengths[0] = width
    return torch.randint(0, vocabulary, (rows, width)), lengths


def states(theirs, ours, pieces, lengths):
    """The hidden states of both, without padding."""
    mask = torch.arange(pieces.shape[1]) < lengths[:, None]
    expected = theirs(input_ids=pieces, attention_mask=mask.long(), output_hidden_states=True).hidden_states
    return [layer[mask] for layer in expected], [layer[mask] for layer in ours(pieces, lengths)]


def assert_equal_with_gradients(theirs, ours, pieces, lengths, *, tolerance=1e-5):
    expected, actual = states(theirs, ours, pieces, lengths)
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)
    weights = [torch.randn_like(layer) for layer in expected]
    for layers in (expected, actual):
        sum((layer * weight).sum() for layer, weight in zip(layers, weights, strict=True)).backward()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters() if "pooler" not in name}
    largest = max(float(gradient.abs().max()) for gradient in gradients.values())
    for name, parameter in ours.named_parameters():
        expected_gradient = gradients.pop(name)
        scale = max(
            float(expected_gradient.abs().max()), 1e-2 * largest
        )  # the gradient of key biases is only rounding error
        torch.testing.assert_close(parameter.grad / scale, expected_gradient / scale, atol=tolerance, rtol=tolerance)
    assert not gradients


def test_random_weights_give_equal_states_and_gradients():
    assert_equal_with_gradients(*random_pair(), *random_pieces(90, 20))


def test_real_weights_give_equal_states_and_gradients(minilm):
    theirs = transformers.AutoModel.from_pretrained(minilm).eval()
    ours = load_encoder(minilm).eval()
    assert isinstance(ours, Bert)
    assert_equal_with_gradients(theirs, ours, *random_pieces(30522, 40, rows=3))


def test_weights_are_exchanged_in_both_directions():
    theirs, ours = random_pair()
    assert {name: tensor.shape for name, tensor in ours.state_dict().items()} == {
        name: tensor.shape for name, tensor in theirs.state_dict().items()
    }
    theirs.load_state_dict(ours.state_dict())


def random_mpnet():
    """Hugging Face's MPNet with random weights."""
    torch.manual_seed(4)
    sizes = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40}
    positions = {"max_position_embeddings": 202, "pad_token_id": 1}
    return transformers.MPNetModel(transformers.MPNetConfig(vocab_size=90, **sizes, **positions)).eval()


def test_an_mpnet_becomes_a_bert_with_equal_states(tmp_path: Path) -> None:
    theirs = random_mpnet()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(0.3 * torch.randn_like(parameter))
    theirs.save_pretrained(tmp_path)
    ours = load_encoder(tmp_path).eval()
    assert isinstance(ours, Bert)
    pieces, lengths = random_pieces(88, 200)
    pieces = (pieces + 2).masked_fill(torch.arange(200) >= lengths[:, None], 1)  # their padding must have its id
    expected, actual = states(theirs, ours, pieces, lengths)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    assert torch.stack([layer.sum() for layer in actual]).sum().requires_grad


def test_an_mpnet_is_saved_and_rebuilt(tmp_path: Path) -> None:
    random_mpnet().save_pretrained(tmp_path)
    ours = load_encoder(tmp_path).eval()
    save_encoder_config(ours, tmp_path)
    rebuilt = build_encoder(tmp_path).eval()
    rebuilt.load_state_dict(ours.state_dict())
    pieces, lengths = random_pieces(90, 12)
    torch.testing.assert_close(rebuilt(pieces, lengths), ours(pieces, lengths))


def test_only_pooler_weights_are_ignored():
    theirs, ours = random_pair(pooler=True)
    weights = theirs.state_dict()
    assert any(name.startswith("pooler.") for name in weights)
    ours.load_state_dict(weights)
    assert any(name.startswith("pooler.") for name in weights)  # the caller's dictionary is unchanged
    with pytest.raises(RuntimeError, match=r"encoder\.surplus"):
        ours.load_state_dict(weights | {"encoder.surplus": torch.zeros(1)})


def test_padding_changes_nothing():
    _, ours = random_pair()
    pieces, lengths = random_pieces(90, 20)
    together = ours(pieces, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = ours(pieces[row : row + 1, :length], lengths[row : row + 1])
        for layer, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(layer[row, :length], expected[0], atol=1e-5, rtol=1e-5)


def test_dropout_applies_in_training_only():
    _, ours = random_pair()
    pieces, lengths = random_pieces(90, 20)
    assert torch.equal(ours(pieces, lengths)[-1], ours(pieces, lengths)[-1])
    ours.train()
    assert not torch.equal(ours(pieces, lengths)[-1], ours(pieces, lengths)[-1])


def test_bert_runs_in_half_precision_under_autocast():
    _, ours = random_pair()
    pieces, lengths = random_pieces(90, 20)
    with torch.autocast("cpu", torch.bfloat16):
        half = ours(pieces, lengths)
    torch.testing.assert_close(half[-1].float(), ours(pieces, lengths)[-1], atol=0.2, rtol=0.2)


def test_the_config_is_read_by_both(tmp_path):
    _, ours = random_pair()
    save_encoder_config(ours, tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    assert BertConfig.from_dict(config.to_dict()) == TINY == build_encoder(tmp_path).config
    assert BertConfig.from_dict(json.loads((tmp_path / "config.json").read_text())) == TINY


def test_a_smaller_encoder_has_the_chosen_layers() -> None:
    encoder = Bert(TINY)
    smaller = keep_layers(encoder, [0, 2])
    assert isinstance(smaller, Bert) and smaller.config.num_hidden_layers == 2
    assert smaller.layers[1] is encoder.layers[2] and smaller.embeddings is encoder.embeddings
    mpnet = Bert(replace(TINY, relative_attention_num_buckets=8))
    pieces, lengths = random_pieces(90, 20)
    assert torch.equal(keep_layers(mpnet, [0]).eval()(pieces, lengths)[-1], mpnet.eval()(pieces, lengths)[1])
    for layers in ([1, 0], [0, 0], [3], [-1]):
        with pytest.raises(ValueError, match="expected ascending numbers from 0 to 2"):
            keep_layers(encoder, layers)
    with pytest.raises(ValueError, match="needs a BERT and the encoder is a Linear"):
        keep_layers(torch.nn.Linear(1, 1), [0])


LOAD = """
import sys
from treecrf.parser import Parser
Parser.load(sys.argv[1], device="cpu")
print(*[name for name in ("triton", "sympy", "transformers", "torch._dynamo") if name in sys.modules])
"""


def test_random_initialization_is_skipped_only_inside_the_context() -> None:
    state = torch.random.get_rng_state()
    with SkipInit():
        modules = nn.Sequential(nn.Embedding(50, 8, padding_idx=0), nn.Linear(8, 8), nn.LayerNorm(8), nn.LSTM(8, 8))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(parameter.requires_grad for parameter in modules.parameters())
    nn.Linear(8, 8)
    assert not torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_orthogonal_initialization_is_skipped(shape: tuple[int, int]) -> None:
    with SkipInit():
        tall = torch.empty(max(shape), min(shape))
        assert torch.linalg.qr(tall)[0] is tall
        assert nn.init.orthogonal_(torch.empty(shape)).shape == shape


def test_loading_a_parser_imports_no_compiler(tmp_path: Path) -> None:
    random_parser(toy_trees(20)).save(tmp_path)
    process = subprocess.run([sys.executable, "-c", LOAD, str(tmp_path)], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == ""
