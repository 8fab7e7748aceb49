"""Scores of predicted trees against gold trees, equal to EVALB's scores."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from treecrf.trees.evalb import report
from treecrf.trees.evalb.brackets import UNREADABLE, Brackets, read_brackets, tree_brackets
from treecrf.trees.evalb.match import Matcher, Status
from treecrf.trees.evalb.rules import COLLINS, Rules
from treecrf.trees.evalb.summary import Accuracy, SentenceScore, Summary, summarize
from treecrf.trees.tree import Tree


class Message(NamedTuple):
    """EVALB's error message for a sentence."""

    sentence: int
    text: str


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
