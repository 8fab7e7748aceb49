"""Measures of syntactic complexity: L2SCA's structures and indices, depth, Yngve and Frazier scores."""

from treecrf.measures.intervals import Interval, Measure
from treecrf.measures.text import measure_samples, measure_text, measure_trees
from treecrf.measures.totals import MEASURES
from treecrf.measures.word_table import WordMeasures, measure_words

__all__ = [
    "MEASURES",
    "Interval",
    "Measure",
    "WordMeasures",
    "measure_samples",
    "measure_text",
    "measure_trees",
    "measure_words",
]
