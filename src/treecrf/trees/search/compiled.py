"""The compiled matcher, or None in an installation without a C compiler."""

from types import ModuleType

matcher: ModuleType | None
try:
    from treecrf.trees.search import _matcher as matcher
except ImportError:
    matcher = None
