import random
from pathlib import Path

import pytest

from small import FIFTY, small_recipe
from treecrf.parser import Parser
from treecrf.training import fit
from treecrf.training.conditions import Conditions

WORDS = [["the", "old", "man"], ["the", "boats"], ["partial", "tree"]]
TAGS = [["DT", "JJ", "NN"], ["DT", "NNS"]]


def conditions(**changes) -> Conditions:
    values = {"words": WORDS, "tags": TAGS, "schemes": [1, 0, 2], "share": 0.5, "has_tags": True}
    return Conditions(**{**values, **changes})


def test_a_share_of_the_sentences_is_told_the_scheme_or_tags_or_both() -> None:
    chance, drawn = random.Random(1), conditions()
    told = [drawn.draw(0, chance) for _ in range(400)]
    kinds = {(bool(each.scheme), all(each.tags), any(each.tags)) for each in told}
    assert {(False, False, False), (True, False, False), (False, True, True), (True, True, True)} <= kinds
    untold = [each for each in told if not each.scheme and not any(each.tags)]
    assert 150 < len(untold) < 260
    assert all(each.words == WORDS[0] for each in untold)
    assert all(given in (None, tag) for each in told for given, tag in zip(each.tags, TAGS[0], strict=True))


def test_only_words_whose_tag_is_given_are_replaced() -> None:
    chance, drawn = random.Random(2), conditions(share=1.0)
    told = [drawn.draw(0, chance) for _ in range(400)]
    replaced = [
        tag for each in told for word, old, tag in zip(each.words, WORDS[0], each.tags, strict=True) if word != old
    ]
    assert replaced and all(replaced)


def test_sentences_are_told_only_what_is_known_of_them() -> None:
    chance = random.Random(3)
    assert {conditions(share=1.0).draw(1, chance).scheme for _ in range(50)} == {0}
    partial = [conditions(share=1.0).draw(2, chance) for _ in range(50)]
    assert {(each.scheme, *each.tags) for each in partial} == {(2, None, None)}
    without_tags = [conditions(share=1.0, has_tags=False).draw(0, chance) for _ in range(50)]
    assert {(each.scheme, *each.tags) for each in without_tags} == {(1, None, None, None)}


def test_a_network_learns_to_be_told_schemes_and_tags(tmp_path: Path, encoder: str) -> None:
    model = {"encoder": "transformer", "transformer_layers": 2, "transformer": encoder, "tag_head": True}
    conditions = {"tag_conditions": True, "schemes": ("one", "two")}
    told = {"train": (FIFTY, FIFTY), "schemes": ("one", "two"), "told": 0.8, "taught": (True, False)}
    fit(small_recipe(model=model, epochs=1), tmp_path / "teacher", device="cpu")
    data = told | {"scheme": "one"}
    recipe = small_recipe(model=model | conditions, data=data, epochs=1, teachers=(str(tmp_path / "teacher"),))
    fit(recipe, tmp_path / "run", device="cpu")
    assert Parser.load(tmp_path / "run", "cpu").scheme == "one"
    parser = Parser.load(tmp_path / "run", "cpu", scheme="two")
    assert all(tensor.any() for name, tensor in parser.model.state_dict().items() if ".conditions." in name)
    assert {"one productions", "two tags"} <= parser.arrays["schemes"].keys()
    with pytest.raises(ValueError, match=r"data\.schemes has 'three'; expected names in model.schemes"):
        fit(small_recipe(model=model | conditions, data=told | {"schemes": ("three", "")}), tmp_path / "wrong")
    with pytest.raises(ValueError, match="scheme is 'three'; expected one of 'one', 'two'"):
        fit(small_recipe(model=model | conditions, data=told | {"scheme": "three"}), tmp_path / "wrong")
    with pytest.raises(ValueError, match="the network reads no conditions"):
        fit(small_recipe(model=model, data={"told": 0.5}), tmp_path / "wrong")
