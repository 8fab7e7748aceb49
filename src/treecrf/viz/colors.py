"""Colours for light and dark grounds, and a scale of them for probabilities.

The scale leads from the ground's own tone, for what is certain, to its opposite, by way of yellows and browns that
every kind of colour vision can order; so can a black-and-white printer, since only lightness counts there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Colour = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of a picture."""

    ground: Colour
    ink: Colour  # labels and words
    faint: Colour  # tags, legends
    line: Colour
    scale: tuple[Colour, ...]  # from probability 0 to 1, evenly

    def fill(self, probability: float) -> Colour:
        """The colour of a probability.

        >>> hexadecimal(THEMES["light"].fill(1.0))
        '#f3efe6'
        """
        steps = len(self.scale) - 1
        place = min(max(probability, 0.0), 1.0) * steps
        low = min(int(place), steps - 1)
        pairs = zip(self.scale[low], self.scale[low + 1], strict=True)
        red, green, blue = (round(a + (b - a) * (place - low)) for a, b in pairs)
        return red, green, blue


THEMES = {
    "light": Theme(
        ground=(255, 255, 255),
        ink=(24, 30, 42),
        faint=(92, 100, 114),
        line=(148, 156, 170),
        scale=((104, 30, 20), (178, 74, 24), (233, 143, 44), (248, 208, 128), (243, 239, 230)),
    ),
    "dark": Theme(
        ground=(22, 25, 31),
        ink=(235, 238, 243),
        faint=(160, 168, 181),
        line=(104, 113, 128),
        scale=((255, 236, 190), (243, 190, 88), (203, 124, 34), (126, 72, 28), (46, 51, 60)),
    ),
}


def theme_named(name: str) -> Theme:
    """A theme by its name."""
    if name not in THEMES:
        raise ValueError(f"theme is {name!r}; expected {' or '.join(map(repr, THEMES))}")
    return THEMES[name]


def hexadecimal(colour: Colour) -> str:
    """A colour as SVG and HTML write it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def luminance(colour: Colour) -> float:
    """The relative luminance of a colour, from 0 for black to 1 for white."""
    red, green, blue = (_linear(part / 255) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours, from 1 to 21; text needs 4.5."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def ink_on(fill: Colour) -> Colour:
    """Black or white, whichever reads better on a colour."""
    return max((0, 0, 0), (255, 255, 255), key=lambda ink: contrast(ink, fill))


def checked(probabilities: Sequence[float] | None, spans: int) -> Sequence[float] | None:
    """Probabilities if there is one for each constituent, and each is one."""
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


def spelled(probability: float) -> str:
    """A probability in two digits, or nothing for what is as good as certain.

    >>> spelled(0.618), spelled(0.9999), spelled(0.001)
    ('.62', '', '.00')
    """
    return f"{max(probability, 0.0):.2f}"[1:] if probability < 0.995 else ""


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
