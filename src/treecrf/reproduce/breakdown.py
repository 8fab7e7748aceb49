"""Where a parser is good: F by length of sentence, by label, by width of constituent and by genre."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from treecrf.evalb import Rules, Score, Status, Summary
from treecrf.evalb.brackets import tree_brackets
from treecrf.evalb.match import Matcher
from treecrf.evalb.summary import Accuracy, Sentence, summarize
from treecrf.tree import Span, Tree

WIDTHS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 10_000))


def by_length(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """F by sentence length, of all runs together."""
    groups: dict[tuple[int, int], list[Sentence]] = {}
    for score in scores:
        for sentence in score.sentences:
            first = (max(sentence.length, 1) - 1) // 10 * 10 + 1
            groups.setdefault((first, first + 9), []).append(sentence)
    return [_group(f"{first}-{last}", summarize(groups[first, last]), len(scores)) for first, last in sorted(groups)]


def by_genre(scores: Sequence[Score], genres: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """F by the file that sentences come from."""
    found, first = [], 0
    for name, count in genres:
        members = [sentence for score in scores for sentence in score.sentences[first : first + count]]
        found.append(_group(name, summarize(members), len(scores)))
        first += count
    return found


def _group(name: str, summary: Summary, runs: int) -> dict[str, Any]:
    return {
        "name": name,
        "sentences": summary.sentences // runs,
        "f1": summary.brackets.f1,
        "complete_match": summary.complete_match,
    }


def by_label(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Precision, recall and F of each label, the most frequent first."""
    totals: dict[str, list[int]] = {}
    for score in scores:
        for label, accuracy in score.labels.items():
            sums = totals.setdefault(label, [0, 0, 0, 0])
            for place, count in enumerate((accuracy.gold, accuracy.predicted, accuracy.recalled, accuracy.correct)):
                sums[place] += count
    order = sorted(totals, key=lambda label: (-totals[label][0], label))
    return [_accuracy(label, Accuracy(*totals[label]), len(scores)) for label in order]


def by_width(
    gold: Sequence[Tree], runs: Iterable[Sequence[Tree]], scores: Sequence[Score], rules: Rules
) -> list[dict[str, Any]]:
    """F of constituents by how many words they have, without those that the rules delete."""
    matcher = Matcher(rules)
    equal = {label: min(pair) for pair in rules.equal_labels for label in pair}
    counts = Counter[tuple[str, int]]()
    for predicted, score in zip(runs, scores, strict=True):
        for truth, tree, sentence in zip(gold, predicted, score.sentences, strict=True):
            if sentence.status != Status.VALID:
                continue
            ours, theirs = (_bag(matcher, found, equal) for found in (truth, tree))
            for kind, bag in (("gold", ours), ("predicted", theirs), ("matched", ours & theirs)):
                counts.update((kind, _place(span)) for span in bag.elements())
    found = []
    for place, (first, last) in enumerate(WIDTHS):
        gold_count, predicted_count, matched = (counts[kind, place] for kind in ("gold", "predicted", "matched"))
        name = str(first) if first == last else f"{first}-{last}" if last < WIDTHS[-1][1] else f"{first} and more"
        if gold_count + predicted_count:
            found.append(_accuracy(name, Accuracy(gold_count, predicted_count, matched, matched), len(scores)))
    return found


def _bag(matcher: Matcher, tree: Tree, equal: dict[str, str]) -> Counter[Span]:
    spans = matcher.brackets(tree_brackets(tree))
    return Counter(Span(start, end, equal.get(label, label)) for start, end, label in spans)


def _place(span: Span) -> int:
    return next(place for place, (_, last) in enumerate(WIDTHS) if span.end - span.start <= last)


def _accuracy(name: str, accuracy: Accuracy, runs: int) -> dict[str, Any]:
    return {
        "name": name,
        "gold": accuracy.gold // runs,
        "precision": accuracy.precision,
        "recall": accuracy.recall,
        "f1": accuracy.f1,
    }
