"""The parsers of a server, by their names."""

from collections.abc import Sequence
from pathlib import Path

from treecrf.parser import Parser
from treecrf.text import tokenize


def load_parsers(sources: Sequence[str], device: str | None = None) -> dict[str, Parser]:
    """Parsers that came with the package or lie in folders, ready to answer; a folder's name is its parser's."""
    parsers: dict[str, Parser] = {}
    for source in sources:
        name = Path(source).resolve().name if Path(source).is_dir() else source
        if name in parsers:
            raise ValueError(f"two models are called '{name}'; expected folders with different names")
        parsers[name] = parser = Parser.load(source, device)
        tokenize("a", language=parser.language)  # where a segmenter is missing, now is the time to say so
        parser.parse(["a"], tags=["_"])
    return parsers
