"""Tables of the measures of files: one row per text, or one row per word."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from treecrf.corpus.inputs import InputFile
from treecrf.corpus.measures import text as text_measures
from treecrf.corpus.measures.structures import MEASURES, measures_of_language
from treecrf.corpus.measures.word_scores import WORD_MEASURES, measure_words
from treecrf.corpus.records import holds_trees, read_document
from treecrf.corpus.terminal import ProgressBar
from treecrf.parser import Parser
from treecrf.parser.tree_samples import TreeSamples
from treecrf.text import language_warning
from treecrf.trees.bootstrap import Interval
from treecrf.trees.tables import csv_text
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

_LANGUAGE_WORDS = 200  # at the beginning of a text, whose language is checked


@dataclass(frozen=True, kw_only=True)
class TableWriter:
    """Writes the table of measures as CSV. Files with trees need no parser. `warn` gets messages about files."""

    stream: IO[bytes]
    parser: Parser | None
    samples: int
    seed: int
    warn: Callable[[str], object]
    progress: ProgressBar
    field: str | None = None  # field of records with the text

    def write_texts(self, files: Sequence[InputFile]) -> None:
        names = tuple(MEASURES) if self.parser is None else measures_of_language(self.parser.language)
        bounds = [f"{name}_{bound}" for name in names for bound in ("low", "high", "pop_low", "pop_high")]
        self._write_row(["file", *names, *bounds])
        factors = text_measures.read_error_factors(self.parser.folder) if self.parser else {}
        if self.parser and not factors:
            name = text_measures.FACTORS_FILE
            self.warn(f"the model has no {name}: the intervals assume that its errors vary like its samples")
        for file in files:
            by_name = self._measure_file(file, factors)
            measures = [by_name[name] for name in names]
            intervals = [interval for measure in measures for interval in (measure.interval, measure.population)]
            self._write_row([file.name, *(_format(measure.value) for measure in measures), *_bounds(intervals)])

    def write_words(self, files: Sequence[InputFile]) -> None:
        bounds = [f"{name}_{bound}" for name in WORD_MEASURES for bound in ("low", "high")]
        self._write_row(["file", "sentence", "number", "word", "tag", *WORD_MEASURES, *bounds])
        for file in files:
            sentences: Iterable[TreeSamples | Tree] = (
                read_trees(file.path) if holds_trees(file.path) else self._sample(file)
            )
            for number, sentence in enumerate(sentences, 1):
                for row in measure_words(sentence):
                    values = (_format(row.values[name]) for name in WORD_MEASURES)
                    intervals = (row.intervals.get(name) for name in WORD_MEASURES)
                    cells = [str(number), str(row.number), row.word, row.tag, *values, *_bounds(intervals)]
                    self._write_row([file.name, *cells])

    def _measure_file(self, file: InputFile, factors: text_measures.ErrorFactors) -> dict[str, text_measures.Measure]:
        if holds_trees(file.path):
            measures = text_measures.measure_trees(read_trees(file.path), seed=self.seed)
        else:
            assert self.parser is not None, "text needs a parser"
            samples = self._sample(file)
            measures = text_measures.measure_samples(
                samples, language=self.parser.language, factors=factors, seed=self.seed
            )
        if not measures["S"].value:
            self.warn(f"{file.name} has no sentences; its measures are 0")
        return measures

    def _sample(self, file: InputFile) -> Iterator[TreeSamples]:
        assert self.parser is not None, "text needs a parser"
        text = read_document(file.path, self.field)
        message = language_warning(text.split(maxsplit=_LANGUAGE_WORDS)[:_LANGUAGE_WORDS], self.parser.language)
        if message:
            self.warn(f"{file.name}: {message}")
        samples = text_measures.sample_text(self.parser, text, samples=self.samples, seed=self.seed)
        try:
            for sentence in samples:
                yield sentence
                self.progress.add(1, sum(map(len, sentence.words)) + len(sentence.words))
        except ValueError as error:
            raise ValueError(f"{file.name}: {error}") from error

    def _write_row(self, cells: Sequence[str]) -> None:
        self.stream.write(f"{csv_text([cells])}\n".encode("utf-8", "surrogateescape"))


def _bounds(intervals: Iterable[Interval | None]) -> Iterator[str]:
    for interval in intervals:
        yield from ("", "") if interval is None else map(_format, interval)


def _format(value: float) -> str:
    """At most six decimals.

    >>> _format(3.0), _format(2 / 3)
    ('3', '0.666667')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")
