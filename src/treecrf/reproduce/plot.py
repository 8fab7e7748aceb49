"""Pictures of the analysis: F by the share of the training trees, by length of sentence and by width of constituent."""

from pathlib import Path
from typing import Any

_SIDE = 3.2  # inches of a panel
_FEW = 0.002  # of all sentences: groups with less say nothing and are not drawn


def draw(analysis: dict[str, Any], path: Path) -> bool:
    """Draw what the analysis found, as SVG; False where matplotlib is missing."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(3 * _SIDE, _SIDE), layout="constrained")
    learning, length, width = figure.subplots(1, 3)
    shares = [float(line["title"].partition("%")[0]) for line in analysis["learning"]]
    for part in ("dev", "test"):
        lines = [line[part] for line in analysis["learning"]]
        spread = [line["deviation"] or 0.0 for line in lines]
        learning.errorbar(shares, [line["f1"] for line in lines], spread, fmt="o-", ms=3, capsize=2, label=part)
    learning.set(title="learning curve", xlabel="% of the training trees", ylabel="F")
    learning.legend(fontsize="small")
    for axes, name, unit in ((length, "length", "words in the sentence"), (width, "width", "words in the constituent")):
        groups = _drawn(analysis[name])
        axes.bar([group["name"].replace(" and more", "+") for group in groups], [group["f1"] for group in groups])
        axes.set(title=f"by {name}, on test", xlabel=unit, ylabel="F")
        axes.tick_params(axis="x", labelrotation=60)
    for axes in (learning, length, width):
        axes.grid(alpha=0.3)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "treecrf"}):
        figure.savefig(path, metadata={"Date": None})
    return True


def _drawn(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sizes = [group.get("sentences", 1) for group in groups]
    return [group for group, size in zip(groups, sizes, strict=True) if size >= _FEW * sum(sizes)]
