"""Places in constituents at which empty elements may stand, with the words and symbols that a classifier reads.

A gap is a place before, between or after the children of a constituent. Nodes are numbered as in `Constituents`; one
more node stands for nodes that do not exist, such as the child after the last one.
"""

from dataclasses import dataclass

import numpy as np

from treecrf.arrays import Ints
from treecrf.parser.decoding.constituent_features import Features, Symbols
from treecrf.parser.decoding.constituents import Constituents, DecodedBatch

WORDS = ("before", "after", "head", "head of the parent", "head of the grandparent", "left", "right", "first of SBAR")
SYMBOLS = (
    *("label", "left", "right", "parent", "grandparent", "great-grandparent", "left of left", "right of right"),
    *("sibling before", "sibling after", "sibling before the parent", "first child", "last child"),
    *("first sibling", "first of SBAR", "parent of SBAR"),
    *("clauses below SBAR", "NP on the left", "NP on the right", "VP on the right"),
)
_MOST = 3  # clauses or children that symbols tell apart
EXTRA_SYMBOLS = 4 * (_MOST + 1)
_CLAUSES = ("S", "SQ", "SINV")
_SUBORDINATE = ("SBAR", "SBARQ")


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The g gaps of a batch of trees, from left to right in each constituent."""

    constituents: Ints  # (g,)
    positions: Ints  # (g,) words of the batch before the gap
    clauses: Ints  # (g,) the lowest SBAR or SBARQ around the gap; not a constituent if there is none
    features: Features  # (g, WORDS) and (g, SYMBOLS)


def context_codes(symbols: Ints, size: int) -> Ints:
    """Numbers of the contexts of gaps: the symbols of the constituent and of its children on the left and right."""
    codes: Ints = (symbols[:, 0] * size + symbols[:, 1]) * size + symbols[:, 2]
    return codes


def find_gaps(batch: DecodedBatch, symbols: Symbols, contexts: Ints | None = None) -> Gaps:
    """All gaps, or those with one of these `context_codes`, which are sorted."""
    tree = batch.constituents
    size, words = len(tree), tree.words
    none = size + words  # the missing node
    ids = symbols.nodes(batch)
    nodes, firsts = tree.children
    count = np.diff(firsts)
    owners = np.repeat(np.arange(size), count + 1)
    ranks = np.arange(len(owners)) - np.repeat(np.cumsum(count + 1) - count - 1, count + 1)
    padded = np.append(nodes, none)
    places = firsts[owners] + ranks  # the child after the gap, if it has one
    left = np.where(ranks > 0, padded[places - 1], none)
    right = np.where(ranks < count[owners], padded[places], none)
    if contexts is not None:
        codes = context_codes(ids[np.stack([owners, left, right], 1)], symbols.size)
        (kept,) = np.nonzero(contexts[np.searchsorted(contexts[:-1], codes)] == codes)
        owners, places, left, right = owners[kept], places[kept], left[kept], right[kept]
    positions = np.where(right < none, np.append(tree.node_starts, 0)[right], tree.ends[owners])

    parents, previous, following = (
        np.append(np.where(array < 0, none, array), none) for array in (tree.parents, *tree.siblings)
    )
    first_child, last_child = (
        np.append(nodes[edges], np.full(words + 1, none)) for edges in (firsts[:-1], firsts[1:] - 1)
    )
    heads = np.concatenate([batch.heads, np.arange(words), [words]])
    clauses, depths = _subordinate_clauses(tree, parents)
    clause, parent = clauses[owners], parents[owners]
    grandparent, filler = parents[parent], first_child[clause]
    around = [owners, left, right, parent, grandparent, parents[grandparent], previous[left], following[right]]
    around += [previous[owners], following[owners], previous[parent], first_child[owners], last_child[owners]]
    around += [first_child[parent], filler, parents[clause]]
    nouns, verbs = (np.append(0, np.cumsum(tree.has_category(name)[nodes])) for name in ("NP", "VP"))
    begin, end = firsts[owners], firsts[owners + 1]
    counts = [depths[owners], nouns[places] - nouns[begin], nouns[end] - nouns[places], verbs[end] - verbs[places]]
    columns = [np.minimum(column, _MOST) + symbols.size + number * (_MOST + 1) for number, column in enumerate(counts)]
    sentences = tree.sentences[owners]
    ends = np.cumsum(tree.lengths)[sentences]
    is_first, is_last = positions == ends - tree.lengths[sentences], positions == ends
    beside = [np.where(is_first, words, positions - 1), np.where(is_last, words, positions)]
    return Gaps(
        constituents=owners,
        positions=positions,
        clauses=clause,
        features=Features(
            np.stack([*beside, *(heads[node] for node in (owners, parent, grandparent, left, right, filler))], 1),
            np.stack([*(ids[node] for node in around), *columns], 1),
        ),
    )


def _subordinate_clauses(tree: Constituents, parents: Ints) -> tuple[Ints, Ints]:
    """The lowest SBAR or SBARQ that contains each constituent or is it, and the number of clauses below it."""
    size = len(tree)
    is_end, is_clause = (
        np.any([tree.has_category(name)[:size] for name in names], 0) for names in (_SUBORDINATE, _CLAUSES)
    )
    targets = np.where(is_end, np.arange(size), parents[:size])
    depths = (is_clause & ~is_end).astype(np.int64)
    while True:  # a target that is not final is replaced by its own target, so that distances double
        (open_targets,) = np.nonzero(targets < size)
        open_targets = open_targets[~is_end[targets[open_targets]]]
        if not len(open_targets):
            return targets, depths
        depths[open_targets] += depths[targets[open_targets]]
        targets[open_targets] = targets[targets[open_targets]]
