"""F1 by sentence length, label, constituent width and genre."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from treecrf.trees.evalb import Rules, Score, Status, Summary
from treecrf.trees.evalb.brackets import tree_brackets
from treecrf.trees.evalb.match import Matcher
from treecrf.trees.evalb.score import Accuracy, summarize
from treecrf.trees.tree import Span, Tree

WIDTHS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 10_000))  # words, from and to


def by_length(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Returns F1 by sentence length, over all runs."""
    joined = replace(scores[0], sentences=tuple(chain.from_iterable(score.sentences for score in scores)))
    return [
        _sentence_group(f"{first}-{last}", summary, len(scores))
        for (first, last), summary in joined.by_length().items()
    ]


def by_genre(scores: Sequence[Score], genres: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """Returns F1 by genre, over all runs; `genres` has names and numbers of sentences in their order."""
    groups, first = [], 0
    for name, count in genres:
        sentences = [sentence for score in scores for sentence in score.sentences[first : first + count]]
        groups.append(_sentence_group(name, summarize(sentences), len(scores)))
        first += count
    return groups


def _sentence_group(name: str, summary: Summary, runs: int) -> dict[str, Any]:
    return {
        "name": name,
        "sentences": summary.sentences // runs,
        "f1": summary.brackets.f1,
        "complete_match": summary.complete_match,
    }


def by_label(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Returns precision, recall and F1 of each label, over all runs; the most frequent label is first."""
    totals: dict[str, list[int]] = {}
    for score in scores:
        for label, accuracy in score.labels.items():
            counts = (accuracy.gold, accuracy.predicted, accuracy.recalled, accuracy.correct)
            totals[label] = [total + count for total, count in zip(totals.get(label, [0] * 4), counts, strict=True)]
    order = sorted(totals, key=lambda label: (-totals[label][0], label))
    return [_constituent_group(label, Accuracy(*totals[label]), len(scores)) for label in order]


def by_width(
    gold: Sequence[Tree], runs: Iterable[Sequence[Tree]], scores: Sequence[Score], rules: Rules
) -> list[dict[str, Any]]:
    """Returns F1 by the number of words in a constituent, over all runs, without the words that the rules delete."""
    matcher = Matcher(rules)
    equal_labels = {label: min(pair) for pair in rules.equal_labels for label in pair}
    totals = Counter[tuple[str, int]]()
    for predicted_trees, score in zip(runs, scores, strict=True):
        for gold_tree, tree, sentence in zip(gold, predicted_trees, score.sentences, strict=True):
            if sentence.status != Status.VALID:
                continue
            gold_spans, spans = (_count_spans(matcher, one, equal_labels) for one in (gold_tree, tree))
            for kind, counts in (("gold", gold_spans), ("predicted", spans), ("matched", gold_spans & spans)):
                totals.update((kind, _width_number(span)) for span in counts.elements())
    groups = []
    for number, (first, last) in enumerate(WIDTHS):
        gold_count, predicted, matched = (totals[kind, number] for kind in ("gold", "predicted", "matched"))
        name = str(first) if first == last else f"{first}-{last}" if last < WIDTHS[-1][1] else f"{first} and more"
        if gold_count + predicted:
            groups.append(_constituent_group(name, Accuracy(gold_count, predicted, matched, matched), len(scores)))
    return groups


def _count_spans(matcher: Matcher, tree: Tree, equal_labels: dict[str, str]) -> Counter[Span]:
    spans = matcher.brackets(tree_brackets(tree))
    return Counter(Span(start, end, equal_labels.get(label, label)) for start, end, label in spans)


def _width_number(span: Span) -> int:
    return next(number for number, (_, last) in enumerate(WIDTHS) if span.end - span.start <= last)


def _constituent_group(name: str, accuracy: Accuracy, runs: int) -> dict[str, Any]:
    return {
        "name": name,
        "gold": accuracy.gold // runs,
        "precision": accuracy.precision,
        "recall": accuracy.recall,
        "f1": accuracy.f1,
    }
