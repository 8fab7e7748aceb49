"""Pictures of calibration: what is said against what is true, and F against how much is answered."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treecrf.calibration.report import KINDS, Calibration

_SIDE = 3.2  # inches of a panel


def draw(found: Mapping[str, Calibration], path: str | Path) -> None:
    """One curve for each of `found`, by its name, in panels side by side; as .svg, .png or .pdf."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures of calibration need matplotlib: pip install 'treecrf[plot]'") from error
    figure = Figure(figsize=(_SIDE * (len(KINDS) + 1), _SIDE), layout="constrained")
    *panels, last = figure.subplots(1, len(KINDS) + 1)
    for axes, (kind, title) in zip(panels, KINDS.items(), strict=True):
        _reliability(axes, {name: getattr(calibration, kind) for name, calibration in found.items()}, title)
    for name, calibration in found.items():
        answered = calibration.coverage
        last.plot(
            [100 * point.coverage for point in answered], [point.f1 for point in answered], "o-", ms=3, label=name
        )
    last.set(title="the surest sentences", xlabel="% answered", ylabel="F of those")
    last.grid(alpha=0.3)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "treecrf"}):
        try:
            figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
        except ValueError as error:  # a format that matplotlib does not write
            raise ValueError(f"cannot draw {path}: {error}") from error


def _reliability(axes: Any, found: Mapping[str, Any], title: str) -> None:
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for name, reliability in found.items():
        said = [bin_.confidence for bin_ in reliability.bins]
        true = [bin_.accuracy for bin_ in reliability.bins]
        axes.plot(said, true, "o-", ms=3, label=f"{name}: error {reliability.error:.3f}")
    axes.set(title=title, xlabel="said to be probable", ylabel="right", xlim=(0, 1), ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
