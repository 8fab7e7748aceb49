"""Tests of scorers, encoders and losses of other packages."""

import sys
import types

import pytest
import torch
from torch import nn

from small import FIFTY, small_recipe
from treecrf import Parser, read_trees
from treecrf.network.data.extensions import BUILT_IN, check_name
from treecrf.network.data.model_config import ModelConfig
from treecrf.network.nn.losses import Loss, compute_loss
from treecrf.network.nn.scorers import Scorer
from treecrf.training import fit
from treecrf.training.calibration import calibrate


class Sum(Scorer):
    """The sum of two linear functions, of the left and of the right boundary."""

    def __init__(self, width, size, classes, config):
        super().__init__()
        self.left, self.right = nn.Linear(width, classes), nn.Linear(width, classes)

    def project(self, x):
        return self.left(x), self.right(x)

    def forward(self, left, right):
        return left[:, :, None] + right[:, None]


class Mean(nn.Module):
    """Each vector beside the mean vector of its sentence."""

    def __init__(self, input_size, config):
        super().__init__()
        self.size = config.lstm_size
        self.linear = nn.Linear(2 * input_size, self.size)

    def forward(self, vectors, lengths):
        is_word = torch.arange(vectors.shape[1], device=lengths.device) < lengths[:, None]
        mean = (vectors * is_word[..., None]).sum(1, keepdim=True) / lengths[:, None, None]
        return self.linear(torch.cat([vectors, mean.expand_as(vectors)], -1)).tanh()


def doubled(scores, batch, soft_targets):
    loss = compute_loss("two-stage", scores, batch, soft_targets)
    return Loss(spans=2 * loss.spans, labels=loss.labels, tags=loss.tags, word_count=1, label_count=1)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with a scorer, an encoder and a loss."""
    module = types.ModuleType("own_parts")
    vars(module).update(Sum=Sum, Mean=Mean, doubled=doubled)
    monkeypatch.setitem(sys.modules, "own_parts", module)
    folder = tmp_path / "site" / "own_parts-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: own-parts\nVersion: 1.0\n")
    groups = {
        "scorers": "sum = own_parts:Sum",
        "encoders": "mean = own_parts:Mean",
        "losses": "doubled = own_parts:doubled",
    }
    (folder / "entry_points.txt").write_text("".join(f"[treecrf.{group}]\n{line}\n" for group, line in groups.items()))
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


@pytest.mark.parametrize("model", [{"scorer": "sum"}, {"encoder": "mean"}, {"loss": "doubled"}], ids=str)
def test_the_parts_of_a_package_are_trained_saved_and_loaded(package, tmp_path, model):
    fit(small_recipe(model=model, epochs=1), tmp_path / "run", device="cpu")
    parser = Parser.load(tmp_path / "run", "cpu")
    assert all(getattr(parser.model_config, name) == value for name, value in model.items())
    words = ["the", "cat", "sat"]
    tree = parser.parse(words)
    assert tree.words == words and -100 < parser.log_prob(tree) < 0
    parser.save(tmp_path / "copy")
    again = Parser.load(tmp_path / "copy", "cpu")
    assert again.log_prob(tree) == pytest.approx(parser.log_prob(tree))
    has_own_weights = "loss" not in model
    assert (parser.scorer.precision == "float32") == has_own_weights
    if has_own_weights:
        with pytest.raises(ValueError, match="its scorer or encoder is of another package"):
            Parser.load(tmp_path / "run", "cpu", precision="int8")


def test_a_scorer_without_output_weights_is_calibrated_without_temperatures(package, tmp_path):
    trees = list(read_trees(FIFTY))[:10]
    fit(small_recipe(model={"scorer": "sum"}, epochs=1), tmp_path, device="cpu")
    parser = Parser.load(tmp_path, "cpu", precision="float32")
    with pytest.raises(ValueError, match="the scorer Sum has no temperature; calibrate with --keep-weights"):
        calibrate(parser, trees)
    assert calibrate(parser, trees, keep_weights=True).temperatures == (1.0, 1.0)


def test_a_model_whose_package_is_not_installed_says_what_is_missing(package, tmp_path, monkeypatch):
    fit(small_recipe(model={"scorer": "sum"}, epochs=1), tmp_path / "run", device="cpu")
    (package / "entry_points.txt").unlink()
    with pytest.raises(ValueError, match=r"scorer is 'sum'; expected one of .* entry points treecrf\.scorers"):
        Parser.load(tmp_path / "run", "cpu")


@pytest.mark.parametrize("setting", BUILT_IN)
@pytest.mark.parametrize("name", ["os:system", "", "Sum", "own_parts:Sum", None, 3])
def test_a_name_is_never_an_import_path(package, setting, name):
    with pytest.raises(ValueError, match=rf"{setting} is .*; expected one of"):
        ModelConfig(**{setting: name})


def test_two_packages_with_the_same_name_are_an_error(package, tmp_path, monkeypatch):
    other = tmp_path / "other" / "others-1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[treecrf.scorers]\nsum = os:system\n")
    monkeypatch.syspath_prepend(str(other.parent))
    with pytest.raises(ValueError, match="which others and own-parts have"):
        check_name("scorer", "sum")
