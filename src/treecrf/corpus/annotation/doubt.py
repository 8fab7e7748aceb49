"""Doubt: which sentences to annotate first, which constituents to look at, and which trees can be kept as they are.

The order of sentences is by expected gain: the errors that a minute of annotation is expected to remove. All
probabilities are calibrated, so they are only as right as the calibration is for the text.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treecrf.parser import Parser
from treecrf.trees.analysis import Constituent
from treecrf.trees.tables import Row
from treecrf.trees.tree import Tree

DOUBT = 0.9  # a less probable constituent is in doubt
_READING_SECONDS, _WORD_SECONDS, _ACTION_SECONDS = 2.0, 0.3, 4.0  # per sentence, word and action
_MAX_WORDS = 200  # longer sentences come last
_PRECISIONS = (0.99, 0.98, 0.97, 0.95, 0.9)  # points of the coverage curve


@dataclass(frozen=True)
class SentenceDoubt:
    """A sentence with the probabilities of its constituents below the root."""

    sentence: int  # from 0
    tree: Tree
    constituents: Sequence[Constituent]
    tree_probability: float
    entropy: float  # in nats; an annotator needs about one action per nat

    @cached_property
    def expected_errors(self) -> float:
        """The expected number of wrong constituents."""
        return sum(1 - constituent.calibrated for constituent in self.constituents)

    @property
    def gain(self) -> float:
        """Expected errors per minute of annotation."""
        seconds = _READING_SECONDS + _WORD_SECONDS * len(self.tree.words) + _ACTION_SECONDS * self.entropy
        return 60 * self.expected_errors / seconds

    @property
    def expected_f1(self) -> float:
        """The expected share of right constituents, in percent: F if the gold tree has as many constituents."""
        return 100 * (1 - self.expected_errors / len(self.constituents)) if self.constituents else 100.0

    def doubted(self, below: float = DOUBT) -> list[Constituent]:
        """The constituents in doubt, the least probable first."""
        return sorted((each for each in self.constituents if each.calibrated < below), key=lambda each: each.calibrated)

    def as_dict(self, below: float = DOUBT) -> dict[str, Any]:
        words = self.tree.words
        return {
            "sentence": self.sentence + 1,
            "words": len(words),
            "gain": round(self.gain, 3),
            "expected_f1": round(self.expected_f1, 2),
            "expected_errors": round(self.expected_errors, 3),
            "tree_probability": round(self.tree_probability, 4),
            "doubted": [
                {
                    "start": each.start,
                    "end": each.end,
                    "label": each.label,
                    "calibrated": round(each.calibrated, 4),
                    "text": " ".join(words[each.start : each.end]),
                }
                for each in self.doubted(below)
            ],
            "text": " ".join(words),
            "tree": str(self.tree),
        }


def estimate_doubt(parser: Parser, sentences: Sequence[Sequence[str]]) -> Iterator[SentenceDoubt]:
    """Analyzes sentences, the shortest first; sentences of more than 200 words are left out."""
    numbers = [number for number in by_length(sentences) if len(sentences[number]) <= _MAX_WORDS]
    analyses = parser.analyze_many((sentences[number] for number in numbers), k=0, batch_words=500)
    for number, analysis in zip(numbers, analyses, strict=True):
        constituents = [each for each in analysis.constituents if each.label != parser.root]
        yield SentenceDoubt(number, analysis.tree, constituents, analysis.calibrated, analysis.entropy)


def order_by_gain(sentences: Sequence[Sequence[str]], gains: Mapping[int, float]) -> list[int]:
    """The numbers of sentences, the largest gain first; the shorter one first if gains are equal or not known."""
    return sorted(by_length(sentences), key=lambda number: -gains.get(number, -1.0))


def by_length(sentences: Sequence[Sequence[str]]) -> list[int]:
    return sorted(range(len(sentences)), key=lambda number: len(sentences[number]))


def find_doubt(parser: Parser, sentences: Sequence[Sequence[str]]) -> list[SentenceDoubt]:
    """The sentences worth annotating, in the order of the annotation queue."""
    doubts = {doubt.sentence: doubt for doubt in estimate_doubt(parser, sentences)}
    order = order_by_gain(sentences, {number: doubt.gain for number, doubt in doubts.items()})
    return [doubts[number] for number in order if number in doubts]


class Kept(NamedTuple):
    """The share that can be kept: everything whose probability is at least `threshold`."""

    share: float
    threshold: float


class CoveragePoint(NamedTuple):
    """The trees and constituents that can be kept at an expected precision.

    Constituents are kept by their probability, sentences by their expected F, and trees by the probability that the
    whole tree is right.
    """

    precision: float
    constituents: Kept
    sentences: Kept
    trees: Kept


def coverage_curve(doubts: Sequence[SentenceDoubt], *precisions: float) -> list[CoveragePoint]:
    """The trees and constituents that can be kept at several expected precisions, the highest first."""
    by_constituent = [(each.calibrated, 1.0) for doubt in doubts for each in doubt.constituents]
    by_sentence = [(doubt.expected_f1 / 100, float(len(doubt.constituents))) for doubt in doubts]
    by_tree = [(doubt.tree_probability, 1.0) for doubt in doubts]
    return [
        CoveragePoint(precision, *(_kept(units, precision) for units in (by_constituent, by_sentence, by_tree)))
        for precision in sorted({*_PRECISIONS, *precisions}, reverse=True)
    ]


def _kept(units: Sequence[tuple[float, float]], precision: float) -> Kept:
    """Keeps the most units, given as probability and size, whose mean probability by size is at least `precision`.

    >>> _kept([(0.5, 1.0), (0.9, 1.0), (1.0, 1.0)], 0.94)
    Kept(share=0.6666666666666666, threshold=0.9)
    """
    probabilities, sizes = np.array(sorted(units, reverse=True), float).reshape(-1, 2).T
    correct, all_sizes = (probabilities * sizes).cumsum(), sizes.cumsum()
    means = np.divide(correct, all_sizes, out=np.ones_like(correct), where=all_sizes > 0)
    count = int((means >= precision).sum())  # the means descend
    return Kept(count / len(units), float(probabilities[count - 1])) if count else Kept(0.0, math.inf)


def coverage_as_dict(curve: Sequence[CoveragePoint]) -> list[dict[str, Any]]:
    """The curve in JSON values; a threshold that nothing reaches is null."""
    return [
        {
            "precision": point.precision,
            **{
                kind: {"share": round(kept.share, 4), "threshold": round(kept.threshold, 4) if kept.share else None}
                for kind, kept in zip(point._fields[1:], point[1:], strict=True)
            },
        }
        for point in curve
    ]


COLUMNS = ("sentence", "words", "gain", "expected_f1", "expected_errors", "tree_probability", "doubted", "text")


def csv_rows(doubts: Sequence[SentenceDoubt], below: float = DOUBT) -> Iterator[Row]:
    """The rows of a table, with the names of its columns first."""
    yield COLUMNS
    for doubt in doubts:
        record = doubt.as_dict(below)
        in_doubt = "; ".join(
            f"{each['label']} {each['start']}-{each['end']} {each['calibrated']:.2f}" for each in record["doubted"]
        )
        yield tuple(in_doubt if name == "doubted" else record[name] for name in COLUMNS)


def doubt_text(doubts: Sequence[SentenceDoubt], below: float = DOUBT) -> Iterator[str]:
    """Lines of a table for people: a line for each sentence, and below it a line for each constituent in doubt."""
    yield "errors/min  expected F  sentence"
    for doubt in doubts:
        words = doubt.tree.words
        yield f"{doubt.gain:10.2f}  {doubt.expected_f1:10.1f}  {doubt.sentence + 1}. {' '.join(words)}"
        for each in doubt.doubted(below):
            yield f"{'':24}{100 * each.calibrated:3.0f} %  {each.label:6} {' '.join(words[each.start : each.end])}"


def coverage_text(curve: Sequence[CoveragePoint]) -> Iterator[str]:
    """Lines of a table of what can be kept."""
    titles = ("constituents kept", "sentences kept", "trees kept, all right")
    yield "expected precision  " + "  ".join(f"{title:>24}" for title in titles)
    for point in curve:
        kinds: tuple[Kept, ...] = (point.constituents, point.sentences, point.trees)
        cells = [f"{kept.share:7.1%} from {kept.threshold:7.1%}" if kept.share else "none" for kept in kinds]
        yield f"{point.precision:18.1%}  " + "  ".join(f"{cell:>24}" for cell in cells)
