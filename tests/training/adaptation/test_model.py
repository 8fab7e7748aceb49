import subprocess
import sys
from pathlib import Path

import pytest

from treecrf import Parser
from treecrf.config import tomllib
from treecrf.parser.models.model_card import ModelCard
from treecrf.training.adaptation.adapt import Adaptation
from treecrf.training.adaptation.corrections import Corrections, Measure, Source
from treecrf.training.adaptation.model import save_adaptation
from treecrf.training.export.pack import scoring_rules
from treecrf.trees.bootstrap import Interval
from treecrf.trees.evalb import COLLINS


def adaptation(*, epoch: int) -> Adaptation:
    base = Parser.load("en", "cpu")
    adapted = Parser.from_state(base.state(), "cpu")
    adapted.f1_threshold = 0.4
    gain = Measure(80.0, 85.0, Interval(2.0, 8.0), 0.99)
    return Adaptation(
        base=base,
        parser=adapted if epoch else base,
        corrections=Corrections(sources=[Source("mine.mrg", 50, 0)]),
        epoch=epoch,
        gains={"brackets": gain, "sentences": gain},
        others=None,
        verdict="",
    )


def test_an_adapted_model_names_its_base_and_its_trees_and_keeps_its_conditions(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    save_adaptation(adaptation(epoch=3), folder)
    parser, base, card = Parser.load(folder, "cpu"), Parser.load("en", "cpu"), ModelCard.load(folder)
    assert parser.f1_threshold == 0.4
    assert parser.schemes == base.schemes
    assert (folder / "conditions.safetensors").is_file()
    assert (folder / "measures.json").is_file()
    assert "The model en, adapted to" in card.purpose.summary
    assert "mine.mrg" in card.purpose.summary
    assert card.data[-1].name == "mine.mrg"
    assert card.scores == ()
    assert tomllib.loads(card.recipe)["adaptation"]["epochs"] == 3
    assert scoring_rules(folder) == COLLINS
    assert "mine.mrg" in (folder / "README.md").read_text()


def test_a_refused_model_is_the_base(tmp_path: Path) -> None:
    save_adaptation(adaptation(epoch=0), tmp_path / "same")
    base = Parser.load("en", "cpu")
    assert base.folder is not None
    for name in ("model.safetensors", "config.toml", "productions.txt"):
        assert (tmp_path / "same" / name).read_bytes() == (base.folder / name).read_bytes()


@pytest.mark.parametrize("epoch", [0, 2])
def test_an_adapted_model_becomes_a_package(tmp_path: Path, epoch: int) -> None:
    save_adaptation(adaptation(epoch=epoch), tmp_path / "mine")
    command = ["pack", str(tmp_path / "mine"), str(tmp_path / "treecrf-mine"), "--package"]
    subprocess.run([sys.executable, "-m", "treecrf", *command], check=True, capture_output=True)
    assert Parser.load(tmp_path / "treecrf-mine" / "src" / "treecrf_mine" / "mine", "cpu").language == "en"
