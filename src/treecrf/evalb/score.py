"""Scores of predicted trees against gold trees, equal to EVALB's."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from treecrf.evalb import report
from treecrf.evalb.brackets import UNREADABLE, Brackets, read_brackets, tree_brackets
from treecrf.evalb.match import Match, Matcher, Status
from treecrf.evalb.rules import COLLINS, Rules
from treecrf.evalb.summary import Accuracy, Sentence, Summary, summarize
from treecrf.tree import Tree


class Message(NamedTuple):
    """What was wrong with a sentence, as EVALB words it."""

    sentence: int
    text: str


@dataclass(frozen=True)
class Score:
    """The outcome of an evaluation; as text, EVALB's table and summaries.

    >>> gold = Tree.parse("(TOP (S (NP (DT the) (NN cat)) (VP (VBD slept))))")
    >>> score = evaluate([gold], [Tree.parse("(TOP (S (NP (DT the)) (VP (NN cat) (VBD slept))))")])
    >>> score.all.brackets
    Accuracy(gold=3, predicted=3, recalled=1, correct=1)
    >>> f"{score.f1:.2f}"
    '33.33'
    """

    rules: Rules
    sentences: tuple[Sentence, ...]
    labels: Mapping[str, Accuracy]
    messages: tuple[Message, ...] = ()

    @cached_property
    def all(self) -> Summary:
        """The summary of all sentences."""
        return summarize(self.sentences)

    @cached_property
    def short(self) -> Summary:
        """The summary of the sentences up to the cut-off length."""
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
        """Bracketing F in percent."""
        return self.all.brackets.f1

    @cached_property
    def stopped(self) -> Message | None:
        """The error at which EVALB gives up and prints no summary; our sums go on."""
        limit = self.rules.max_error
        if limit is None:
            return None
        fatal = (message for count, message in enumerate(self.messages) if count > limit or message.text == UNREADABLE)
        return next(fatal, None)

    def by_length(self, step: int = 10) -> dict[tuple[int, int], Summary]:
        """Summaries by sentence length, from and to, both included."""
        groups: dict[int, list[Sentence]] = {}
        for sentence in self.sentences:
            groups.setdefault((max(sentence.length, 1) - 1) // step, []).append(sentence)
        return {(group * step + 1, (group + 1) * step): summarize(groups[group]) for group in sorted(groups)}

    def __str__(self) -> str:
        return report.evalb(self)


def evaluate(gold: Iterable[Tree | None], predicted: Iterable[Tree | None], *, rules: Rules = COLLINS) -> Score:
    """Score predicted trees, None where there is none, against gold trees."""
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} gold trees, but {len(predicted)} predicted ones; expected one for each, or None where a "
            "parser found no tree"
        )
    return _evaluate(map(tree_brackets, gold), map(tree_brackets, predicted), rules)


def evaluate_lines(gold: Iterable[str], predicted: Iterable[str], *, rules: Rules = COLLINS) -> Score:
    """Score lines of brackets in EVALB's way, which stumbles over no line and stops where either side ends."""
    return _evaluate(map(read_brackets, gold), map(read_brackets, predicted), rules)


def _evaluate(gold: Iterable[Brackets], predicted: Iterable[Brackets], rules: Rules) -> Score:
    matcher = Matcher(rules)
    sentences: list[Sentence] = []
    messages: list[Message] = []
    labels = _Labels()
    for number, (ours, theirs) in enumerate(zip_longest(gold, predicted), 1):
        if ours is None or theirs is None:
            messages += [Message(number, text) for text in _surplus(ours)]
            break
        match = matcher.compare(ours, theirs)
        sentences.append(Sentence(number, matcher.length(ours), match.status, match.counts))
        messages += [Message(number, text) for text in match.faults]
        if match.status == Status.VALID:
            labels.add(match)
    return Score(rules, tuple(sentences), labels.accuracies(), tuple(messages))


def _surplus(gold: Brackets | None) -> list[str]:
    if gold is None:
        return ["Number of lines unmatch (too many lines in test file)"]
    return [*gold.faults, "Number of lines unmatch (too many lines in gold file)"]


class _Labels:
    """Counts by label."""

    def __init__(self) -> None:
        self._counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter(), Counter())

    def add(self, match: Match) -> None:
        found = match.gold, match.predicted, match.recalled, match.correct
        for counter, labels in zip(self._counts, found, strict=True):
            counter.update(labels)

    def accuracies(self) -> dict[str, Accuracy]:
        gold, predicted, *_ = self._counts
        return {label: Accuracy(*(counter[label] for counter in self._counts)) for label in sorted(gold | predicted)}
