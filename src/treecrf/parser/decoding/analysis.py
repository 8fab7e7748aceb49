"""Analyses: the probabilities of a tree and its constituents, and the most probable readings of its sentence."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecrf.parser.decoding.attachments import Attachments
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.label_grammar import LabelGrammar
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.decoding.tree_search import Readings, find_readings
from treecrf.trees.analysis import Alternative, Analysis, Constituent
from treecrf.trees.tree import Span, Tree
from treecrf.trees.tree_differences import describe_difference
from treecrf.trees.treebank.binarize import chain_spans, from_spans


@dataclass(frozen=True, kw_only=True)
class Analyzer:
    """Analyzes the trees of a batch, and calibrates their probabilities."""

    trees: TreeDistribution
    brackets: BracketDistribution
    beta: BetaCalibration
    tree_calibration: TreeCalibration
    tag_names: Sequence[str]
    attachments: Attachments
    grammar: LabelGrammar | None = None

    def analyze(
        self, trees: Sequence[Tree], *, k: int, marginals: bool = False, should_stop: Callable[[], bool] | None = None
    ) -> Iterator[Analysis]:
        """The analysis of one tree of each sentence, with k alternatives.

        With `marginals`, an analysis has the probability of every span. The search for alternatives ends when
        `should_stop` returns true.
        """
        log_probs = self.trees.log_probs(trees).tolist()
        rows = self.brackets.rows() if marginals else iter([None] * len(trees))
        for sentence, (tree, log_prob, row) in enumerate(zip(trees, log_probs, rows, strict=True)):
            found = self._find_readings(sentence, tree, k, should_stop)
            alternatives = tuple(self._alternatives(sentence, found, tree.preterminals()))
            calibrated = self.tree_calibration(log_prob, len(tree.words))
            yield Analysis(
                tree=tree,
                log_prob=log_prob,
                calibrated=calibrated,
                entropy=self.brackets.entropies[sentence],
                constituents=self._constituents(sentence, tree),
                alternatives=_exclusive(alternatives, tree, calibrated),
                alternatives_exact=found.is_exact,
                marginals=row,
            )

    def _find_readings(self, sentence: int, tree: Tree, k: int, should_stop: Callable[[], bool] | None) -> Readings:
        if not k:
            return Readings([], True)
        return find_readings(
            self.trees,
            sentence,
            k,
            attachments=self.attachments,
            tags=tree.tags,
            is_word=[any(map(str.isalnum, word)) for word in tree.words],
            grammar=self.grammar,
            should_stop=should_stop,
        )

    def _alternatives(self, sentence: int, found: Readings, leaves: Sequence[Tree]) -> Iterator[Alternative]:
        strings = self.trees.labels.strings
        first = None
        for constituents, reading_log_prob, tags in found.readings:
            spans = [Span(*position, strings[label]) for position, label in constituents]
            tree = from_spans(spans, self._tagged(leaves, tags), self.trees.root)
            first = first or tree
            log_prob = self.trees.log_prob(sentence, tree)
            yield Alternative(
                tree=tree,
                probability=math.exp(reading_log_prob),
                log_prob=log_prob,
                calibrated=self.tree_calibration(log_prob, len(leaves)),
                constituents=self._constituents(sentence, tree),
                differences=tuple(describe_difference(first, tree)),
            )

    def _tagged(self, leaves: Sequence[Tree], tags: Sequence[int]) -> Sequence[Tree]:
        """The words with the tags of a reading; a tag that the caller gave and the model does not know stays."""
        if not tags:
            return leaves
        names, known = [self.tag_names[tag] for tag in tags], {*self.tag_names}
        return [
            Tree(name, leaf.children) if leaf.label in known else leaf for name, leaf in zip(names, leaves, strict=True)
        ]

    def _constituents(self, sentence: int, tree: Tree) -> tuple[Constituent, ...]:
        """The constituents of a tree with their probabilities.

        A label is a unary chain of constituents. The probability of a constituent sums over all labels whose chain
        contains it. The root is certain, except over a single word, which may have no root.
        """
        by_position: dict[Position, list[float]] = defaultdict(list)  # outermost first
        if not tree.is_leaf:
            by_position[0, len(tree.words)].append(self.trees.root_probability(sentence))
        spans = tree.spans()
        chains = chain_spans(spans)
        starts, ends = np.array([span[:2] for span in chains], np.int64).reshape(-1, 2).T
        probabilities = self.trees.constituent_probabilities(self.trees.cells(sentence, starts, ends))
        for (start, end, label), row in zip(chains, probabilities, strict=True):
            by_position[start, end] += row[self.trees.labels.columns(label)].tolist()
        return tuple(
            Constituent(*span, probability, self.beta(probability))
            for span in spans
            for probability in [by_position[span[:2]].pop(0)]
        )


def _exclusive(alternatives: tuple[Alternative, ...], tree: Tree, calibrated: float) -> tuple[Alternative, ...]:
    """Scales the calibrated probabilities of the other trees where all would exceed 1: at most one tree is correct."""
    spans = tree.spans()
    others = [other for other in alternatives if other.tree.spans() != spans]  # tags have no part in a probability
    total = sum(other.calibrated for other in others)
    if total <= 1 - calibrated:
        return alternatives
    scale = (1 - calibrated) / total
    return tuple(replace(each, calibrated=scale * each.calibrated) if each in others else each for each in alternatives)
