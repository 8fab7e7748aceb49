"""Analyzes the sentences of one file: their trees and the probabilities of constituents."""

from collections.abc import Iterator

from treecrf.parser import Parser
from treecrf.parser.inputs import Words
from treecrf.text import sentences
from treecrf.trees.analysis import Analysis
from treecrf.trees.treebank.lines import read_lines


def analyze_file(parser: Parser, source: str, *, tokens: bool) -> Iterator[Analysis]:
    """Analyzes each sentence of a file. Lines are raw text, or with `tokens` the words of one sentence each."""
    words: list[Words] = []
    for number, (line, problem) in enumerate(read_lines(source, None), 1):
        if problem:
            raise ValueError(f"{source}:{number}: {problem}")
        if tokens:
            words += [line.split()] if line.split() else []
        else:
            words += sentences(line, language=parser.language)
    return parser.analyze_many(words)
