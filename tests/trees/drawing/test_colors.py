import pytest

from treecrf.trees.drawing import colors
from treecrf.trees.drawing.colors import (
    THEMES,
    check_probabilities,
    contrast,
    format_probability,
    get_theme,
    ink_on,
    luminance,
)

STEPS = [step / 100 for step in range(101)]


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_probabilities_are_in_order_in_grayscale(theme):
    tones = [luminance(theme.fill(probability)) for probability in STEPS]
    assert tones in (sorted(tones), sorted(tones, reverse=True)) and len(set(tones)) > 95
    assert contrast(theme.fill(0), theme.fill(1)) > 7


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_high_probabilities_are_close_to_the_background_and_low_ones_are_not(theme):
    assert contrast(theme.fill(1), theme.background) < 1.6
    assert contrast(theme.fill(0), theme.background) > 7


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_has_contrast(theme):
    assert all(contrast(ink_on(theme.fill(probability)), theme.fill(probability)) >= 4.5 for probability in STEPS)
    assert contrast(theme.ink, theme.background) >= 7 and contrast(theme.muted, theme.background) >= 4.5


@pytest.mark.parametrize("probabilities", [[0.5], [0.5, 1.2], [float("nan"), 1.0], [0.5, -0.1]])
def test_numbers_outside_0_to_1_are_an_error(probabilities):
    with pytest.raises(ValueError, match=r"expected"):
        check_probabilities(probabilities, 2)


def test_rounding_errors_are_accepted():
    assert check_probabilities([1.0000001, -0.0000001], 2)
    assert THEMES["light"].fill(1.0000001) == THEMES["light"].fill(1)
    assert [format_probability(p) for p in (1.0000001, 0.995, 0.994, 0.5, -1e-7)] == ["", "", "99 %", "50 %", "0 %"]


def test_an_unknown_theme_is_an_error():
    with pytest.raises(ValueError, match="theme is 'blue'; expected 'light' or 'dark'"):
        get_theme("blue")


def test_ink_is_black_or_white():
    assert ink_on((250, 250, 250)) == (0, 0, 0) and ink_on((5, 5, 5)) == (255, 255, 255)
    assert (luminance((0, 0, 0)), luminance((255, 255, 255))) == (0, pytest.approx(1))
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21) == contrast((255, 255, 255), (0, 0, 0))
    assert luminance((255, 0, 0)) == pytest.approx(0.2126) and luminance((0, 0, 255)) == pytest.approx(0.0722)


def test_gray_of_half_the_scale_has_a_fifth_of_the_light():
    assert colors._linear(0.5) == pytest.approx(0.2140, abs=1e-4)
    assert colors._linear(0.04) == pytest.approx(0.04 / 12.92)
