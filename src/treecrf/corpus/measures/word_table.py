"""The measures of each word of a sentence, with intervals from sampled trees."""

from typing import NamedTuple

import numpy as np

from treecrf.arrays import Doubles
from treecrf.corpus.measures.word_scores import WordScores
from treecrf.parser.tree_samples import TreeSamples
from treecrf.trees.bootstrap import Interval
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean

WORD_MEASURES = ("depth", "distance", "yngve", "frazier", "opened", "closed")
_LEVELS = (0.025, 0.975)


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
    leaves = tree.leaves()
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
