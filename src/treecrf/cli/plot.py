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
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit("treecrf plot: matplotlib is needed: pip install 'treecrf[plot]'") from error
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (key, title) in zip(figure.subplots(1, len(_PANELS)), _PANELS.items(), strict=True):
        for name, records in runs.items():
            axes.plot([record[by] for record in records], [record[key] for record in records], label=name)
        if key == "dev_f":
            for records in runs.values():
                best = max(records, key=lambda record: record["dev_f"])
                axes.annotate(f"{best['dev_f']:.2f}", (best[by], best["dev_f"]), ha="center", va="bottom")
        axes.set(title=title, xlabel=by)
        axes.grid(alpha=0.3)
    if len(runs) > 1:
        axes.legend()
    try:
        figure.savefig(output)
    except ValueError as error:  # a format that matplotlib cannot write
        raise ValueError(f"cannot write {output}: {error}") from error


def _read_epochs(run: Path) -> list[dict[str, Any]]:
    from treecrf.training.metrics_log import read_metrics

    path = run / _METRICS if run.is_dir() else run
    if not path.is_file():
        raise FileNotFoundError(f"there is no training run at {run}; expected a folder with {_METRICS}")
    records = [record for record in read_metrics(path) if record["event"] == "epoch"]
    if not records:
        raise ValueError(f"{path} has no finished epoch")
    return records
