"""Reproduction of the paper's experiments on a treebank, as one report."""
