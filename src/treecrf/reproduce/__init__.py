"""Experiments: the paper's tables on any treebank, over seeds, as one report."""
