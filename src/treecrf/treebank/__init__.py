"""Treebanks: reading, writing, cleaning and binarizing trees."""

from treecrf.treebank.cleaning import clean
from treecrf.treebank.reader import OnError, TreebankError, TreeReader, read_trees
from treecrf.treebank.writer import write_trees

__all__ = ["OnError", "TreeReader", "TreebankError", "clean", "read_trees", "write_trees"]
