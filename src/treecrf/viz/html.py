"""Many pictures as one page of HTML."""

from collections.abc import Iterable
from html import escape

from treecrf.viz.colors import hexadecimal, theme_named

_STYLE = """\
body {{ margin: 2rem; font: 16px/1.4 sans-serif; color: {ink}; background: {ground}; }}
figure {{ margin: 0 0 3rem; overflow-x: auto; }}
figcaption {{ margin-bottom: .5rem; color: {faint}; }}
"""


def page(pictures: Iterable[tuple[str, str]], *, title: str = "Trees", theme: str = "light") -> str:
    """Captions and SVG pictures, one below the other; wide ones scroll. Nothing is loaded from elsewhere."""
    colours = theme_named(theme)
    style = _STYLE.format(
        ink=hexadecimal(colours.ink), ground=hexadecimal(colours.ground), faint=hexadecimal(colours.faint)
    )
    figures = "".join(
        f"<figure>\n<figcaption>{escape(caption)}</figcaption>\n{picture}</figure>\n" for caption, picture in pictures
    )
    return (
        f'<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n{figures}</body>\n</html>\n"
    )
