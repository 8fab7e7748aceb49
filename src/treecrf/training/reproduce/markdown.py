"""The report as Markdown."""

from collections.abc import Iterator, Sequence
from typing import Any

from treecrf.training.calibration import KINDS
from treecrf.training.markdown import markdown_table

_MAX_LABELS = 20  # the most frequent labels; report.json has all
_NO_MATPLOTLIB = "The plot needs matplotlib: `pip install 'treecrf[plot]'`."


def to_markdown(report: dict[str, Any]) -> str:
    """Formats the report as Markdown; some details are only in the JSON."""
    lines = list(_head(report["facts"]))
    for name, content in report["tables"].items():
        if content:
            section = _SECTIONS[name](content) if name in _SECTIONS else _scores(content, _CLAIMS.get(name, ""))
            lines += ["", f"## {_TITLES.get(name, name.capitalize())}", "", *section]
    if report["left_out"]:
        lines += ["", "## Left out", "", *(f"- {reason}" for reason in report["left_out"])]
    return "\n".join(lines) + "\n"


def _head(facts: dict[str, Any]) -> Iterator[str]:
    sentences = ", ".join(f"{count:,} {part}" for part, count in facts["sentences"].items())
    seeds = ", ".join(map(str, facts["seeds"]))
    yield from ("# Report", "")
    yield f"`{facts['treebank']}`: {sentences} sentences" + (
        f"; the paper's {facts['paper']}." if facts["paper"] else "."
    )
    yield f"Seeds {seeds}; EVALB with the rules `{facts['rules']}`; on {', '.join(facts['devices']) or 'nothing yet'};"
    yield f"treecrf {facts['version']}{facts['commit'] and ', commit ' + facts['commit']}, torch {facts['torch']}."
    if facts["command"]:
        yield f"Command: `{facts['command']}`."
    if facts["settings"]:
        yield f"Settings that differ from the paper's: {', '.join(f'`{setting}`' for setting in facts['settings'])}."
    for name in ("vectors", "encoder"):
        if facts[name]:
            yield f"{name.capitalize()}: `{facts[name]}`."
    limited = facts["runs_at_epoch_limit"]
    if limited:
        yield from (
            "",
            f"{len(limited)} of {facts['finished_runs']} runs ended at the limit of epochs: {', '.join(limited)}.",
        )
        yield "Their dev F could still rise. The same command with a larger `--epochs` continues them."
    elif facts["finished_runs"]:
        yield f"All {facts['finished_runs']} finished runs ended because dev F had stopped rising."


def _scores(content: dict[str, Any], claims_title: str) -> Iterator[str]:
    yield from _score_table(content["lines"], "two-stage" if claims_title else "random word vectors")
    if not content.get("claims"):
        return
    yield from ("", f"{claims_title}, and the results here, as differences in F1:", "")
    rows = [
        (
            claim["claim"],
            f"{claim['found']['difference']:+.2f} ({_interval(claim['found'])})",
            f"{claim['found']['p_value']:.3f}",
            ", ".join(f"{name} {difference:+.2f}" for name, difference in claim["paper"].items()),
            claim["verdict"],
        )
        for claim in content["claims"]
    ]
    yield from markdown_table(["claim", "here (95%)", "p", "in the paper", "verdict"], rows)


def _score_table(lines: Sequence[dict[str, Any]], main: str) -> Iterator[str]:
    with_paper = any(line["paper"] for line in lines)
    head = ["", "P", "R", "F1", "deviation", "runs", "complete match", f"F1 against {main} (95%)", "p"]
    rows = [_score_cells(line, with_paper=with_paper) for line in lines]
    yield from markdown_table(head + ["F1 in the paper"] * with_paper, rows)
    yield ""
    yield "Means over seeds, with the standard deviation of F1. Intervals and p-values are from a paired bootstrap"
    yield "over sentences, of the mean F1 of both rows' runs."


def _score_cells(line: dict[str, Any], *, with_paper: bool) -> list[str]:
    comparison = line["against_main"]
    cells = [
        line["title"],
        *(f"{line[key]:.2f}" for key in ("precision", "recall", "f1")),
        "" if line["deviation"] is None else f"{line['deviation']:.2f}",
        str(len(line["seeds"])),
        f"{line['complete_match']:.2f}",
        f"{comparison['difference']:+.2f} ({_interval(comparison)})" if comparison else "",
        f"{comparison['p_value']:.3f}" if comparison else "",
    ]
    return cells + ([f"{line['paper']['f1']:.2f}" if line["paper"] else ""] if with_paper else [])


def _interval(comparison: dict[str, Any]) -> str:
    low, high = comparison["interval"]
    return f"{low:+.2f} to {high:+.2f}"


def _speed(content: dict[str, Any]) -> Iterator[str]:
    parts = list(dict.fromkeys(part for line in content["lines"] for part in line["parts"]))
    rows = [
        [
            line["name"],
            f"{line['sentences_per_second']:,.0f}" if "sentences_per_second" in line else line["note"],
            "" if line["paper"] is None else f"{line['paper']:,}",
            *(f"{line['parts'][part]:,.1f}" if part in line["parts"] else "" for part in parts),
        ]
        for line in content["lines"]
    ]
    yield from markdown_table(["", "sentences/s", "the paper's, on PTB", *parts], rows)
    yield ""
    yield "Test sentences from a file to a file, after a warm-up run. Then the parts in microseconds per sentence, each"
    yield "completed before the next one starts. With the charts of torch-struct, the speed is of all parts in turn."


def _calibration(content: dict[str, Any]) -> Iterator[str]:
    errors = content["errors"]
    rows = [[title, f"{errors[kind]['before']:.4f}", f"{errors[kind]['after']:.4f}"] for kind, title in KINDS.items()]
    yield from markdown_table(["expected calibration error on test", "as trained", "calibrated"], rows)
    temperatures = [f"{each['spans']:.2f} and {each['labels']:.2f}" for each in content["temperatures"]]
    betas = [f"{each['a']:.2f}, {each['b']:.2f} and {each['c']:+.2f}" for each in content["beta"]]
    yield ""
    yield f"Fitted on dev: temperatures of spans and labels {'; '.join(temperatures)}; a, b and c of beta calibration"
    yield f"{'; '.join(betas)}. Errors are means over seeds. The rest is of the first seed."
    picture = "![reliability and coverage](calibration.svg)"
    yield from ("", picture if content["has_picture"] else _NO_MATPLOTLIB, "")
    rows = [
        [f"{point['coverage']:.0%}", f"{point['f1']:.2f}", f"{point['confidence']:.3f}"]
        for point in content["coverage"]["after"][3::4]
    ]
    yield from markdown_table(["coverage", "F1", "lowest mean probability of a sentence's constituents"], rows)
    yield ""
    yield "Coverage is the share of sentences that are parsed, those with the highest mean probability first. This F1"
    yield "counts all constituents below the root and does not ignore punctuation."


def _analysis(content: dict[str, Any]) -> Iterator[str]:
    yield from ("Variants, on dev:", "", *_score_table(content["variants"], "the paper's settings"), "")
    yield from ("F1 by share of the training trees:", "")
    curve = [(line["title"], line["dev"], line["test"]) for line in content["learning"]]
    rows = [[title, *(f"{line['f1']:.2f}{_deviation(line)}" for line in lines)] for title, *lines in curve]
    yield from markdown_table(["", "dev", "test"], rows)
    if content["has_picture"]:
        yield from ("", "![learning curve, F1 by length and by width](analysis.svg)")
    yield from ("", "The main row on test, over all runs:")
    for name, count in (("length", None), ("genre", None), ("width", None), ("label", _MAX_LABELS)):
        yield from ("", *_group_table(name, content[name][:count]))


def _deviation(line: dict[str, Any]) -> str:
    return "" if line["deviation"] is None else f" ± {line['deviation']:.2f}"


def _group_table(name: str, groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    keys = [key for key in groups[0] if key != "name"] if groups else []
    titles = {"f1": "F1", "gold": "in gold trees", "complete_match": "complete match"}
    rows = [
        [group["name"], *(f"{group[key]:,}" if isinstance(group[key], int) else f"{group[key]:.2f}" for key in keys)]
        for group in groups
    ]
    return markdown_table([name, *(titles.get(key, key) for key in keys)], rows)


_TITLES = {"remarks": "Remarks of the paper outside its tables, on dev"}
_CLAIMS = {"dev": "The paper's claims about its dev table", "remarks": "Remarks of the paper"}
_SECTIONS = {"speed": _speed, "calibration": _calibration, "analysis": _analysis}
