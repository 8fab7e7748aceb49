"""Exact inference over the binary trees of a sentence, by the scores of their spans."""
