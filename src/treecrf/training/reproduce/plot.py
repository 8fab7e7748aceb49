"""Plots of the analysis: the learning curve, and F1 by sentence length and by constituent width."""

from pathlib import Path
from typing import Any

from treecrf.training.plots import new_figure, save_figure

_MIN_SHARE = 0.002  # smaller groups, as a share of all sentences, are not plotted


def plot_analysis(analysis: dict[str, Any], path: Path) -> bool:
    """Plots an analysis as SVG; returns False if matplotlib is not installed."""
    try:
        figure, (learning, length, width) = new_figure(3)
    except ImportError:
        return False
    rows = analysis["learning"]
    percents = [float(row["title"].partition("%")[0]) for row in rows]
    for part in ("dev", "test"):
        f1s = [row[part]["f1"] for row in rows]
        deviations = [row[part]["deviation"] or 0.0 for row in rows]
        learning.errorbar(percents, f1s, deviations, fmt="o-", ms=3, capsize=2, label=part)
    learning.set(title="learning curve", xlabel="% of the training trees", ylabel="F1")
    learning.legend(fontsize="small")
    _plot_groups(length, analysis["length"], title="by length, on test", xlabel="words in the sentence")
    _plot_groups(width, analysis["width"], title="by width, on test", xlabel="words in the constituent")
    save_figure(figure, path)
    return True


def _plot_groups(axes: Any, groups: list[dict[str, Any]], *, title: str, xlabel: str) -> None:
    sizes = [group.get("sentences", 1) for group in groups]
    large = [group for group, size in zip(groups, sizes, strict=True) if size >= _MIN_SHARE * sum(sizes)]
    axes.bar([group["name"].replace(" and more", "+") for group in large], [group["f1"] for group in large])
    axes.set(title=title, xlabel=xlabel, ylabel="F1")
    axes.tick_params(axis="x", labelrotation=60)
