"""The report of a reproduction: all tables, as JSON and as Markdown, and plots."""

import json
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from treecrf.files import write_file
from treecrf.parser import Parser
from treecrf.training.calibration import KINDS, calibrate, measure
from treecrf.training.calibration.report import RECORD, plot_reports, read_record, write_record
from treecrf.training.export.pack import source_commit
from treecrf.training.markdown import render
from treecrf.training.plots import new_figure, save_figure
from treecrf.training.reproduce import breakdown, paper
from treecrf.training.reproduce.paper import MAIN
from treecrf.training.reproduce.plan import PARTS, Plan, Run
from treecrf.training.reproduce.runner import Failure
from treecrf.training.reproduce.speed import measure_speeds
from treecrf.training.reproduce.table import Results, check_claims, score_rows
from treecrf.training.reproduce.worker import OUTCOME, predictions_path
from treecrf.trees.treebank import read_trees

_MIN_SHARE = 0.002  # smaller groups, as a share of all sentences, are not plotted
JSON, MARKDOWN = "report.json", "report.md"


def write_report(
    plan: Plan, failures: Sequence[Failure] = (), *, device: str | None = None, command: str = ""
) -> dict[str, Any]:
    """Makes the tables of a plan from its finished runs, and writes them into its folder."""
    results = Results(plan)
    report = {
        "facts": _facts(plan) | {"command": command},
        "tables": {
            name: _OTHER_TABLES[name](results, device) if name in _OTHER_TABLES else _score_table(results, name)
            for name in plan.tables
        },
        "left_out": [*plan.left_out(), *(f"{failure.run.name}: {failure.reason}" for failure in failures)],
    }
    write_file(plan.out / JSON, json.dumps(report, indent=1, ensure_ascii=False).encode())
    write_file(plan.out / MARKDOWN, render("reproduce.md", kinds=KINDS, margin=paper.MARGIN, **report).encode())
    return report


def _facts(plan: Plan) -> dict[str, Any]:
    import torch

    paths = [(run, run.folder / OUTCOME) for run in plan.runs()]
    outcomes = [(run, json.loads(path.read_bytes())) for run, path in paths if path.exists()]
    return {
        "treebank": str(plan.treebank.files["train"][0].parent),
        "sentences": {part: len(plan.treebank.trees[part]) for part in PARTS},
        "paper": paper.TITLES.get(plan.paper_corpus, ""),
        "seeds": list(plan.seeds),
        "settings": list(plan.settings) + ([] if plan.epochs is None else [f"at most {plan.epochs} epochs"]),
        "vectors": plan.vectors,
        "encoder": plan.encoder,
        "rules": plan.recipe(plan.runs()[0]).data.rules,
        "version": version("treecrf"),
        "commit": source_commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "devices": sorted({outcome["device"] for _, outcome in outcomes}),
        "finished_runs": len(outcomes),
        "runs_at_epoch_limit": [run.name for run, outcome in outcomes if is_at_epoch_limit(plan, run, outcome)],
    }


def is_at_epoch_limit(plan: Plan, run: Run, outcome: dict[str, Any]) -> bool:
    """Returns whether training ended at the limit of epochs, and not because dev F had stopped rising."""
    config = plan.recipe(run).train
    return int(outcome["best_epoch"]) + config.patience > config.epochs


def _score_table(results: Results, table: str) -> dict[str, Any]:
    part, main = ("test", "random") if table == "test" else ("dev", MAIN)
    table_claims = {"dev": paper.CLAIMS, "remarks": paper.REMARKS}.get(table)
    published = paper.published_scores(table, results.plan.paper_corpus)
    lines = score_rows(results, paper.TABLES[table], part, main=main, published=published)
    return {"lines": lines} | ({"claims": check_claims(results, table_claims)} if table_claims else {})


def _speed(results: Results, device: str | None) -> dict[str, Any]:
    parsers = {
        name: Parser.load(results.folder(name, results.seeds(name)[0]), device, precision="float32")
        for name in (row.name for row in paper.TABLES["speed"])
        if results.seeds(name)
    }
    return measure_speeds(parsers, results.plan.treebank.trees["test"]) if parsers else {}


def _calibration(results: Results, device: str | None) -> dict[str, Any]:
    """Calibrates the finished runs of the main row on dev, each once, and plots the first; empty if there is none.

    Errors are mean calibration errors over seeds, coverage has F1 by coverage of the first seed.
    """
    plot = results.plan.out / "calibration.svg"
    records: list[dict[str, Any]] = []
    for seed in results.seeds(MAIN):
        folder = results.folder(MAIN, seed)
        if not (folder / RECORD).exists():
            _calibrate(results, folder, device, None if records else plot)
        records.append(read_record(folder))
    if not records:
        return {}
    return {
        "temperatures": [record["temperatures"] for record in records],
        "beta": [record["beta"] for record in records],
        "errors": {
            kind: {
                when: statistics.fmean(record[when][kind]["error"] for record in records)
                for when in ("before", "after")
            }
            for kind in KINDS
        },
        "coverage": {when: records[0][when]["coverage"] for when in ("before", "after")},
        "has_picture": plot.exists(),
    }


def _calibrate(results: Results, folder: Path, device: str | None, plot: Path | None) -> None:
    parser = Parser.load(folder, device, precision="float32")
    trees = results.plan.treebank.trees
    before = measure(parser, trees["test"])
    parameters = calibrate(parser, trees["dev"])
    after = measure(parser, trees["test"])
    if plot is not None:
        try:
            plot_reports({"before": before, "after": after}, plot)
        except ImportError:
            plot.unlink(missing_ok=True)  # without matplotlib, the report says how to install it
    write_record(folder, parameters, before=before, after=after)


def _analysis(results: Results, device: str | None) -> dict[str, Any]:
    plan, scores = results.plan, results.scores(MAIN, "test")
    if not scores:
        return {}
    dev_curve, test_curve = (
        score_rows(results, paper.LEARNING_CURVE, part, main="share-100") for part in ("dev", "test")
    )
    predicted = [list(read_trees(predictions_path(results.folder(MAIN, seed), "test"))) for seed in results.seeds(MAIN)]
    analysis = {
        "variants": score_rows(results, paper.VARIANTS, "dev", main="as-in-the-paper"),
        "learning": [
            {"name": dev["name"], "title": dev["title"], "dev": dev, "test": test}
            for dev, test in zip(dev_curve, test_curve, strict=True)
        ],
        "length": breakdown.by_length(scores),
        "width": breakdown.by_width(plan.treebank.trees["test"], predicted, scores, results.rules),
        "label": breakdown.by_label(scores),
        "genre": breakdown.by_genre(scores, plan.treebank.genres("test")),
    }
    return analysis | {"has_picture": plot_analysis(analysis, plan.out / "analysis.svg")}


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


_OTHER_TABLES = {"speed": _speed, "calibration": _calibration, "analysis": _analysis}
