import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.config import SettingError, differences, read_config, setting_names, to_toml


@dataclass(frozen=True, kw_only=True)
class Garden:
    plants: tuple[str, ...]
    area: float = 1.5
    beds: int = 4
    walled: bool = False
    soil: Literal["clay", "sand"] = "clay"
    gardener: str | None = None
    corner: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.beds < 0:
            raise ValueError(f"beds is {self.beds}; expected none or more")


@dataclass(frozen=True, kw_only=True)
class Barn:
    stalls: int = 1


@dataclass(frozen=True, kw_only=True)
class Farm:
    garden: Garden
    name: str = "home"
    barn: Barn = field(default_factory=Barn)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "farm.toml"
    path.write_text('[garden]\nplants = ["oak", "elm"]\narea = 3\n')
    return path


def read(path: Path, *overrides: str) -> Farm:
    return read_config(Farm, path, overrides)


texts = st.text(st.characters(exclude_categories=["Cs"]))
gardens = st.builds(
    Garden,
    plants=st.lists(texts).map(tuple),
    area=st.floats(allow_nan=False),
    beds=st.integers(0, 2**53),
    walled=st.booleans(),
    soil=st.sampled_from(["clay", "sand"]),
    gardener=st.none() | texts,
    corner=st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)),
)


@given(st.builds(Farm, garden=gardens, name=texts, barn=st.builds(Barn, stalls=st.integers(0, 9))))
def test_round_trip_through_toml_keeps_settings(tmp_path_factory: pytest.TempPathFactory, farm: Farm) -> None:
    path = tmp_path_factory.mktemp("config") / "farm.toml"
    path.write_text(to_toml(farm), encoding="utf-8")
    assert read(path) == farm


def test_missing_settings_have_defaults(recipe: Path) -> None:
    assert read(recipe) == Farm(garden=Garden(plants=("oak", "elm"), area=3.0))


@pytest.mark.parametrize(
    ("override", "name", "value"),
    [
        ("garden.area=.5", "area", 0.5),
        ("garden.area=1e-12", "area", 1e-12),
        ("garden.beds=1_000", "beds", 1000),
        ("garden.walled=true", "walled", True),
        ("garden.soil=sand", "soil", "sand"),
        ("garden.gardener=7", "gardener", "7"),
        ("garden.gardener='7 of 9'", "gardener", "7 of 9"),
        ("garden.gardener=a=b", "gardener", "a=b"),
        ("garden.plants=fig", "plants", ("fig",)),
        ("garden.plants=fig,yew", "plants", ("fig", "yew")),
        ('garden.plants=["fig, yew"]', "plants", ("fig, yew",)),
        ("garden.plants=", "plants", ()),
        ("garden.corner=1,.5", "corner", (1.0, 0.5)),
        ("garden.corner=[1, 2.5]", "corner", (1.0, 2.5)),
    ],
)
def test_an_override_is_converted_to_the_type_of_its_setting(
    recipe: Path, override: str, name: str, value: object
) -> None:
    setting = getattr(read(recipe, override).garden, name)
    assert setting == value and type(setting) is type(value)


def test_repeated_overrides_of_a_list_are_its_items(recipe: Path) -> None:
    assert read(recipe, "garden.plants=fig", "garden.plants=yew,box").garden.plants == ("fig", "yew", "box")


def test_the_last_of_two_overrides_is_used(recipe: Path) -> None:
    assert read(recipe, "garden.beds=1", "garden.beds=2").garden.beds == 2


def test_a_string_is_a_list_of_one(tmp_path: Path) -> None:
    path = tmp_path / "farm.toml"
    path.write_text('[garden]\nplants = "oak"\n')
    assert read(path).garden.plants == ("oak",)


def test_a_file_overrides_its_base(recipe: Path) -> None:
    (recipe.parent / "sub").mkdir()
    path = recipe.parent / "sub" / "child.toml"
    path.write_text('base = "../farm.toml"\n[garden]\nbeds = 9\nplants = ["fig"]\n')
    assert read(path) == Farm(garden=Garden(plants=("fig",), area=3.0, beds=9))


def test_the_later_of_two_bases_is_used(recipe: Path) -> None:
    (recipe.parent / "second.toml").write_text("[garden]\nbeds = 7\n")
    path = recipe.parent / "child.toml"
    path.write_text('base = ["farm.toml", "second.toml"]\n[garden]\nplants = ["fig"]\n')
    assert read(path) == Farm(garden=Garden(plants=("fig",), area=3.0, beds=7))


def test_a_circle_of_bases_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('base = "b.toml"')
    (tmp_path / "b.toml").write_text('base = "a.toml"')
    with pytest.raises(SettingError, match="own base"):
        read(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("[garden]\nbed = 3\nplants = []", [], r"unknown setting 'garden\.bed' in .*farm\.toml; .* 'garden\.beds'\?"),
        ("beds = 3\n[garden]\nplants = []", [], r"unknown setting 'beds' in .*farm\.toml; .* 'garden\.beds'\?"),
        ("[gardn]\nbeds = 3\n[garden]\nplants = []", [], r"'gardn\.beds' .* 'garden\.beds'\?"),
        ("[garden]\nplants = []", ["garden.aera=3"], r"'garden\.aera' in the command line; .* 'garden\.area'\?"),
        ("[garden]\nplants = []", ["xyzzy=1"], r"unknown setting 'xyzzy' in the command line; did you mean '.+'\?"),
        ("[garden]\nplants = []\nbeds = 1.5", [], r"'garden\.beds' in .*farm\.toml is 1\.5; expected an integer"),
        ("[garden]\nplants = []\nbeds = true", [], r"'garden\.beds' .* is true; expected an integer"),
        ("[garden]\nplants = []\nbeds = '3'", [], r"'garden\.beds' .* is 3; expected an integer"),
        ("[garden]\nplants = []", ["garden.beds=ten"], r"is ten; expected an integer"),
        ("[garden]\nplants = []", ["garden.walled=yes"], r"is yes; expected true or false"),
        ("[garden]\nplants = []", ["garden.soil=clays"], r"expected one of 'clay', 'sand'; did you mean 'clay'\?"),
        ("[garden]\nplants = []", ["garden.corner=1"], r"is \[1\.0\]; expected a list of 2, each a number"),
        ("[garden]\nplants = [1]", [], r"'garden\.plants' .* expected a list, each a string"),
        ("[garden]\nplants = []\nbeds = -1", [], r"\[garden\] in .*farm\.toml: beds is -1"),
        ("[garden]", [], r"'garden\.plants' is missing in .*farm\.toml"),
        ("[garden]\nplants = []", ["garden.beds"], r"'garden\.beds' on the command line is no setting"),
        ("[garden", [], r"farm\.toml is not TOML"),
        ("base = 3", [], r"'base' in .*farm\.toml is 3"),
    ],
)
def test_an_error_names_the_file_the_setting_and_a_remedy(
    tmp_path: Path, text: str, overrides: list[str], message: str
) -> None:
    path = tmp_path / "farm.toml"
    path.write_text(text)
    with pytest.raises(SettingError, match=message):
        read(path, *overrides)


def test_a_file_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "farm.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match=r"farm\.toml is not UTF-8"):
        read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"nowhere\.toml"):
        read(tmp_path / "nowhere.toml")


def test_differences_are_the_names_of_changed_settings() -> None:
    old = Farm(garden=Garden(plants=("oak",)))
    new = Farm(garden=Garden(plants=("oak",), beds=5), name="den")
    assert differences(old, new) == ["garden.beds", "name"]
    assert differences(old, old) == []


def test_every_setting_has_a_dotted_name() -> None:
    assert setting_names(Farm)[:2] == ["garden.plants", "garden.area"]
    assert "barn.stalls" in setting_names(Farm) and "name" in setting_names(Farm)


def test_none_is_written_only_if_it_is_the_default() -> None:
    @dataclass(frozen=True)
    class Pond:
        depth: float | None = 2.0

    with pytest.raises(ValueError, match="depth is None"):
        to_toml(Pond(depth=None))


def test_infinity_is_a_number(recipe: Path) -> None:
    assert read(recipe, "garden.area=inf").garden.area == math.inf
