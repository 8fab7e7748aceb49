"""The exact probability of a tree: the sum over all of its derivations.

A derivation is a labeled binary tree. One tree has many of them: a node with several children can be split in different
orders, and a span that is no constituent may have any label without constituents. These are the derivations of a
restricted chart. The spans of the tree's constituents have exactly their labels. Other spans that cross no constituent
have any label without constituents. All other spans are forbidden.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from treecrf.arrays import Doubles
from treecrf.chart import compatible_spans, inside
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.constraints import Position
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.decoding.log_space import log_softmax, logsumexp
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet, is_intermediate, to_spans


def tree_log_probs(
    scores: Scores, distribution: BracketDistribution, trees: Sequence[Tree], labels: LabelSet, *, root: str = "TOP"
) -> Doubles:
    """The log-probability of one tree for each sentence of a batch; -inf for a tree that the model never gives."""
    chart = np.full(scores.spans.shape, -np.inf)
    for sentence, (tree, length) in enumerate(zip(trees, scores.lengths.tolist(), strict=True)):
        _check_tree(tree, length, root)
        constituents = _label_ids(tree, labels, length)
        if constituents is not None:
            _fill_chart(chart, scores, distribution, sentence, constituents, labels)
    _, log_sums = inside(chart, scores.lengths)
    return np.minimum(log_sums - distribution.log_z, 0.0)


def _check_tree(tree: Tree, length: int, root: str) -> None:
    words = len(tree.preterminals())
    if words != length:
        raise ValueError(f"the tree has {words} words, but its sentence has {length}; expected the same words")
    if tree.label != root and not tree.is_leaf:
        raise ValueError(f"the root of the tree is {tree.label!r}; expected {root!r}, the root of the model's trees")


def _label_ids(tree: Tree, labels: LabelSet, length: int) -> dict[Position, int] | None:
    """The labels of a tree's constituents; None if the model does not have one of them."""
    ids = {labels.strings[label]: label for label in labels.tree_labels(length)}
    spans = [span for span in to_spans(tree) if not is_intermediate(span.label)]
    if any(span.label not in ids for span in spans):
        return None
    return {(span.start, span.end): ids[span.label] for span in spans}


def _fill_chart(
    chart: Doubles,
    scores: Scores,
    distribution: BracketDistribution,
    sentence: int,
    constituents: Mapping[Position, int],
    labels: LabelSet,
) -> None:
    """Writes the log-potentials of a tree's derivations into the chart of its sentence."""
    length, size = int(scores.lengths[sentence]), scores.spans.shape[1]
    is_free = compatible_spans(constituents, length + 1)
    for position in constituents:
        is_free[position] = False
    positions = np.array([*constituents], np.int64).reshape(-1, 2)
    starts, ends = np.concatenate([positions, np.argwhere(is_free)]).T
    posteriors = log_softmax(scores.labels_at((sentence * size + starts) * size + ends))
    values = np.full(len(starts), -np.inf)
    fixed = len(constituents)
    values[:fixed] = posteriors[np.arange(fixed), list(constituents.values())]
    if free := labels.free_labels(length):
        values[fixed:] = logsumexp(posteriors[fixed:, free])
    chart[sentence, starts, ends] = values + distribution.scores[sentence, starts, ends]
