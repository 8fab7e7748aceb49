"""Analyses: the probabilities of a tree and its constituents, and the most probable readings of its sentence."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import NamedTuple

import numpy as np

from treecrf.parser.decoding.attachments import Attachments
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.label_grammar import LabelGrammar
from treecrf.parser.decoding.tree_distribution import TreeDistribution, tree_chains
from treecrf.parser.decoding.tree_search import Reading, Readings, find_readings
from treecrf.trees.analysis import Alternative, Analysis, Constituent
from treecrf.trees.tree import Span, Tree
from treecrf.trees.tree_differences import describe_differences
from treecrf.trees.treebank.binarize import from_spans, unary_chain


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
        rows = self.brackets.rows() if marginals else iter([None] * len(trees))
        for sentence, (tree, row) in enumerate(zip(trees, rows, strict=True)):
            found = self._find_readings(sentence, tree, k, should_stop)
            others = [self._reading_tree(reading, tree.preterminals()) for reading in found.readings]
            best, *rated = self._rate(sentence, [(tree, tree_chains(tree)), *others])
            yield Analysis(
                tree=tree,
                log_prob=best.log_prob,
                calibrated=best.calibrated,
                entropy=self.brackets.entropies[sentence],
                constituents=best.constituents,
                alternatives=tuple(_alternatives(found.readings, best, rated)),
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

    def _reading_tree(self, reading: Reading, leaves: Sequence[Tree]) -> tuple[Tree, list[Span]]:
        """The tree of a reading, and its `tree_chains`."""
        chains = [Span(*position, self.trees.labels.strings[label]) for position, label in reading.tree]
        chains.sort(key=lambda span: (span.start, -span.end))
        return from_spans(chains, self._tagged(leaves, reading.tags), self.trees.root), chains

    def _tagged(self, leaves: Sequence[Tree], tags: Sequence[int]) -> Sequence[Tree]:
        """The words with the tags of a reading; a tag that the caller gave and the model does not know stays."""
        if not tags:
            return leaves
        pairs = zip([self.tag_names[tag] for tag in tags], leaves, strict=True)
        return [
            Tree(name, leaf.children) if leaf.label != name and leaf.label in self.tag_names else leaf
            for name, leaf in pairs
        ]

    def _rate(self, sentence: int, trees: Sequence[tuple[Tree, list[Span]]]) -> Iterator["_RatedTree"]:
        """The probabilities of trees and of their constituents; the root is certain, except over a single word."""
        length = len(trees[0][0].words)
        constituents = self._constituents(sentence, list(dict.fromkeys(span for _, chains in trees for span in chains)))
        probability = self.trees.root_probability(sentence)
        root = Constituent(0, length, self.trees.root, probability, self.beta(probability))
        for tree, chains in trees:
            log_prob = self.trees.chains_log_prob(sentence, chains)
            below = chain.from_iterable(map(constituents.__getitem__, chains))
            yield _RatedTree(
                tree=tree,
                chains=chains,
                log_prob=log_prob,
                calibrated=self.tree_calibration(log_prob, length),
                constituents=tuple(below) if tree.is_leaf else (root, *below),
            )

    def _constituents(self, sentence: int, chains: Sequence[Span]) -> dict[Span, list[Constituent]]:
        """The constituents of unary chains with their probabilities, outermost first.

        The probability of a constituent sums over all labels whose chain contains it.
        """
        starts, ends = np.array([span[:2] for span in chains], np.int64).reshape(-1, 2).T
        rows = self.trees.constituent_probabilities(self.trees.cells(sentence, starts, ends))
        constituents: dict[Span, list[Constituent]] = {}
        for span, row in zip(chains, rows, strict=True):
            probabilities = row[self.trees.labels.columns(span.label)].tolist()
            constituents[span] = [
                Constituent(span.start, span.end, name, probability, self.beta(probability))
                for name, probability in zip(unary_chain(span.label), probabilities, strict=True)
            ]
        return constituents


class _RatedTree(NamedTuple):
    """A tree of a sentence with its probabilities."""

    tree: Tree
    chains: list[Span]
    log_prob: float
    calibrated: float
    constituents: tuple[Constituent, ...]


def _alternatives(readings: Sequence[Reading], best: _RatedTree, others: Sequence[_RatedTree]) -> Iterator[Alternative]:
    """The alternatives to the best tree.

    Calibrated probabilities of other trees are scaled where all would exceed 1: at most one tree is correct.
    """
    is_other = [other.chains != best.chains for other in others]  # tags have no part in a probability
    total = sum(other.calibrated for other in compress(others, is_other))
    scale = (1 - best.calibrated) / total if total > 1 - best.calibrated else 1.0
    differences = describe_differences([other.tree for other in others])
    for reading, other, differs, changes in zip(readings, others, is_other, differences, strict=True):
        yield Alternative(
            tree=other.tree,
            probability=math.exp(reading.log_prob),
            log_prob=other.log_prob,
            calibrated=scale * other.calibrated if differs else other.calibrated,
            constituents=other.constituents,
            differences=tuple(changes),
        )
