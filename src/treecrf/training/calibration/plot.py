"""Plots calibration reports: reliability diagrams, and F1 by coverage."""

from collections.abc import Mapping
from pathlib import Path

from treecrf.training.calibration.report import KINDS, CalibrationReport
from treecrf.training.plots import new_figure, save_figure


def plot_reports(reports: Mapping[str, CalibrationReport], path: Path) -> None:
    """Plots one line per report, labeled with the report's name, into an .svg, .png or .pdf file."""
    figure, (*diagrams, coverage) = new_figure(len(KINDS) + 1)
    for axes, (kind, title) in zip(diagrams, KINDS.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="0.7", lw=1)
        for name, report in reports.items():
            bins, error = report.reliability[kind].bins, report.reliability[kind].error
            points = [bin_.confidence for bin_ in bins], [bin_.accuracy for bin_ in bins]
            axes.plot(*points, "o-", ms=3, label=f"{name}: error {error:.3f}")
        axes.set(title=title, xlabel="probability", ylabel="share correct", xlim=(0, 1), ylim=(0, 1))
        axes.legend(fontsize="small")
    for report in reports.values():
        percents = [100 * point.coverage for point in report.coverage]
        coverage.plot(percents, [point.f1 for point in report.coverage], "o-", ms=3)
    coverage.set(title="selective prediction", xlabel="coverage (% of sentences)", ylabel="F1")
    save_figure(figure, path)
