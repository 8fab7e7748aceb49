"""The report: everything that was found, as JSON for programs and as Markdown for people."""

import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from treecrf.atomic_io import write_file
from treecrf.export.pack import head_commit
from treecrf.parser import Parser
from treecrf.reproduce import ablations, breakdown, markdown, paper, plot, table
from treecrf.reproduce.ablations import MAIN
from treecrf.reproduce.calibration_table import judge
from treecrf.reproduce.plan import PARTS, Plan
from treecrf.reproduce.results import Results
from treecrf.reproduce.runner import Failure
from treecrf.reproduce.speed import speeds
from treecrf.reproduce.worker import OUTCOME, predictions
from treecrf.treebank import read_trees

JSON, MARKDOWN = "report.json", "report.md"


def report(
    plan: Plan, failures: Sequence[Failure] = (), *, device: str | None = None, command: str = ""
) -> dict[str, Any]:
    """Make the tables of a plan from its finished runs, and write them into its folder."""
    results = Results(plan)
    found: dict[str, Any] = {"facts": _facts(plan) | {"command": command}, "tables": {}}
    for name in plan.tables:
        found["tables"][name] = _TABLES[name](results, device)
    found["left_out"] = list(_left_out(plan)) + [f"{failure.run.name}: {failure.reason}" for failure in failures]
    write_file(plan.out / JSON, json.dumps(found, indent=1, ensure_ascii=False).encode())
    write_file(plan.out / MARKDOWN, markdown.page(found).encode())
    return found


def _facts(plan: Plan) -> dict[str, Any]:
    import torch

    outcomes = [path for run in plan.runs() if (path := run.folder / OUTCOME).exists()]
    devices = {json.loads(path.read_bytes())["device"] for path in outcomes}
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
        "commit": head_commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "devices": sorted(devices),
    }


def _left_out(plan: Plan) -> Iterator[str]:
    wanted = {row.name: row for name in plan.tables for row in ablations.rows_of(name)}
    for row in wanted.values():
        if not plan.is_possible(row):
            yield f"{row.title}: needs --{row.needs}"


def _dev(results: Results, device: str | None) -> dict[str, Any]:
    figures = paper.figures("dev", results.plan.paper_corpus)
    lines = table.lines(results, ablations.DEV, "dev", main=MAIN, figures=figures)
    return {"lines": [line.as_dict() for line in lines], "claims": table.claims(results)}


def _test(results: Results, device: str | None) -> dict[str, Any]:
    figures = paper.figures("test", results.plan.paper_corpus)
    lines = table.lines(results, ablations.TEST, "test", main="random", figures=figures)
    return {"lines": [line.as_dict() for line in lines]}


def _speed(results: Results, device: str | None) -> dict[str, Any]:
    parsers = {
        name: Parser.load(results.folder(name, results.seeds(name)[0]), device, precision="float32")
        for name in ablations.SPEED
        if results.seeds(name)
    }
    trees = results.plan.treebank.trees
    return {"lines": speeds(parsers, trees["test"], trees["train"]) if parsers else []}


def _calibration(results: Results, device: str | None) -> dict[str, Any]:
    found = judge(results, device=device)
    return {} if found is None else asdict(found)


def _analysis(results: Results, device: str | None) -> dict[str, Any]:
    plan, scores = results.plan, results.scores(MAIN, "test")
    if not scores:
        return {}
    variants = table.lines(results, ablations.VARIANTS, "dev", main="as-in-the-paper", figures={})
    curve = {
        part: table.lines(results, ablations.LEARNING, part, main="share-100", figures={}) for part in ("dev", "test")
    }
    found = [list(read_trees(predictions(results.folder(MAIN, seed), "test"))) for seed in results.seeds(MAIN)]
    content = {
        "variants": [line.as_dict() for line in variants],
        "learning": [
            {"name": dev.name, "title": dev.title, "dev": dev.as_dict(), "test": test.as_dict()}
            for dev, test in zip(curve["dev"], curve["test"], strict=True)
        ],
        "length": breakdown.by_length(scores),
        "width": breakdown.by_width(plan.treebank.trees["test"], found, scores, results.rules),
        "label": breakdown.by_label(scores),
        "genre": breakdown.by_genre(scores, plan.treebank.genres("test")),
    }
    return content | {"has_picture": plot.draw(content, plan.out / "analysis.svg")}


_TABLES = {"dev": _dev, "test": _test, "speed": _speed, "calibration": _calibration, "analysis": _analysis}
