"""Colors for light and dark backgrounds, and a color scale for probabilities.

A probability of 1 has nearly the color of the background, a probability of 0 the strongest contrast. Lightness is
monotonic, so that the scale is also readable in grayscale and with every kind of color vision.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from treecrf.config import read_data

Color = Sequence[int]  # red, green, blue, each from 0 to 255


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colors of a picture."""

    background: Color
    ink: Color  # labels and words
    muted: Color  # tags, legends
    line: Color
    scale: Sequence[Color]  # for evenly spaced probabilities from 0 to 1

    def fill(self, probability: float) -> Color:
        """The color of a probability.

        >>> to_hex(THEMES["light"].fill(1.0))
        '#f3efe6'
        """
        steps = len(self.scale) - 1
        position = min(max(probability, 0.0), 1.0) * steps
        low = min(int(position), steps - 1)
        pairs = zip(self.scale[low], self.scale[low + 1], strict=True)
        red, green, blue = (round(a + (b - a) * (position - low)) for a, b in pairs)
        return red, green, blue


_TABLES = read_data(__file__, "themes.toml")
THEMES = {name: Theme(**table) for name, table in _TABLES.items()}


def get_theme(name: str) -> Theme:
    if name not in THEMES:
        raise ValueError(f"theme is {name!r}; expected {' or '.join(map(repr, THEMES))}")
    return THEMES[name]


def to_hex(color: Color) -> str:
    """A color in hexadecimal notation, for SVG and HTML."""
    return "#{:02x}{:02x}{:02x}".format(*color)


def luminance(color: Color) -> float:
    """The relative luminance of a color, from 0 for black to 1 for white."""
    red, green, blue = (_linear(channel / 255) for channel in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: Color, second: Color) -> float:
    """The contrast ratio of two colors, from 1 to 21; text needs 4.5."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def ink_on(fill: Color) -> Color:
    """Black or white, the one with more contrast on a color."""
    return max((0, 0, 0), (255, 255, 255), key=lambda ink: contrast(ink, fill))


def check_probabilities(probabilities: Sequence[float] | None, spans: int) -> Sequence[float] | None:
    """Checks that there is one probability per constituent, each between 0 and 1."""
    if probabilities is None:
        return None
    if len(probabilities) != spans:
        raise ValueError(
            f"{len(probabilities)} probabilities for {spans} constituents; expected one for each of tree.spans()"
        )
    for number, probability in enumerate(probabilities):
        if not -1e-6 <= probability <= 1 + 1e-6:
            raise ValueError(f"probability {number} is {probability}; expected a number from 0 to 1")
    return probabilities


def format_probability(probability: float) -> str:
    """A probability as a percentage, or an empty string if it rounds to 100 %.

    >>> format_probability(0.618), format_probability(0.9999), format_probability(0.001)
    ('62 %', '', '0 %')
    """
    return f"{math.floor(100 * max(probability, 0.0) + 0.5)} %" if probability < 0.995 else ""


def _linear(channel: float) -> float:
    """Converts an sRGB channel to linear light."""
    return float(channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)
