"""Random scores in place of a scorer's, and the enumeration of all labeled binary trees."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from treecrf.chart.naive import brackets
from treecrf.network.data.batch import Scores
from treecrf.parser.decoding.log_space import logsumexp
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import from_spans, unary_chain

LOSSES = ("two-stage", "one-stage-crf", "one-stage-margin")
# two constituents, two intermediate labels, a unary chain of two, and the empty label
LABELS = ("S", "NP", "(NP)", "(S)", "S VP", "")
REPEATED = ("NP", "NP NP", "(NP)", "S NP NP", "")

Derivations = dict[Tree, list[float]]  # the log-potentials of a tree's labeled binary trees


def random_scores(
    lengths: Sequence[int], *, labels: int, loss: str = "two-stage", tags: int = 0, seed: int = 0, scale: float = 1.0
) -> Scores:
    """Random scores of a batch; those of a sentence depend on its place in the batch but not on its padding."""
    size = max(lengths) + 1
    spans, label_chart, tag_scores = (
        np.full((len(lengths), size, size, n), np.nan, np.float32) for n in (1, labels, tags)
    )
    for number, length in enumerate(lengths):
        generator = np.random.default_rng((seed, number))
        for chart in (spans, label_chart, tag_scores):
            shape = (length + 1, length + 1, chart.shape[-1])
            chart[number, : length + 1, : length + 1] = scale * generator.standard_normal(shape)
    is_one_stage = loss != "two-stage"
    summed = {
        "two-stage": spans[..., 0],
        "one-stage-crf": logsumexp(label_chart),
        "one-stage-margin": label_chart.max(-1),
    }
    return Scores(
        is_crf=loss != "one-stage-margin",
        lengths=np.array(lengths),
        spans=summed[loss].astype(np.float32),
        score_labels=lambda cells: label_chart.reshape(-1, labels)[cells],
        labels=label_chart if is_one_stage else None,
        tags=tag_scores[:, 0, 1:] if tags else None,
    )


def select_sentence(scores: Scores, number: int) -> Scores:
    """The scores of one sentence of a batch, without padding."""
    length = int(scores.lengths[number])
    place = slice(number, number + 1), slice(length + 1), slice(length + 1)
    cells = np.arange(scores.spans.size).reshape(scores.spans.shape)[place].ravel()
    return replace(
        scores,
        lengths=scores.lengths[number : number + 1],
        spans=scores.spans[place],
        score_labels=lambda places: scores.labels_at(cells[places]),
        labels=None if scores.labels is None else scores.labels[place],
        tags=None if scores.tags is None else scores.tags[number : number + 1, :length],
    )


def leaves_of(length: int) -> list[Tree]:
    return [Tree("_", (f"w{number}",)) for number in range(length)]


def derivations(
    scores: Scores, labels: Sequence[str], *, leaves: Sequence[Tree] | None = None, is_canonical: bool = True
) -> Derivations:
    """Every labeled binary tree of a sentence by its scores, grouped by tree.

    With `is_canonical`, only derivations by left binarization: right children of two or more words are constituents.
    """
    length, size = int(scores.lengths[0]), scores.spans.shape[1]
    cells = np.arange(size * size)
    label_scores = scores.labels_at(cells).reshape(size, size, -1).astype(np.float64)
    bracket_scores = np.zeros((size, size))
    if scores.labels is None:
        bracket_scores = scores.spans[0] - logsumexp(label_scores)
    leaves = leaves or leaves_of(length)
    by_tree: Derivations = defaultdict(list)
    for spans in brackets(0, length):
        base = sum(float(bracket_scores[span]) for span in spans)
        is_right = [j - i > 1 and any(end == j and start < i for start, end in spans) for i, j in spans]
        for ids in product(range(len(labels)), repeat=len(spans)):
            is_constituent = [bool(unary_chain(labels[id_])) for id_ in ids]
            if is_canonical and any(right and not there for right, there in zip(is_right, is_constituent, strict=True)):
                continue
            total = base + sum(float(label_scores[i, j, id_]) for (i, j), id_ in zip(spans, ids, strict=True))
            named = [Span(i, j, labels[id_]) for (i, j), id_ in zip(spans, ids, strict=True)]
            by_tree[from_spans(named, leaves)].append(total)
    return by_tree


def tree_probabilities(derivations: Derivations) -> dict[Tree, float]:
    """The log-probability of every tree, the most probable tree first."""
    log_z = log_sum(derivations)
    log_probs = {tree: float(logsumexp(np.array(totals))) - log_z for tree, totals in derivations.items()}
    return dict(sorted(log_probs.items(), key=lambda item: -item[1]))


def log_sum(derivations: Derivations) -> float:
    return float(logsumexp(np.array([total for totals in derivations.values() for total in totals])))
