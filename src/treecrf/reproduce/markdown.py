"""A report as a page of Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from treecrf.calibration import KINDS

_LABELS = 20  # of which the page shows the most frequent


def page(report: dict[str, Any]) -> str:
    """Everything that a person wants to see; the rest is in the JSON."""
    makers = {"dev": _dev, "test": _test, "speed": _speed, "calibration": _calibration, "analysis": _analysis}
    lines = list(_head(report["facts"]))
    for name, content in report["tables"].items():
        lines += ["", *makers[name](content)] if content else []
    if report["left_out"]:
        lines += ["", "## Left out", "", *(f"- {reason}" for reason in report["left_out"])]
    return "\n".join(lines) + "\n"


def _head(facts: dict[str, Any]) -> Iterator[str]:
    sentences = ", ".join(f"{count:,} {part}" for part, count in facts["sentences"].items())
    seeds = ", ".join(map(str, facts["seeds"]))
    yield "# Report"
    yield ""
    yield f"`{facts['treebank']}`: {sentences} sentences" + (
        f"; the paper's {facts['paper']}." if facts["paper"] else "."
    )
    yield f"Seeds {seeds}; EVALB by the rules `{facts['rules']}`; on {', '.join(facts['devices']) or 'nothing yet'};"
    yield f"treecrf {facts['version']}{facts['commit'] and ', commit ' + facts['commit']}, torch {facts['torch']}."
    if facts["command"]:
        yield f"Made by `{facts['command']}`."
    if facts["settings"]:
        yield f"Settings besides the paper's: {', '.join(f'`{setting}`' for setting in facts['settings'])}."
    for name in ("vectors", "encoder"):
        if facts[name]:
            yield f"{name.capitalize()}: `{facts[name]}`."


def _dev(content: dict[str, Any]) -> Iterator[str]:
    yield "## Dev"
    yield ""
    yield from _scores(content["lines"], "two-stage")
    if content["claims"]:
        yield ""
        yield "What the paper says of its dev table, and what is found here; differences are of F."
        yield ""
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
        yield from _grid(["claim", "here (95%)", "p", "in the paper", "verdict"], rows)


def _test(content: dict[str, Any]) -> Iterator[str]:
    yield "## Test"
    yield ""
    yield from _scores(content["lines"], "random word vectors")


def _scores(lines: Sequence[dict[str, Any]], main: str) -> Iterator[str]:
    with_paper = any(line["paper"] for line in lines)
    head = ["", "P", "R", "F", "deviation", "runs", "complete match", f"F against {main} (95%)", "p"]
    rows = []
    for line in lines:
        against = line["against_main"]
        rows.append(
            [
                line["title"],
                f"{line['precision']:.2f}",
                f"{line['recall']:.2f}",
                f"{line['f1']:.2f}",
                "" if line["deviation"] is None else f"{line['deviation']:.2f}",
                str(len(line["seeds"])),
                f"{line['complete_match']:.2f}",
                f"{against['difference']:+.2f} ({_interval(against)})" if against else "",
                f"{against['p_value']:.3f}" if against else "",
            ]
            + ([f"{line['paper']['f1']:.2f}" if line["paper"] else ""] if with_paper else [])
        )
    yield from _grid(head + ["F in the paper"] * with_paper, rows)
    yield ""
    yield "Means over seeds; the deviation is that of F between seeds. Intervals and p come from a paired bootstrap"
    yield "over sentences, of the mean F of both rows' runs."


def _interval(comparison: dict[str, Any]) -> str:
    low, high = comparison["interval"]
    return f"{low:+.2f} to {high:+.2f}"


def _speed(content: dict[str, Any]) -> Iterator[str]:
    yield "## Speed"
    yield ""
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
    yield from _grid(["", "sentences/s", "the paper's, on PTB", *parts], rows)
    yield ""
    yield "Test sentences from a file to a file, after a first run; then the parts in microseconds a sentence, each"
    yield "finished before the next begins. With a peer's charts, the sum of the parts is what counts."


def _calibration(content: dict[str, Any]) -> Iterator[str]:
    yield "## Calibration"
    yield ""
    rows = [
        [title, f"{content['errors'][kind]['before']:.4f}", f"{content['errors'][kind]['after']:.4f}"]
        for kind, title in KINDS.items()
    ]
    yield from _grid(["expected calibration error on test", "as trained", "calibrated"], rows)
    yield ""
    found = [f"{given['spans']:.2f} and {given['labels']:.2f}" for given in content["temperatures"]]
    curves = [f"{given['pro']:.2f}, {given['con']:.2f} and {given['offset']:+.2f}" for given in content["curves"]]
    yield f"From dev: temperatures of spans and labels {'; '.join(found)}; pro, con and offset of the curve of"
    yield f"constituents {'; '.join(curves)}. Errors are means over seeds; below, the first one."
    yield ""
    if content["has_picture"]:
        yield "![reliability and coverage](calibration.svg)"
    else:
        yield "A picture needs matplotlib: `pip install 'treecrf[plot]'`."
    yield ""
    rows = [
        [f"{point['coverage']:.0%}", f"{point['f1']:.2f}", f"{point['confidence']:.3f}"]
        for point in content["coverage"]["after"][3::4]
    ]
    yield from _grid(["the surest sentences", "F of those", "mean probability of a constituent, at least"], rows)
    yield ""
    yield "This F counts all constituents below the root, punctuation and all, as their probabilities do."


def _analysis(content: dict[str, Any]) -> Iterator[str]:
    yield "## Analysis"
    yield ""
    yield "Variants, on dev:"
    yield ""
    yield from _scores(content["variants"], "the paper's way")
    yield ""
    yield "F by the share of the training trees:"
    yield ""
    rows = [
        [line["title"], *(f"{line[part]['f1']:.2f}{_deviation(line[part])}" for part in ("dev", "test"))]
        for line in content["learning"]
    ]
    yield from _grid(["", "dev", "test"], rows)
    if content["has_picture"]:
        yield ""
        yield "![learning curve, F by length and by width](analysis.svg)"
    yield ""
    yield "The main row on test, all runs together:"
    for name, shown in (("length", None), ("genre", None), ("width", None), ("label", _LABELS)):
        yield ""
        yield from _groups(name, content[name][:shown])


def _deviation(line: dict[str, Any]) -> str:
    return "" if line["deviation"] is None else f" ± {line['deviation']:.2f}"


def _groups(name: str, groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    keys = [key for key in groups[0] if key != "name"] if groups else []
    titles = {"f1": "F", "gold": "in the gold trees", "complete_match": "complete match"}
    rows = [[group["name"], *(_number(group[key]) for key in keys)] for group in groups]
    yield from _grid([name, *(titles.get(key, key) for key in keys)], rows)


def _number(value: float | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
