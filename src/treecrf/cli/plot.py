"""`treecrf plot`: plots loss and dev F of training runs."""

import argparse
from pathlib import Path
from typing import Any

_METRICS = "metrics.jsonl"
_PANELS = {"loss": "training loss", "dev_f": "dev F"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help=f"a training folder, or its {_METRICS}")
    parser.add_argument("-o", "--output", type=Path, default=Path("curves.svg"), help="an .svg, .png or .pdf file")
    parser.add_argument("--by", choices=["epoch", "step"], default="epoch", help="unit of the x axis")


def run(args: argparse.Namespace) -> None:
    plot_runs({str(path): _read_epochs(path) for path in args.runs}, args.output, by=args.by)
    print(f"{len(args.runs)} run{'s' * (len(args.runs) > 1)} drawn in {args.output}")


def plot_runs(runs: dict[str, list[dict[str, Any]]], output: Path, *, by: str) -> None:
    """Writes a figure with one panel per metric and one curve per run, with the best dev F as a number."""
    from treecrf.training.plots import new_figure, save_figure

    figure, panels = new_figure(len(_PANELS))
    for axes, (key, title) in zip(panels, _PANELS.items(), strict=True):
        for name, records in runs.items():
            axes.plot([record[by] for record in records], [record[key] for record in records], label=name)
        if key == "dev_f":
            for records in runs.values():
                best = max(records, key=lambda record: record["dev_f"])
                axes.annotate(f"{best['dev_f']:.2f}", (best[by], best["dev_f"]), ha="center", va="bottom")
        axes.set(title=title, xlabel=by)
    if len(runs) > 1:
        axes.legend()
    save_figure(figure, output)


def _read_epochs(run: Path) -> list[dict[str, Any]]:
    from treecrf.training.metrics_log import read_metrics

    path = run / _METRICS if run.is_dir() else run
    if not path.is_file():
        raise FileNotFoundError(f"there is no training run at {run}; expected a folder with {_METRICS}")
    records = [record for record in read_metrics(path) if record["event"] == "epoch"]
    if not records:
        raise ValueError(f"{path} has no finished epoch")
    return records
