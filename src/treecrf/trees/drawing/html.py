"""HTML pages of pictures."""

from collections.abc import Iterable
from html import escape

from treecrf.trees.drawing.colors import get_theme, to_hex

_STYLE = """\
body {{ margin: 2rem; font: 16px/1.4 sans-serif; color: {ink}; background: {background}; }}
figure {{ margin: 0 0 3rem; overflow-x: auto; }}
figcaption {{ margin-bottom: .5rem; color: {muted}; }}
"""


def page(pictures: Iterable[tuple[str, str]], *, title: str = "Trees", theme: str = "light") -> str:
    """A page of captions and SVG pictures; wide pictures scroll. The page loads nothing from other places."""
    palette = get_theme(theme)
    style = _STYLE.format(ink=to_hex(palette.ink), background=to_hex(palette.background), muted=to_hex(palette.muted))
    figures = "".join(
        f"<figure>\n<figcaption>{escape(caption)}</figcaption>\n{picture}</figure>\n" for caption, picture in pictures
    )
    return (
        f'<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n{figures}</body>\n</html>\n"
    )
