"""The parser: text or words in, trees out."""

from treecrf.parser.parser import Parser

__all__ = ["Parser"]
