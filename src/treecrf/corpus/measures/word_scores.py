"""Scores of words by their place in the tree: depth, Yngve and Frazier scores, node counts, syntactic distance.

`WordScores` has them for the trees of a forest, and `measure_words` for a sentence, with intervals from sampled trees.

Punctuation is left out of the tree before words are scored: a full stop would otherwise raise the Yngve score of every
word. The root and the part-of-speech tags are not constituents here.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles, Ints, Mask
from treecrf.parser.tree_samples import TreeSamples
from treecrf.trees.bootstrap import Interval
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean

# tags with letters that are punctuation: hyphens and other marks of OntoNotes, marks of Chinese treebanks
_PUNCTUATION_TAGS = frozenset(("HYPH", "NFP", "PU", "PUNCT"))
_PUNCTUATION_SUFFIX = "CATEGORY"  # Sinica's tags, such as COMMACATEGORY
_CLAUSE_LABELS = frozenset(("S", "SBAR", "SBARQ", "SINV", "SQ"))
_CLAUSE_WEIGHT = 1.5
WORD_MEASURES = ("depth", "distance", "yngve", "frazier", "opened", "closed")
_LEVELS = (0.025, 0.975)


def is_word_tag(tag: str) -> bool:
    """Whether a part-of-speech tag is for words, not for punctuation.

    >>> [is_word_tag(tag) for tag in ("NN", "PRP$", ".", "-LRB-", "HYPH")]
    [True, True, False, False, False]
    """
    return tag[:1].isalpha() and tag not in _PUNCTUATION_TAGS and not tag.endswith(_PUNCTUATION_SUFFIX)


class WordScores:
    """The scores of the words of a forest.

    `tokens` are the nodes of all words and punctuation marks, and `words` the nodes of words. `is_word` tells for each
    token whether it is a word; without it the tags decide.
    """

    def __init__(self, forest: Forest, is_word: Mask | None = None) -> None:
        self.forest = forest
        self._ends = forest.ends.astype(np.int64)
        self._parents = forest.parents.astype(np.int64)
        nodes = np.arange(len(self._ends))
        is_token = self._ends == nodes + 1
        self.tokens: Ints = np.flatnonzero(is_token)
        if is_word is None:
            is_word_label = np.array([is_word_tag(label) for label in forest.labels], np.bool_)
            is_word = is_word_label[forest.label_ids[self._parents[self.tokens]]]
        self.words: Ints = self.tokens[is_word]
        self.trees: Ints = np.searchsorted(forest.starts, self.words, side="right") - 1  # the tree of each word
        self._words_before = np.concatenate([[0], np.cumsum(np.isin(nodes, self.words))])
        has_words = self._words_before[self._ends] > self._words_before[nodes]
        is_inner = ~is_token & (self._parents >= 0)
        is_inner[self._parents[self.tokens]] = False
        self._has_words = has_words
        self.is_constituent: Mask = is_inner & has_words

    @cached_property
    def depths(self) -> Ints:
        """The number of constituents above each word."""
        return self._sum_over_ancestors(self.is_constituent.astype(np.int64))[self.words]

    @cached_property
    def yngve(self) -> Ints:
        """Yngve scores: the number of right sisters of the word's ancestors and of its tag (Yngve 1960)."""
        order = np.argsort(self._parents, kind="stable")  # sisters stand together, from left to right
        parents = self._parents[order]
        sisters_until = np.cumsum(self._has_words[order])
        last_sisters = np.searchsorted(parents, parents, side="right") - 1
        right_sisters = np.zeros(len(order), np.int64)
        right_sisters[order] = np.where(parents >= 0, sisters_until[last_sisters] - sisters_until, 0)
        return self._sum_over_ancestors(right_sisters)[self.words]

    @cached_property
    def frazier(self) -> Doubles:
        """Frazier scores: the constituents that start at a word; clauses count 1.5, others 1 (Frazier 1985)."""
        is_clause = np.array([label in _CLAUSE_LABELS for label in self.forest.labels], np.bool_)
        weights = np.where(is_clause[self.forest.label_ids], _CLAUSE_WEIGHT, 1.0)
        return self._sum_at_words(self._first_words, weights[self.is_constituent])

    @cached_property
    def opened(self) -> Ints:
        """The number of constituents that start at each word."""
        return self._sum_at_words(self._first_words, None).astype(np.int64)

    @cached_property
    def closed(self) -> Ints:
        """The number of constituents that end at each word."""
        last_words = self._words_before[self._ends[self.is_constituent]] - 1
        return self._sum_at_words(last_words, None).astype(np.int64)

    @cached_property
    def distances(self) -> Ints:
        """The syntactic distance of each word to the next one, and 0 at the last word of a tree (Shen et al. 2018).

        It is the height of the lowest constituent that contains both: 1 if it contains only words, and 1 more than its
        highest child otherwise.
        """
        distances = np.zeros(len(self.words), np.int64)
        pairs = np.flatnonzero(np.diff(self.trees) == 0)
        if not len(pairs):
            return distances
        ancestors = self._common_ancestors(pairs)
        constituents_above = self._sum_over_ancestors(self.is_constituent.astype(np.int64))
        bounds = np.stack([self._words_before[ancestors], self._words_before[self._ends[ancestors]]], 1).ravel()
        deepest = np.maximum.reduceat(np.append(self.depths, 0), bounds)[::2]
        distances[pairs] = deepest - constituents_above[ancestors] + 1
        return distances

    def _common_ancestors(self, pairs: Ints) -> Ints:
        """The lowest common ancestor of each of these words and its next word.

        It is the parent of the node of least depth that starts after the first word, up to the second word.
        """
        depths = self._sum_over_ancestors(np.ones(len(self._ends), np.int64))
        keys = depths * len(depths) + np.arange(len(depths))
        bounds = np.stack([self.words[pairs] + 1, self.words[pairs + 1] + 1], 1).ravel()
        shallowest = np.minimum.reduceat(np.append(keys, 0), bounds)[::2] % len(depths)
        ancestors: Ints = self._parents[shallowest]
        return ancestors

    @cached_property
    def _first_words(self) -> Ints:
        """The index of the first word of each constituent."""
        first_words: Ints = self._words_before[np.flatnonzero(self.is_constituent)]
        return first_words

    def _sum_at_words(self, word_indices: Ints, weights: Doubles | None) -> Doubles:
        return np.bincount(word_indices, weights, minlength=len(self.words)).astype(np.float64)

    def _sum_over_ancestors(self, values: Ints) -> Ints:
        """The sum of values over each node and its ancestors: of all nodes that have started and not ended."""
        ended = np.bincount(self._ends, values, minlength=len(values) + 1).cumsum()[: len(values)]
        sums: Ints = (np.cumsum(values) - ended).astype(np.int64)
        return sums


class WordMeasures(NamedTuple):
    """A word that is not punctuation, its number among the sentence's tokens from 1, its tag and its measures.

    The intervals have the middle 95 % of the sampled trees, and contain the value; they are empty for given trees.
    """

    number: int
    word: str
    tag: str
    values: dict[str, float]
    intervals: dict[str, Interval]


def measure_words(sentence: TreeSamples | Tree) -> list[WordMeasures]:
    """The measures of the words of a sentence, given by samples of its trees or by one tree.

    >>> tree = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")
    >>> for row in measure_words(tree):
    ...     print(row.number, row.word, row.values["depth"], row.values["distance"], row.values["yngve"])
    1 the 2.0 1.0 2.0
    2 cat 2.0 2.0 1.0
    3 sleeps 2.0 0.0 0.0
    """
    tree = clean(sentence) if isinstance(sentence, Tree) else Tree.parse(sentence.best)
    if tree is None:
        return []
    scores = WordScores(Forest(tree))
    values = _columns(scores)
    bounds: Doubles | None = None
    if isinstance(sentence, TreeSamples):
        # the same tokens are words in every sample, whatever their tags are
        is_word = np.tile(np.isin(scores.tokens, scores.words), len(sentence.brackets))
        shape = len(sentence.brackets), len(scores.words), len(WORD_MEASURES)
        sampled = _columns(WordScores(sentence.forest, is_word)).reshape(shape)
        bounds = np.quantile(sampled[sentence.draws], _LEVELS, axis=0, method="inverted_cdf")
        bounds = np.stack([np.minimum(bounds[0], values), np.maximum(bounds[1], values)])
    numbers = np.searchsorted(scores.tokens, scores.words)
    leaves = tree.preterminals()
    rows = []
    for index, number in enumerate(numbers.tolist()):
        leaf = leaves[number]
        row_values = dict(zip(WORD_MEASURES, values[index].tolist(), strict=True))
        intervals = {}
        if bounds is not None:
            pairs = bounds[:, index].T.tolist()
            intervals = {name: Interval(*pair) for name, pair in zip(WORD_MEASURES, pairs, strict=True)}
        rows.append(WordMeasures(number + 1, str(leaf.children[0]), leaf.label, row_values, intervals))
    return rows


def _columns(scores: WordScores) -> Doubles:
    """The measures of each word, (words, measures)."""
    columns = (scores.depths, scores.distances, scores.yngve, scores.frazier, scores.opened, scores.closed)
    return np.stack(columns, axis=1).astype(np.float64)
