"""Tables of the measures of files: one row per text, or one row per word."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from treecrf.corpus.inputs import InputFile
from treecrf.corpus.measures.intervals import Measure
from treecrf.corpus.measures.text import measure_samples, measure_trees, sample_text
from treecrf.corpus.measures.totals import MEASURES, measures_of_language
from treecrf.corpus.measures.word_table import WORD_MEASURES, WordMeasures, measure_words
from treecrf.corpus.progress import ProgressBar
from treecrf.parser import Parser
from treecrf.parser.tree_samples import TreeSamples
from treecrf.text import language_warning
from treecrf.trees.bootstrap import Interval
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.lines import read_text

_TREE_SUFFIXES = (".mrg", ".ptb", ".psd", ".fid", ".brackets")
_LANGUAGE_WORDS = 200  # at the beginning of a text, whose language is checked


def has_trees(file: InputFile) -> bool:
    """Whether a file has trees in brackets, by its name."""
    return file.path.removesuffix(".gz").endswith(_TREE_SUFFIXES)


class TableWriter:
    """Writes the table of measures as CSV to a stream of bytes.

    Files with trees need no parser. `warn` receives messages about single files.
    """

    def __init__(
        self, stream: IO[bytes], parser: Parser | None, *, samples: int, seed: int, warn: Callable[[str], object]
    ) -> None:
        self._stream = stream
        self._parser = parser
        self._samples = samples
        self._seed = seed
        self._warn = warn
        self._names = tuple(MEASURES) if parser is None else measures_of_language(parser.language)

    def write_texts(self, files: Sequence[InputFile], progress: ProgressBar) -> None:
        """Writes a row for each file."""
        bounds = [f"{name}_{bound}" for name in self._names for bound in ("low", "high", "pop_low", "pop_high")]
        self._write_row(["file", *self._names, *bounds])
        for file in files:
            measures = self._measure_file(file, progress)
            values = [_format(measures[name].value) for name in self._names]
            cells = [cell for name in self._names for cell in _format_bounds(measures[name])]
            self._write_row([file.name, *values, *cells])

    def write_words(self, files: Sequence[InputFile], progress: ProgressBar) -> None:
        """Writes a row for each word of each file."""
        bounds = [f"{name}_{bound}" for name in WORD_MEASURES for bound in ("low", "high")]
        self._write_row(["file", "sentence", "number", "word", "tag", *WORD_MEASURES, *bounds])
        for file in files:
            sentences: Iterable[TreeSamples | Tree] = (
                read_trees(file.path) if has_trees(file) else self._sample(file, progress)
            )
            for number, sentence in enumerate(sentences, 1):
                for row in measure_words(sentence):
                    self._write_row([file.name, str(number), *_word_cells(row)])

    def _measure_file(self, file: InputFile, progress: ProgressBar) -> dict[str, Measure]:
        if has_trees(file):
            measures = measure_trees(read_trees(file.path), seed=self._seed)
        else:
            assert self._parser is not None, "text needs a parser"
            samples = self._sample(file, progress)
            measures = measure_samples(samples, language=self._parser.language, seed=self._seed)
        if not measures["S"].value:
            self._warn(f"{file.name} has no sentences; its measures are 0")
        return measures

    def _sample(self, file: InputFile, progress: ProgressBar) -> Iterator[TreeSamples]:
        assert self._parser is not None, "text needs a parser"
        text = read_text(file.path)
        message = language_warning(text.split(maxsplit=_LANGUAGE_WORDS)[:_LANGUAGE_WORDS], self._parser.language)
        if message:
            self._warn(f"{file.name}: {message}")
        samples = sample_text(self._parser, text, samples=self._samples, seed=self._seed)
        try:
            for sentence in samples:
                yield sentence
                progress.add(1, sum(map(len, sentence.words)) + len(sentence.words))
        except ValueError as error:
            raise ValueError(f"{file.name}: {error}") from error

    def _write_row(self, cells: Sequence[str]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        self._stream.write(line.getvalue().encode("utf-8", "surrogateescape"))


def _word_cells(row: WordMeasures) -> list[str]:
    values = [_format(row.values[name]) for name in WORD_MEASURES]
    bounds = [cell for name in WORD_MEASURES for cell in _format_interval(row.intervals.get(name))]
    return [str(row.number), row.word, row.tag, *values, *bounds]


def _format_bounds(measure: Measure) -> list[str]:
    return [*_format_interval(measure.interval), *_format_interval(measure.population)]


def _format_interval(interval: Interval | None) -> list[str]:
    return ["", ""] if interval is None else [_format(interval.low), _format(interval.high)]


def _format(value: float) -> str:
    """At most six decimals.

    >>> _format(3.0), _format(2 / 3)
    ('3', '0.666667')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")
