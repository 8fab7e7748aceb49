"""Scores of full trees: function tags, empty elements by Johnson's measure (2002), and subjects.

A constituent is compared by its category and the words it spans; words whose gold tags EVALB's rules delete, such as
punctuation, do not count, and neither do constituents without other words. An empty element is compared by its kind and
its position, the number of all words before it. docs/evaluation.md defines every figure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any

from treecrf.trees.evalb.report import accuracy_text, accuracy_values
from treecrf.trees.evalb.rules import COLLINS, Rules
from treecrf.trees.evalb.score import Accuracy
from treecrf.trees.placed_nodes import PlacedNode, place_nodes
from treecrf.trees.tree import Tree

SUBJECTS = frozenset(("SBJ", "SUBJ", "SUJ"))  # in Penn's scheme, GreynirCorpus and CESS
_PRO = "*PRO*"


_Unit = tuple[str, Hashable]  # a name, such as a kind of empty elements, and a position
_Constituents = Mapping[Hashable, list[frozenset[str]]]
_TITLES = {
    "constituents": "Constituents",
    "functions": "Functions, constituents right",
    "functions_of_all": "Functions, all constituents",
    "subjects": "Subjects",
    "empties": "Empty elements",
    "empties_in_phrases": "Empty elements with phrases",
    "empties_with_antecedents": "Empty elements with antecedents",
}


@dataclass(frozen=True)
class FullScore:
    """Accuracies of each measure by name: the category, function or kind."""

    by_name: Mapping[str, Mapping[str, Accuracy]]

    def total(self, measure: str) -> Accuracy:
        """The accuracy over all names of a measure, such as "functions" or "empties"."""
        rows = self.by_name[measure].values()
        gold, predicted = sum(row.gold for row in rows), sum(row.predicted for row in rows)
        correct = sum(row.correct for row in rows)
        return Accuracy(gold, predicted, correct, correct)

    def text(self) -> str:
        """The tables of `treecrf evaluate --full`."""
        totals = {title: self.total(measure) for measure, title in _TITLES.items()}
        lines = ["", "-- Functions and empty elements --", *_table(totals)]
        for measure in ("functions", "functions_of_all", "empties", "empties_with_antecedents"):
            lines += ["", f"-- {_TITLES[measure]} --", *_table(self.by_name[measure])]
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """All values, for JSON; percentages are between 0 and 100."""
        return {
            measure: {
                **accuracy_values(self.total(measure)),
                "by_name": {name: accuracy_values(row) for name, row in rows.items()},
            }
            for measure, rows in self.by_name.items()
        }


def score_full_trees(
    gold: Iterable[Tree], predicted: Iterable[Tree], *, rules: Rules = COLLINS, merge_pro: bool = False
) -> FullScore:
    """Scores the functions and empty elements of predicted trees; `merge_pro` counts `*PRO*` as `*`.

    >>> gold = Tree.parse("(S (NP-SBJ-1 (PRP We)) (VP (VBD were) (VP (VBN seen) (NP (-NONE- *-1)))))")
    >>> predicted = Tree.parse("(S (NP-SBJ (PRP We)) (VP (VBD were) (VP (VBN seen) (NP (-NONE- *)))))")
    >>> score = score_full_trees([gold], [predicted])
    >>> [score.total(measure).f1 for measure in ("functions", "empties", "empties_with_antecedents")]
    [100.0, 100.0, 0.0]
    """
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold trees, but {len(predicted)} predicted ones; expected one for each")
    counts = _Counts()
    for number, (gold_tree, predicted_tree) in enumerate(zip(gold, predicted, strict=True), 1):
        if gold_tree.words != predicted_tree.words:
            raise ValueError(
                f"the trees of sentence {number} have different words: {' '.join(gold_tree.words)!r:.60} and "
                f"{' '.join(predicted_tree.words)!r:.60}; full trees are compared word by word"
            )
        kept = [tag not in rules.delete_labels for tag in gold_tree.tags]
        pair = [_Positions(tree, kept, rules, merge_pro) for tree in (gold_tree, predicted_tree)]
        counts.add_functions(*(positions.functions() for positions in pair))
        for measure in ("constituents", "subjects", "empties", "empties_in_phrases", "empties_with_antecedents"):
            counts.add(measure, *(getattr(positions, measure)() for positions in pair))
    return FullScore({measure: counts.accuracies(measure) for measure in _TITLES})


class _Positions:
    """The constituents and empty elements of a tree, with their positions in the sentence."""

    def __init__(self, tree: Tree, kept: list[bool], rules: Rules, merge_pro: bool) -> None:
        self._nodes = place_nodes(tree)
        self._kept_before = list(accumulate(kept, initial=0))
        self._deleted = rules.delete_labels
        self._kinds = {_PRO: "*"} if merge_pro else {}

    def _compared(self) -> Iterator[tuple[Tree, int, int]]:
        """The constituents that have words which are not deleted, with their positions among these words."""
        for node in self._nodes:
            start, end = self._kept_before[node.start], self._kept_before[node.end]
            if start < end and node.tree.label and not node.tree.is_leaf and node.tree.category not in self._deleted:
                yield node.tree, start, end

    def constituents(self) -> Counter[_Unit]:
        return Counter((node.category, (start, end)) for node, start, end in self._compared())

    def functions(self) -> _Constituents:
        """The functions of the constituents with each category and position, parents before children."""
        functions: defaultdict[Hashable, list[frozenset[str]]] = defaultdict(list)
        for node, start, end in self._compared():
            functions[node.category, start, end].append(frozenset(node.functions))
        return functions

    def subjects(self) -> Counter[_Unit]:
        return Counter(("", (start, end)) for node, start, end in self._compared() if SUBJECTS & {*node.functions})

    def empties(self) -> Counter[_Unit]:
        return Counter((self._kind(node), node.start) for node in self._empties())

    def empties_in_phrases(self) -> Counter[_Unit]:
        return Counter(
            (self._kind(node), (node.start, node.parent and node.parent.tree.category)) for node in self._empties()
        )

    def empties_with_antecedents(self) -> Counter[_Unit]:
        constituents = [node for node in self._nodes if not node.tree.is_leaf and node.tree.index is not None]
        antecedents = {node.tree.index: (node.tree.category, node.start, node.end) for node in reversed(constituents)}
        return Counter((self._kind(node), (node.start, antecedents.get(node.tree.index))) for node in self._empties())

    def _empties(self) -> Iterator[PlacedNode]:
        return (node for node in self._nodes if node.tree.is_empty)

    def _kind(self, node: PlacedNode) -> str:
        kind = node.tree.kind or ""
        return self._kinds.get(kind, kind)


class _Counts:
    """Sums over sentences: gold, predicted and correct units of each measure and name."""

    def __init__(self) -> None:
        self._gold: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._predicted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._correct: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, measure: str, gold: Counter[_Unit], predicted: Counter[_Unit]) -> None:
        """Adds units of a sentence: each has a name, such as a kind, and a position."""
        sums = (self._gold, self._predicted, self._correct)
        for counter, units in zip(sums, (gold, predicted, gold & predicted), strict=True):
            for (name, _), count in units.items():
                counter[measure][name] += count

    def add_functions(self, gold: _Constituents, predicted: _Constituents) -> None:
        """Adds the functions of constituents; those with the same category and words are paired from the top."""
        for place in {**gold, **predicted}:
            pairs = list(zip_longest(gold.get(place, ()), predicted.get(place, ())))
            for number, (gold_functions, predicted_functions) in enumerate(pairs):
                is_matched = gold_functions is not None and predicted_functions is not None
                gold_units: Counter[_Unit] = Counter((name, number) for name in gold_functions or ())
                predicted_units: Counter[_Unit] = Counter((name, number) for name in predicted_functions or ())
                for measure in ("functions", "functions_of_all") if is_matched else ("functions_of_all",):
                    self.add(measure, gold_units, predicted_units)

    def accuracies(self, measure: str) -> dict[str, Accuracy]:
        """The accuracy of each name, the most frequent first."""
        gold, predicted, correct = self._gold[measure], self._predicted[measure], self._correct[measure]
        names = sorted(gold | predicted, key=lambda name: (-gold[name], name))
        return {name: Accuracy(gold[name], predicted[name], correct[name], correct[name]) for name in names}


def _table(accuracies: Mapping[str, Accuracy]) -> list[str]:
    width = max([30, *map(len, accuracies)])
    head = f"{'':<{width}}   Gold   Test  Recall   Prec.  FMeas."
    rows = (f"{name:<{width}} {row.gold:6} {row.predicted:6}  {accuracy_text(row)}" for name, row in accuracies.items())
    return [head, *rows]
