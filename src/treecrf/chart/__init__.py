"""Exact inference over every binary tree of a sentence, by its span scores."""
