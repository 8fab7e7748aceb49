"""Treebanks: reading, writing, cleaning and binarizing trees."""

from treecrf.trees.treebank.cleaning import clean
from treecrf.trees.treebank.reader import OnError, TreebankError, TreeReader, read_trees
from treecrf.trees.treebank.writer import write_trees

__all__ = ["OnError", "TreeReader", "TreebankError", "clean", "read_trees", "write_trees"]
