"""Figures with matplotlib, which is an optional dependency."""

from pathlib import Path
from typing import Any

from treecrf import import_extra

_PANEL_SIDE = 3.2  # inches


def new_figure(panels: int) -> tuple[Any, list[Any]]:
    """Returns a figure with square panels side by side, and the axes of each panel."""
    module = import_extra("matplotlib.figure", "plots need matplotlib", "plot")
    figure = module.Figure(figsize=(panels * _PANEL_SIDE, _PANEL_SIDE), layout="constrained")
    axes = list(figure.subplots(1, panels))
    for each in axes:
        each.grid(alpha=0.3)
    return figure, axes


def save_figure(figure: Any, path: Path) -> None:
    """Writes a figure as .svg, .png or .pdf; an SVG file has no date and no random identifiers."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "treecrf"}):
        try:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        except ValueError as error:  # matplotlib does not know the format
            raise ValueError(f"cannot draw {path}: {error}") from error
