"""Basic Universal Dependencies from constituency trees, and CoNLL-U."""

from treecrf.trees.dependencies.dependencies import Dependencies, to_dependencies

__all__ = ["Dependencies", "to_dependencies"]
