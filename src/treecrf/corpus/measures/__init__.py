"""Measures of syntactic complexity: L2SCA's structures and indices, depth, Yngve and Frazier scores."""

from treecrf.corpus.measures.structures import MEASURES
from treecrf.corpus.measures.text import Measure, measure_samples, measure_text, measure_trees, read_error_factors
from treecrf.corpus.measures.word_scores import WordMeasures, measure_words
from treecrf.trees.bootstrap import Interval

__all__ = [
    "MEASURES",
    "Interval",
    "Measure",
    "WordMeasures",
    "measure_samples",
    "measure_text",
    "measure_trees",
    "measure_words",
    "read_error_factors",
]
