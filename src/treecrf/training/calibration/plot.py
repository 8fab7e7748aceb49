"""Plots calibration reports: reliability diagrams, and F1 by coverage."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treecrf.training.calibration.reliability import Reliability
from treecrf.training.calibration.report import KINDS, CalibrationReport

_PANEL_SIDE = 3.2  # inches


def plot_reports(reports: Mapping[str, CalibrationReport], path: str | Path) -> None:
    """Plots one line per report, labeled with the report's name, into an .svg, .png or .pdf file."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("calibration plots need matplotlib: pip install 'treecrf[plot]'") from error
    figure = Figure(figsize=(_PANEL_SIDE * (len(KINDS) + 1), _PANEL_SIDE), layout="constrained")
    *diagrams, coverage = figure.subplots(1, len(KINDS) + 1)
    for axes, (kind, title) in zip(diagrams, KINDS.items(), strict=True):
        _plot_reliability(axes, {name: report.reliability[kind] for name, report in reports.items()}, title)
    _plot_coverage(coverage, reports)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "treecrf"}):
        try:
            figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
        except ValueError as error:  # matplotlib does not know the format
            raise ValueError(f"cannot draw {path}: {error}") from error


def _plot_reliability(axes: Any, by_name: Mapping[str, Reliability], title: str) -> None:
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for name, reliability in by_name.items():
        confidences = [bin_.confidence for bin_ in reliability.bins]
        accuracies = [bin_.accuracy for bin_ in reliability.bins]
        axes.plot(confidences, accuracies, "o-", ms=3, label=f"{name}: error {reliability.error:.3f}")
    axes.set(title=title, xlabel="probability", ylabel="share correct", xlim=(0, 1), ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _plot_coverage(axes: Any, reports: Mapping[str, CalibrationReport]) -> None:
    for report in reports.values():
        percents = [100 * point.coverage for point in report.coverage]
        axes.plot(percents, [point.f1 for point in report.coverage], "o-", ms=3)
    axes.set(title="selective prediction", xlabel="coverage (% of sentences)", ylabel="F1")
    axes.grid(alpha=0.3)
