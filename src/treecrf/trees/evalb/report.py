"""Scores as text and as JSON values: EVALB's table and summaries, and the extended report below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treecrf.trees.bootstrap import Interval
    from treecrf.trees.evalb.bootstrap import Comparison
    from treecrf.trees.evalb.score import Accuracy, Score, SentenceScore, Summary

_HEAD = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
"""
_RULE = "=" * 76 + "\n"


def evalb_report(score: Score) -> str:
    """EVALB's table and summaries; if EVALB stops at an error, only the rows before it."""
    if score.stopped:
        rows = [sentence for sentence in score.sentences if sentence.number < score.stopped.sentence]
        return "".join([_HEAD, _RULE, *map(_row, rows)])
    table = "".join([_HEAD, _RULE, *map(_row, score.sentences), _RULE, _total(score.all)])
    summaries = f"-- All --\n{_block(score.all)}\n-- len<={score.rules.cutoff} --\n{_block(score.short)}"
    return f"{table}=== Summary ===\n\n{summaries}"


def _row(sentence: SentenceScore) -> str:
    counts, brackets = sentence.counts, sentence.brackets
    tagging = 100.0 * counts.tags / counts.words if counts.words else 0.0
    return (
        f"{sentence.number:4}  {sentence.length:3}    {sentence.status:d}  {brackets.recall:6.2f} "
        f"{brackets.precision:6.2f}   {counts.matched:3}    {counts.gold:3}  {counts.predicted:3}    "
        f"{counts.crossing:3}   {counts.words:4}  {counts.tags:4}   {tagging:6.2f}\n"
    )


def _total(summary: Summary) -> str:
    brackets = summary.brackets
    line = ""
    if brackets.gold and brackets.predicted:
        line = (
            f"                {brackets.recall:6.2f} {brackets.precision:6.2f} {brackets.correct:6} "
            f"{brackets.gold:5} {brackets.predicted:5}  {summary.crossing:5}"
        )
    return f"{line}  {summary.words:5} {summary.tags:5}   {summary.tagging_accuracy:6.2f}\n"


def _block(summary: Summary) -> str:
    brackets = summary.brackets
    # EVALB divides zero by zero here, and prints the result
    f1 = f"{brackets.f1:6.2f}" if brackets.correct else "  -nan"
    return f"""\
Number of sentence        = {summary.sentences:6}
Number of Error sentence  = {summary.errors:6}
Number of Skip  sentence  = {summary.skipped:6}
Number of Valid sentence  = {summary.valid:6}
Bracketing Recall         = {brackets.recall:6.2f}
Bracketing Precision      = {brackets.precision:6.2f}
Bracketing FMeasure       = {f1}
Complete match            = {summary.complete_match:6.2f}
Average crossing          = {summary.average_crossing:6.2f}
No crossing               = {summary.no_crossing:6.2f}
2 or less crossing        = {summary.two_or_less_crossing:6.2f}
Tagging accuracy          = {summary.tagging_accuracy:6.2f}
"""


_NAMES = {
    "recall": "Recall",
    "precision": "Precision",
    "f1": "FMeasure",
    "unlabeled_f1": "Unlabeled FMeasure",
    "complete_match": "Complete match",
    "tagging_accuracy": "Tagging accuracy",
}


def extended_text(score: Score, intervals: Mapping[str, Interval], comparison: Comparison | None = None) -> str:
    """Unlabeled scores, intervals, tables by length and label, and the comparison if there is one."""
    return "\n".join(_lines(score, intervals, comparison)) + "\n"


def _lines(score: Score, intervals: Mapping[str, Interval], comparison: Comparison | None) -> Iterator[str]:
    unlabeled = score.all.unlabeled
    yield "\n-- Unlabeled --"
    yield f"Unlabeled Recall          = {unlabeled.recall:6.2f}"
    yield f"Unlabeled Precision       = {unlabeled.precision:6.2f}"
    yield f"Unlabeled FMeasure        = {unlabeled.f1:6.2f}"
    yield f"Unlabeled complete match  = {score.all.unlabeled_complete_match:6.2f}"
    if intervals:
        yield "\n-- 95% intervals --"
        for name, (low, high) in intervals.items():
            yield f"{_NAMES[name]:<25} = {low:6.2f} to {high:6.2f}"
    yield "\n-- By length --"
    yield "  Length  Sent.  Recall   Prec.  FMeas.  Complete"
    for (first, last), summary in score.by_length().items():
        length = f"{first}-{last}"
        yield f"{length:>8} {summary.valid:6}  {accuracy_text(summary.brackets)}    {summary.complete_match:6.2f}"
    yield "\n-- By label --"
    width = max((len(label) for label in score.labels), default=0)
    yield f"{'Label':<{max(width, 8)}}   Gold   Test  Recall   Prec.  FMeas."
    for label, row in sorted(score.labels.items(), key=lambda item: -item[1].gold):
        yield f"{label or '(none)':<{max(width, 8)}} {row.gold:6} {row.predicted:6}  {accuracy_text(row)}"
    if comparison:
        yield from _comparison(comparison)


def both_figures(
    all_sentences: Score, evalb: Score, intervals: Mapping[str, Interval], evalb_intervals: Mapping[str, Interval]
) -> str:
    """The last section: F1 over all sentences, then EVALB's F1 and the number of sentences that it leaves out."""
    return f"""
-- All sentences, punctuation deleted by the gold tags --
Bracketing Recall         = {all_sentences.recall:6.2f}
Bracketing Precision      = {all_sentences.precision:6.2f}
Complete match            = {all_sentences.all.complete_match:6.2f}
{_figure(all_sentences, intervals)}
-- EVALB, punctuation deleted by the tags of each tree --
{_figure(evalb, evalb_intervals)}"""


def _figure(score: Score, intervals: Mapping[str, Interval]) -> str:
    low, high = intervals.get("f1", (0.0, 0.0))
    interval = f"95% interval of it        = {low:6.2f} to {high:6.2f}\n" if intervals else ""
    return f"""\
Bracketing FMeasure       = {score.f1:6.2f}
{interval}\
Sentences                 = {score.all.sentences:6}
Sentences left out        = {score.all.sentences - score.all.valid:6}
"""


def accuracy_text(accuracy: Accuracy) -> str:
    return f"{accuracy.recall:6.2f}  {accuracy.precision:6.2f}  {accuracy.f1:6.2f}"


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield "\n-- Comparison --"
    yield f"FMeasure                  = {comparison.f1:6.2f}"
    yield f"FMeasure of the other     = {comparison.other_f1:6.2f}"
    yield f"Difference                = {comparison.difference:+6.2f}"
    yield f"95% interval of it        = {comparison.interval.low:+6.2f} to {comparison.interval.high:+6.2f}"
    yield f"p (paired bootstrap)      = {comparison.p_value:6.4f}"


def as_dict(score: Score, intervals: Mapping[str, Interval], comparison: Comparison | None = None) -> dict[str, Any]:
    """All values of a score, for JSON; percentages are between 0 and 100."""
    return {
        "all": _summary(score.all),
        "short": {"cutoff": score.rules.cutoff, **_summary(score.short)},
        "intervals": {name: list(interval) for name, interval in intervals.items()},
        "lengths": [
            {"from": first, "to": last, **_summary(summary)} for (first, last), summary in score.by_length().items()
        ],
        "labels": {label: accuracy_values(accuracy) for label, accuracy in score.labels.items()},
        "comparison": comparison and {**comparison._asdict(), "interval": list(comparison.interval)},
        "sentences": [
            {"number": number, "length": length, "status": status.name.lower(), **counts._asdict()}
            for number, length, status, counts in score.sentences
        ],
        "messages": [message._asdict() for message in score.messages],
        "stopped": score.stopped and score.stopped._asdict(),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    shares = ["complete_match", "unlabeled_complete_match", "no_crossing", "two_or_less_crossing", "tagging_accuracy"]
    return {
        **asdict(summary),
        "valid": summary.valid,
        "brackets": accuracy_values(summary.brackets),
        "unlabeled": accuracy_values(summary.unlabeled),
        "average_crossing": summary.average_crossing,
        **{share: getattr(summary, share) for share in shares},
    }


def accuracy_values(accuracy: Accuracy) -> dict[str, Any]:
    return {**asdict(accuracy), "recall": accuracy.recall, "precision": accuracy.precision, "f1": accuracy.f1}
