"""Names of version 0.1: they warn and work."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import treecrf
from small import random_parser
from treecrf import viz
from treecrf.aliases import MODULES, NAMES, PACKAGES, _OldModule
from treecrf.config import read_config
from treecrf.data import vocabulary
from treecrf.parser import Parser
from treecrf.text.normalization import normalizer
from treecrf.training import Recipe
from treecrf.viz import colors

OLD_MODEL = Path(__file__).parent / "samples" / "old-model"  # saved by version 0.1
TREE = treecrf.Tree.parse("(TOP (S (NP (PRP We)) (VP (VBP parse))))")
# the names in the documentation of version 0.1
DOCUMENTED = [
    "analysis.Alternative",
    "analysis.Constituent",
    "calibration.measure",
    "config.read_config",
    "draw.Layout",
    "draw.Package",
    "draw.document",
    "draw.latex",
    "draw.page",
    "draw.pdf",
    "draw.png",
    "draw.svg",
    "draw.text",
    "draw.use_fonts",
    "draw.without_font",
    "forms.reader",
    "nltk_parser.NLTKParser",
    "nn.model.ModelConfig",
    "text.Token",
    "text.sentences",
    "text.tokenize",
    "train.Recipe",
    "train.fit",
    "train.recipe.DataConfig",
    "train.recipe.TrainConfig",
]


# importing a module also warns about its package, and pytest emits warnings again that a test does not expect
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def forget_old_modules():
    """Makes every test import the old modules again."""
    yield
    for name in [name for name, module in sys.modules.items() if isinstance(module, _OldModule)]:
        del sys.modules[name]
        package, _, module = name.rpartition(".")
        if package in sys.modules:
            vars(sys.modules[package]).pop(module, None)


@pytest.mark.parametrize("old", [*MODULES, *PACKAGES])
def test_every_old_module_has_a_new_one(old):
    assert find_spec(f"treecrf.{MODULES.get(old) or PACKAGES[old]}")


@pytest.mark.parametrize("old", ["cnf", "draw", "draw.svg", "draw.colours", "train.recipe", "nn.embed"])
def test_importing_an_old_module_warns(old):
    with pytest.warns(DeprecationWarning, match=rf"treecrf\.{old} is now treecrf\.[\w.]+; the old name goes in 0\.3"):
        import_module(f"treecrf.{old}")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_names_are_found_by_their_old_path(name):
    module, _, attribute = name.rpartition(".")
    assert getattr(import_module(f"treecrf.{module}"), attribute)


def test_old_modules_have_the_objects_of_the_new_ones():
    old_colors = import_module("treecrf.draw.colours")
    assert old_colors.THEMES is colors.THEMES
    assert import_module("treecrf.encode.vocabulary").Vocabulary is vocabulary.Vocabulary
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        old_colors.nothing  # noqa: B018  # the lookup is the test


def test_importing_an_old_submodule_keeps_the_function_of_the_same_name():
    from treecrf import draw

    import_module("treecrf.draw.svg")
    assert draw.svg is viz.svg
    assert draw.svg(TREE) == viz.svg(TREE)


@pytest.mark.parametrize("module", [*NAMES])
def test_old_names_in_old_modules_are_the_new_objects(module):
    new = import_module(f"treecrf.{MODULES.get(module) or PACKAGES[module]}")
    for old_name, new_name in NAMES[module].items():
        assert getattr(import_module(f"treecrf.{module}"), old_name) is getattr(new, new_name)


def test_reader_is_normalizer():
    with pytest.warns(DeprecationWarning, match=r"treecrf\.forms is now treecrf\.text\.normalization"):
        from treecrf.forms import reader
    assert reader is normalizer


@pytest.mark.parametrize("name", ["treecrf.nothing", "treecrf.draw.nothing", "treecrf.train.nothing.nothing"])
def test_unknown_modules_are_still_an_error(name):
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        import_module(name)


def test_old_settings_warn_and_work(tmp_path):
    path = tmp_path / "old.toml"
    path.write_text(
        '[data]\ntrain = ["a"]\ndev = ["b"]\nforms = "plain"\n'
        '[model]\nrecurrent = "sentence"\ntransformer_inputs = true\n[train]\naverage = 0.9\ntrust = 0.5\n'
    )
    with pytest.warns(DeprecationWarning) as warnings:
        recipe = read_config(Recipe, path, ["train.trust=0.25"])
    assert recipe.data.normalization == "plain"
    assert (recipe.model.recurrent_dropout, recipe.model.add_word_inputs) == ("sentence", True)
    assert (recipe.train.ema_decay, recipe.train.distillation_weight) == (0.9, 0.25)
    assert "the setting 'data.forms' is now 'data.normalization'; the old name goes in 0.3" in map(
        str, (warning.message for warning in warnings)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [("price", "f1_threshold"), ("certainty", "calibration"), ("forms", "normalization"), ("pace", "batching")],
)
def test_old_attributes_of_a_parser_warn_and_work(old, new):
    parser = random_parser([TREE])
    with pytest.warns(DeprecationWarning, match=f"Parser.{old} is now Parser.{new}"):
        assert getattr(parser, old) == getattr(parser, new)


def test_old_attributes_of_a_parser_can_be_set():
    parser = random_parser([TREE])
    with pytest.warns(DeprecationWarning, match=r"Parser\.price is now Parser\.f1_threshold"):
        parser.price = 0.4
    assert parser.f1_threshold == 0.4


def test_a_model_saved_by_version_0_1_loads_and_parses():
    with pytest.warns(DeprecationWarning, match="the setting '(forms|certainty|price)' is now"):
        parser = Parser.load(OLD_MODEL, device="cpu", precision="float32")  # integers would decide ties differently
    assert (parser.normalization, parser.f1_threshold) == ("plain", 0.1)
    assert tuple(parser.calibration) == (0.9, 1.1, 0.05)
    words = ["paints", "Boris", "in", "the", "old", "small", "cat", "."]
    assert str(parser.parse(words)) == (
        "(TOP (SBAR (SBAR (VBZ paints)) (SBAR (SBAR (VBZ Boris)) (FRAG (NP (FRAG (NP (VBZ in))) (SBAR (SBAR (FRAG (NP "
        "(SBAR (SBAR (VBZ the)) (VBZ old)) (FRAG (NP (VBZ small))))) (FRAG (NP (VBZ cat)))) (FRAG (NP (JJ .)))))))))"
    )


def test_a_model_saved_by_version_0_1_is_saved_with_the_new_names(tmp_path):
    with pytest.warns(DeprecationWarning):
        parser = Parser.load(OLD_MODEL, device="cpu")
    parser.save(tmp_path / "new")
    again = Parser.load(tmp_path / "new", device="cpu")
    assert (again.normalization, again.f1_threshold, again.calibration) == ("plain", 0.1, parser.calibration)
