"""Scores as text: EVALB's table and summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treecrf.trees.evalb.summary import Accuracy, SentenceScore, Summary

if TYPE_CHECKING:
    from treecrf.trees.evalb.score import Score

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
    return "".join(
        [
            _HEAD,
            _RULE,
            *map(_row, score.sentences),
            _RULE,
            _total(score.all),
            "=== Summary ===\n\n-- All --\n",
            _block(score.all),
            f"\n-- len<={score.rules.cutoff} --\n",
            _block(score.short),
        ]
    )


def _row(sentence: SentenceScore) -> str:
    counts = sentence.counts
    brackets = Accuracy(counts.gold, counts.predicted, counts.matched, counts.matched)
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
