import pytest

from treecrf.viz.colors import THEMES, checked, contrast, ink_on, luminance, spelled, theme_named

STEPS = [step / 100 for step in range(101)]


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_probabilities_are_in_order_in_greyscale_too(theme):
    tones = [luminance(theme.fill(probability)) for probability in STEPS]
    assert tones in (sorted(tones), sorted(tones, reverse=True)) and len(set(tones)) > 95
    assert contrast(theme.fill(0), theme.fill(1)) > 7


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_certain_constituents_are_close_to_the_ground_and_doubtful_ones_are_not(theme):
    assert contrast(theme.fill(1), theme.ground) < 1.6
    assert contrast(theme.fill(0), theme.ground) > 7


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_has_contrast(theme):
    assert all(contrast(ink_on(theme.fill(probability)), theme.fill(probability)) >= 4.5 for probability in STEPS)
    assert contrast(theme.ink, theme.ground) >= 7 and contrast(theme.faint, theme.ground) >= 4.5


@pytest.mark.parametrize("probabilities", [[0.5], [0.5, 1.2], [float("nan"), 1.0], [0.5, -0.1]])
def test_other_numbers_are_no_probabilities(probabilities):
    with pytest.raises(ValueError, match=r"expected"):
        checked(probabilities, 2)


def test_rounding_errors_are_forgiven():
    assert checked([1.0000001, -0.0000001], 2)
    assert THEMES["light"].fill(1.0000001) == THEMES["light"].fill(1)
    assert [spelled(p) for p in (1.0000001, 0.994, 0.5, -1e-7)] == ["", ".99", ".50", ".00"]


def test_an_unknown_theme_is_told():
    with pytest.raises(ValueError, match="theme is 'blue'; expected 'light' or 'dark'"):
        theme_named("blue")
