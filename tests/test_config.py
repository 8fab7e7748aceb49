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
class Annex:
    rooms: int = 1


@dataclass(frozen=True, kw_only=True)
class House:
    garden: Garden
    name: str = "home"
    annex: Annex = field(default_factory=Annex)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "house.toml"
    path.write_text('[garden]\nplants = ["oak", "elm"]\narea = 3\n')
    return path


def read(path: Path, *overrides: str) -> House:
    return read_config(House, path, overrides)


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


@given(st.builds(House, garden=gardens, name=texts, annex=st.builds(Annex, rooms=st.integers(0, 9))))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, house: House) -> None:
    path = tmp_path_factory.mktemp("config") / "house.toml"
    path.write_text(to_toml(house), encoding="utf-8")
    assert read(path) == house


def test_defaults_stand_where_the_file_is_silent(recipe: Path) -> None:
    assert read(recipe) == House(garden=Garden(plants=("oak", "elm"), area=3.0))


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
def test_an_override_is_read_as_its_setting_wants_it(recipe: Path, override: str, name: str, value: object) -> None:
    got = getattr(read(recipe, override).garden, name)
    assert got == value and type(got) is type(value)


def test_a_list_may_be_given_item_by_item(recipe: Path) -> None:
    assert read(recipe, "garden.plants=fig", "garden.plants=yew,box").garden.plants == ("fig", "yew", "box")


def test_the_last_of_two_overrides_counts(recipe: Path) -> None:
    assert read(recipe, "garden.beds=1", "garden.beds=2").garden.beds == 2


def test_one_text_will_do_for_a_list_of_one(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_text('[garden]\nplants = "oak"\n')
    assert read(path).garden.plants == ("oak",)


def test_a_recipe_changes_its_base(recipe: Path) -> None:
    (recipe.parent / "sub").mkdir()
    path = recipe.parent / "sub" / "child.toml"
    path.write_text('base = "../house.toml"\n[garden]\nbeds = 9\nplants = ["fig"]\n')
    assert read(path) == House(garden=Garden(plants=("fig",), area=3.0, beds=9))


def test_a_circle_of_bases_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('base = "b.toml"')
    (tmp_path / "b.toml").write_text('base = "a.toml"')
    with pytest.raises(SettingError, match="own base"):
        read(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("[garden]\nbed = 3\nplants = []", [], r"unknown setting 'garden\.bed' in .*house\.toml; .* 'garden\.beds'\?"),
        ("beds = 3\n[garden]\nplants = []", [], r"unknown setting 'beds' in .*house\.toml; .* 'garden\.beds'\?"),
        ("[gardn]\nbeds = 3\n[garden]\nplants = []", [], r"'gardn\.beds' .* 'garden\.beds'\?"),
        ("[garden]\nplants = []", ["garden.aera=3"], r"'garden\.aera' in the command line; .* 'garden\.area'\?"),
        ("[garden]\nplants = []", ["xyzzy=1"], r"unknown setting 'xyzzy' in the command line; did you mean '.+'\?"),
        ("[garden]\nplants = []\nbeds = 1.5", [], r"'garden\.beds' in .*house\.toml is 1\.5; expected an integer"),
        ("[garden]\nplants = []\nbeds = true", [], r"'garden\.beds' .* is true; expected an integer"),
        ("[garden]\nplants = []\nbeds = '3'", [], r"'garden\.beds' .* is 3; expected an integer"),
        ("[garden]\nplants = []", ["garden.beds=ten"], r"is ten; expected an integer"),
        ("[garden]\nplants = []", ["garden.walled=yes"], r"is yes; expected true or false"),
        ("[garden]\nplants = []", ["garden.soil=clays"], r"expected one of 'clay', 'sand'; did you mean 'clay'\?"),
        ("[garden]\nplants = []", ["garden.corner=1"], r"is \[1\.0\]; expected a list of 2, each a number"),
        ("[garden]\nplants = [1]", [], r"'garden\.plants' .* expected a list, each a string"),
        ("[garden]\nplants = []\nbeds = -1", [], r"\[garden\] in .*house\.toml: beds is -1"),
        ("[garden]", [], r"'garden\.plants' is missing in .*house\.toml"),
        ("[garden]\nplants = []", ["garden.beds"], r"'garden\.beds' on the command line is no setting"),
        ("[garden", [], r"house\.toml is not TOML"),
        ("base = 3", [], r"'base' in .*house\.toml is 3"),
    ],
)
def test_an_error_names_file_setting_and_remedy(tmp_path: Path, text: str, overrides: list[str], message: str) -> None:
    path = tmp_path / "house.toml"
    path.write_text(text)
    with pytest.raises(SettingError, match=message):
        read(path, *overrides)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match=r"house\.toml is not UTF-8"):
        read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"nowhere\.toml"):
        read(tmp_path / "nowhere.toml")


def test_differences_name_what_changed() -> None:
    old = House(garden=Garden(plants=("oak",)))
    new = House(garden=Garden(plants=("oak",), beds=5), name="den")
    assert differences(old, new) == ["garden.beds", "name"]
    assert differences(old, old) == []


def test_every_setting_has_a_dotted_name() -> None:
    assert setting_names(House)[:2] == ["garden.plants", "garden.area"]
    assert "annex.rooms" in setting_names(House) and "name" in setting_names(House)


def test_none_is_only_written_where_it_is_the_default() -> None:
    @dataclass(frozen=True)
    class Pond:
        depth: float | None = 2.0

    with pytest.raises(ValueError, match="depth is None"):
        to_toml(Pond(depth=None))


def test_infinity_survives(recipe: Path) -> None:
    assert read(recipe, "garden.area=inf").garden.area == math.inf
