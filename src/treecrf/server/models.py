"""Loads the parsers that a server offers."""

from collections.abc import Sequence
from pathlib import Path

from treecrf.parser import Parser
from treecrf.text import tokenize


def load_parsers(sources: Sequence[str], device: str | None = None) -> dict[str, Parser]:
    """Loads embedded models by name and saved parsers by folder; a folder's last component is the parser's name."""
    parsers: dict[str, Parser] = {}
    for source in sources:
        name = Path(source).resolve().name if Path(source).is_dir() else source
        if name in parsers:
            raise ValueError(f"two models have the name '{name}'; expected folders with different names")
        parsers[name] = parser = Parser.load(source, device)
        tokenize("a", language=parser.language)  # a missing segmenter is an error at startup, not in a request
        parser.parse(["a"], tags=["_"])
    return parsers
