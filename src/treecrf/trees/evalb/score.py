"""Scores of predicted trees against gold trees, equal to EVALB's scores: counts of sentences, and their percentages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from treecrf.trees.evalb import report
from treecrf.trees.evalb.brackets import UNREADABLE, Brackets, read_brackets, tree_brackets
from treecrf.trees.evalb.match import BracketCounts, Matcher, Status
from treecrf.trees.evalb.rules import COLLINS, Rules
from treecrf.trees.other_libraries import explain_names, explain_options
from treecrf.trees.tree import Tree


class SentenceScore(NamedTuple):
    """A sentence: its number, from 1, its length, its status and its counts."""

    number: int
    length: int
    status: Status
    counts: BracketCounts

    @property
    def brackets(self) -> "Accuracy":
        """The accuracy of the brackets."""
        return Accuracy(self.counts.gold, self.counts.predicted, self.counts.matched, self.counts.matched)


class _Percentage:
    """An attribute of counts: one count in percent of another one; 0 if the other one is 0."""

    def __init__(self, part: str, whole: str) -> None:
        self._part = part
        self._whole = whole

    def __get__(self, counts: Any, _kind: type) -> float:
        part, whole = getattr(counts, self._part), getattr(counts, self._whole)
        return 100.0 * part / whole if whole else 0.0  # the last printed digit depends on this order of operations


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Recall, precision and F1 in percent; 0 if the denominator is 0."""

    gold: int
    predicted: int
    recalled: int  # gold brackets that match
    correct: int  # predicted brackets that match; their labels may differ from the gold ones, under equal labels

    recall = _Percentage("recalled", "gold")
    precision = _Percentage("correct", "predicted")

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The scores of a group of sentences; only valid sentences are counted."""

    sentences: int
    errors: int
    skipped: int
    brackets: Accuracy
    unlabeled: Accuracy
    complete: int  # sentences whose brackets all match
    unlabeled_complete: int  # sentences whose brackets all match without regard to labels
    crossing: int
    uncrossed: int
    hardly_crossed: int  # two crossing brackets at most
    words: int
    tags: int  # correct tags

    complete_match = _Percentage("complete", "valid")
    unlabeled_complete_match = _Percentage("unlabeled_complete", "valid")
    no_crossing = _Percentage("uncrossed", "valid")
    two_or_less_crossing = _Percentage("hardly_crossed", "valid")
    tagging_accuracy = _Percentage("tags", "words")

    @property
    def valid(self) -> int:
        """The number of valid sentences."""
        return self.sentences - self.errors - self.skipped

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per sentence."""
        return self.crossing / self.valid if self.valid else 0.0


def summarize(sentences: Sequence[SentenceScore]) -> Summary:
    """Sums the counts of sentences."""
    statuses = [sentence.status for sentence in sentences]
    valid = [sentence.counts for sentence in sentences if sentence.status == Status.VALID]
    total = BracketCounts(*map(sum, zip(*valid, strict=True))) if valid else BracketCounts()
    return Summary(
        sentences=len(sentences),
        errors=statuses.count(Status.ERROR),
        skipped=statuses.count(Status.SKIP),
        brackets=Accuracy(total.gold, total.predicted, total.matched, total.matched),
        unlabeled=Accuracy(total.gold, total.predicted, total.unlabeled, total.unlabeled),
        complete=sum(counts.gold == counts.predicted == counts.matched for counts in valid),
        unlabeled_complete=sum(counts.gold == counts.predicted == counts.unlabeled for counts in valid),
        crossing=total.crossing,
        uncrossed=sum(counts.crossing == 0 for counts in valid),
        hardly_crossed=sum(counts.crossing <= 2 for counts in valid),
        words=total.words,
        tags=total.tags,
    )


class Message(NamedTuple):
    """EVALB's error message for a sentence."""

    sentence: int
    text: str


@explain_names
@dataclass(frozen=True)
class Score:
    """The result of an evaluation; its text is EVALB's table and summaries.

    >>> gold = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD slept))))")
    >>> score = evaluate([gold], [Tree.parse("(TOP (S (NP (DT the)) (VP (NN cat) (VBD slept))))")])
    >>> score.all.brackets
    Accuracy(gold=3, predicted=3, recalled=1, correct=1)
    >>> f"{score.f1:.2f}"
    '33.33'
    """

    rules: Rules
    sentences: tuple[SentenceScore, ...]
    labels: Mapping[str, Accuracy]
    messages: tuple[Message, ...] = ()

    @cached_property
    def all(self) -> Summary:
        """The summary of all sentences."""
        return summarize(self.sentences)

    @cached_property
    def short(self) -> Summary:
        """The summary of the sentences up to the cutoff length."""
        return summarize([sentence for sentence in self.sentences if sentence.length <= self.rules.cutoff])

    @property
    def recall(self) -> float:
        """Bracketing recall in percent."""
        return self.all.brackets.recall

    @property
    def precision(self) -> float:
        """Bracketing precision in percent."""
        return self.all.brackets.precision

    @property
    def f1(self) -> float:
        """Bracketing F1 in percent."""
        return self.all.brackets.f1

    @cached_property
    def stopped(self) -> Message | None:
        """The error at which EVALB stops without a summary; our summaries include all sentences."""
        limit = self.rules.max_error
        if limit is None:
            return None
        fatal = (message for count, message in enumerate(self.messages) if count > limit or message.text == UNREADABLE)
        return next(fatal, None)

    def by_length(self, step: int = 10) -> dict[tuple[int, int], Summary]:
        """Summaries by sentence length: (shortest, longest), both inclusive."""
        groups: dict[int, list[SentenceScore]] = {}
        for sentence in self.sentences:
            groups.setdefault((max(sentence.length, 1) - 1) // step, []).append(sentence)
        return {(group * step + 1, (group + 1) * step): summarize(groups[group]) for group in sorted(groups)}

    def __str__(self) -> str:
        return report.evalb_report(self)


@explain_options
def evaluate(
    gold: Iterable[Tree | None],
    predicted: Iterable[Tree | None],
    *,
    rules: Rules = COLLINS,
    use_gold_tags: bool = False,
) -> Score:
    """Scores predicted trees against gold trees; None is a sentence without a tree.

    EVALB deletes punctuation by the tags of each tree. A sentence with a wrong punctuation tag has trees of different
    lengths, and EVALB does not score it. With `use_gold_tags`, gold tags replace the predicted ones, so that every
    sentence is scored.

    >>> gold = Tree.parse("(TOP (S (NP (NNS trees)) (VP (VBP grow)) (. .)))")
    >>> predicted = Tree.parse("(TOP (S (NP (NNS trees)) (VP (VBP grow)) (NN .)))")
    >>> evaluate([gold], [predicted]).all.valid, evaluate([gold], [predicted], use_gold_tags=True).all.valid
    (0, 1)
    """
    for trees in (gold, predicted):
        if isinstance(trees, Tree | str) or (
            isinstance(trees, list | tuple) and any(isinstance(t, str) for t in trees)
        ):
            raise TypeError(
                f"the trees are {trees!r:.60}; expected two lists of trees, such as evaluate([gold], [predicted]) or "
                "evaluate(read_trees(path), read_trees(other_path))"
            )
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} gold trees, but {len(predicted)} predicted ones; expected one for each, or None if a "
            "parser found no tree"
        )
    return _evaluate(map(tree_brackets, gold), map(tree_brackets, predicted), rules, use_gold_tags)


def evaluate_lines(
    gold: Iterable[str], predicted: Iterable[str], *, rules: Rules = COLLINS, use_gold_tags: bool = False
) -> Score:
    """Scores lines of brackets as EVALB does: malformed lines are scored, and the shorter file ends the scoring.

    `use_gold_tags` has the same meaning as in `evaluate`.
    """
    return _evaluate(map(read_brackets, gold), map(read_brackets, predicted), rules, use_gold_tags)


def _evaluate(gold: Iterable[Brackets], predicted: Iterable[Brackets], rules: Rules, use_gold_tags: bool) -> Score:
    matcher = Matcher(rules)
    sentences: list[SentenceScore] = []
    messages: list[Message] = []
    label_counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter(), Counter())
    for number, (gold_tree, predicted_tree) in enumerate(zip_longest(gold, predicted), 1):
        if gold_tree is None or predicted_tree is None:
            messages += [Message(number, text) for text in _surplus_messages(gold_tree)]
            break
        if use_gold_tags and len(gold_tree.tags) == len(predicted_tree.tags):
            predicted_tree = replace(predicted_tree, tags=gold_tree.tags)
        match = matcher.compare(gold_tree, predicted_tree)
        sentences.append(SentenceScore(number, matcher.length(gold_tree), match.status, match.counts))
        messages += [Message(number, text) for text in match.faults]
        if match.status == Status.VALID:
            lists = match.gold, match.predicted, match.recalled, match.correct
            for counter, labels in zip(label_counts, lists, strict=True):
                counter.update(labels)
    names = sorted(label_counts[0] | label_counts[1])
    accuracies = {name: Accuracy(*(counter[name] for counter in label_counts)) for name in names}
    return Score(rules, tuple(sentences), accuracies, tuple(messages))


def _surplus_messages(gold: Brackets | None) -> list[str]:
    if gold is None:
        return ["Number of lines unmatch (too many lines in test file)"]
    return [*gold.faults, "Number of lines unmatch (too many lines in gold file)"]
