import json
from pathlib import Path
from typing import Any

import pytest

from treecrf.parser.models import FOLDER
from treecrf.parser.models.model_card import CARD_JSON, ModelCard, format_megabytes, model_bytes, read_treebanks


def changed_card(folder: Path, **changes: Any) -> ModelCard:
    """Loads the card of `en` after some fields have been changed."""
    fields = json.loads((FOLDER / "en" / CARD_JSON).read_text(encoding="utf-8")) | changes
    (folder / CARD_JSON).write_text(json.dumps(fields), encoding="utf-8")
    return ModelCard.load(folder)


def test_the_card_of_an_embedded_model_is_typed(tmp_path: Path) -> None:
    card = ModelCard.load(FOLDER / "en")
    assert card.name == "en" and card.purpose.language == "English" and card.scores[0].f1 > 90
    assert changed_card(tmp_path) == card
    assert changed_card(tmp_path, speed=None).speed is None


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": ["NP", 3]},
        {"tags": ["N\x1b[31m"]},
        {"labels": ["x" * 1001]},
        {"size": -1},
        {"size": "large"},
        {"size": 10**15},
        {"purpose": {}},
        {"data": 3},
        {"unknown": 1},
    ],
)
def test_a_strange_card_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"{CARD_JSON} is not a model card"):
        changed_card(tmp_path, **changes)


def test_the_size_of_a_model_has_no_card(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / CARD_JSON).write_bytes(b"123")
    assert model_bytes(tmp_path) == 5 and format_megabytes(1_250_000) == "1.2 MB"


def test_treebanks_are_described_in_a_table_each(tmp_path: Path) -> None:
    path = tmp_path / "treebanks.toml"
    path.write_text('[gum]\ntitle = "GUM"\nsource = "web"\nlicense = "CC"\ncommercial = "yes"\n')
    assert read_treebanks(path)["gum"].title == "GUM"
    path.write_text('[gum]\ntitle = "GUM"\n')
    with pytest.raises(ValueError, match="does not describe treebanks"):
        read_treebanks(path)
