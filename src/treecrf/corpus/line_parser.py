"""Parses lines: each line of the input becomes one line of the output."""

import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from treecrf import __version__
from treecrf.corpus.inputs import InputFile, read_lines, with_prompt
from treecrf.corpus.interrupts import Interrupts
from treecrf.corpus.line_formats import ONE_LINE, TABLES, Format, LineFormatter, Source
from treecrf.corpus.output_record import OutputRecord, model_digest, stamp_file
from treecrf.corpus.outputs import OutputFile, Sink, open_sink
from treecrf.corpus.paragraph_lines import join_paragraphs
from treecrf.corpus.records import Line, RecordFields, is_json_lines, is_parquet
from treecrf.parser import Parser
from treecrf.parser.formats import Formatter
from treecrf.parser.inputs import MAX_ANALYZED_WORDS, MAX_WORDS, Words
from treecrf.text import LanguageCheck
from treecrf.trees.analysis import OutputSentence

if TYPE_CHECKING:
    from treecrf.text import Token
    from treecrf.trees.tables import RowKind

_BATCH_BYTES = 1 << 22  # of input, parsed at a time
_CPU_BLOCK_LINES = 256  # few, so that the progress moves and an interruption loses little
ReportProgress = Callable[[int, int], object]  # of the sentences and the input bytes of a batch
_WORD = re.compile(r"[^ \t\r\f\v]+")


@dataclass(frozen=True, kw_only=True)
class LineOptions:
    """Options of `treecrf parse` that determine the output of a line."""

    model: str = "en"
    precision: Literal["float32", "int8"] | None = None  # None: int8 on a CPU that supports it
    tokens: bool = False  # a line is the words of one sentence, not raw text
    paragraphs: bool = False  # the lines of a paragraph are joined, and each paragraph is one output line
    field: str | None = None  # of a record, its text or its words
    id: str = "id"  # the field of a record that is copied into JSON
    format: Format = "brackets"
    rows: "RowKind" = "constituents"  # of a table
    probs: bool = False
    kbest: int = 0
    exact: bool = False
    mbr: bool = True
    skip_bad: bool = False  # write an empty line and a warning for a line that cannot be parsed
    max_line_bytes: int = 1_000_000
    max_words: int = 2000

    def __post_init__(self) -> None:
        if self.kbest and self.format not in ("json", "pretty"):
            raise ValueError(f"--kbest needs --format json or pretty; {self.format} has one tree per sentence")
        if self.probs and self.format not in ("json", "pretty", *TABLES):
            raise ValueError(f"--probs needs --format json, pretty, csv or parquet; {self.format} has no probabilities")
        for name, minimum in (("kbest", 0), ("max_line_bytes", 1), ("max_words", 1)):
            if getattr(self, name) < minimum:
                option = name.replace("_", "-")
                raise ValueError(f"--{option} is {getattr(self, name)}; expected {minimum} or more")

    @property
    def word_limit(self) -> int:
        """The longest sentence: `max_words`, or fewer words if the parser cannot compute what the output needs."""
        return min(self.max_words, MAX_ANALYZED_WORDS if self.probs or self.kbest else MAX_WORDS)

    def with_absolute_model(self) -> "LineOptions":
        """The same options; the path of a model folder is absolute."""
        is_folder = Path(self.model).is_dir()
        return replace(self, model=str(Path(self.model).resolve())) if is_folder else self

    def load_parser(self, device: str | None) -> Parser:
        """Loads the parser of these options on a device."""
        return Parser.load(self.model, device, precision=self.precision)

    def output_settings(self) -> dict[str, Any]:
        """Settings that determine the output; `--resume` requires them to be unchanged."""
        return {
            "model": self.model,
            "model_sha256": model_digest(self.model),
            "precision": self.precision,
            "tokens": self.tokens,
            "paragraphs": self.paragraphs,
            "field": self.field,
            "id": self.id,
            "format": self.format,
            "rows": self.rows if self.format in TABLES else None,
            "probs": self.probs,
            "kbest": self.kbest,
            "exact": self.exact,
            "no_mbr": not self.mbr,
            "skip_bad": self.skip_bad,
            "max_line_bytes": self.max_line_bytes,
            "max_words": self.max_words,
            "treecrf": __version__,
        }


class LineBatch(NamedTuple):
    """Lines that are parsed together."""

    lines: list[Line]
    ends_block: bool  # of the output


class ParsedBatch(NamedTuple):
    """A batch of lines with the output of each line."""

    batch: LineBatch
    output: list[str]
    sentences: int


class LineParser:
    """Parses lines and writes their trees. `warn` gets a message for each line that is skipped."""

    def __init__(self, parser: Parser, options: LineOptions, warn: Callable[[str], object]) -> None:
        self.parser = parser
        self.options = options
        self.warn = warn
        # a folder's model that only reads words need not state its language
        has_language = not options.tokens or not Path(options.model).is_dir()
        self._language_check = LanguageCheck(parser.language, max_sentences=100 if has_language else 0)
        self.has_colors = False  # in trees on standard output
        self._settings = options.output_settings()
        content_field = options.field or ("tokens" if options.tokens else "text")
        self.fields = RecordFields(content_field, options.tokens, options.id)
        window = parser.batching.window
        self.block_lines = min(window, _CPU_BLOCK_LINES) if parser.device == "cpu" else window
        self._split = split_words if options.tokens else partial(split_text, language=parser.language)
        self._formatter = LineFormatter(
            format=options.format,
            formatter=Formatter(
                format="pretty" if options.format == "pretty" else "json",
                exact=options.exact,
                probs=options.probs,
                kbest=options.kbest,
                is_text=not options.tokens,
            ),
            rows=options.rows,
            language=parser.language,
        )
        self._has_header_on_stdout = False

    def output_record(self, file: InputFile) -> OutputRecord:
        """The settings, the model and the input of an output; reads the input."""
        settings = self._settings | {"block": self.block_lines}
        return OutputRecord(settings, file.name, stamp_file(file.path) if file.is_regular else None)

    def parse_file(self, file: InputFile, target: Path | None, report: ReportProgress, *, resume: bool) -> None:
        """Parses an input; with `resume`, after the lines that an interrupted run has written."""
        record = self.output_record(file) if target is not None else None
        lines = self._read_lines(file)
        if file.is_terminal and sys.stderr.isatty():
            lines = with_prompt(lines)
        is_colored = self.has_colors and self.options.format == "pretty"
        with (
            closing(lines),
            open_sink(target, record, self.output_file, resume=resume, is_colored=is_colored) as sink,
        ):
            if target is not None or not self._has_header_on_stdout:
                self.write_header(sink)
                self._has_header_on_stdout = target is None
            for line in islice(lines, sink.lines_written):
                report(0, line.size)
            first = sink.lines_written + 1
            self.write_trees(lines, sink, report, name=file.name, first=first, is_interactive=file.is_terminal)
            if record is not None and record.stamp is not None:
                record.stamp.check_unchanged(file.path)

    @property
    def output_file(self) -> OutputFile:
        """How output files are written."""
        options = self.options
        return OutputFile(
            block_lines=self.block_lines,
            has_one_line=options.format in ONE_LINE,
            parquet_rows=options.rows if options.format == "parquet" else None,
        )

    def write_header(self, sink: Sink) -> None:
        """Writes the header of a table at the beginning of an output."""
        if self._formatter.header and not sink.lines_written:
            sink.write([self._formatter.header])

    def _read_lines(self, file: InputFile) -> Generator[Line, None, None]:
        lines = read_lines(file, limit=self.options.max_line_bytes, fields=self.fields)
        if not self.options.paragraphs:
            return lines
        if is_json_lines(file.path) or is_parquet(file.path):
            raise ValueError(
                f"{file.name} has records, whose texts may have line breaks; --paragraphs is for text files"
            )
        return join_paragraphs(lines, limit=self.options.max_line_bytes)

    def write_trees(
        self,
        lines: Iterator[Line],
        sink: Sink,
        report: ReportProgress,
        *,
        name: str,
        first: int,
        is_interactive: bool = False,
    ) -> None:
        """Parses lines and writes their trees. A thread writes while the next lines are parsed.

        `name` is that of the input and `first` the number of the first line; messages have both. If the input is
        interactive, each line is answered before the next line is read.
        """
        write: Future[None] | None = None
        with Interrupts(self.warn) as interrupts, ThreadPoolExecutor(1) as writer:
            for parsed in self._parse(interrupts.while_reading(lines), name, first, is_interactive):
                if write is not None:
                    write.result()
                write = writer.submit(_write_batch, sink, parsed.output, parsed.batch.ends_block)
                report(parsed.sentences, sum(line.size for line in parsed.batch.lines))
                if parsed.batch.ends_block:
                    interrupts.check()
            if write is not None:
                write.result()

    def _parse(self, lines: Iterator[Line], name: str, first: int, is_interactive: bool) -> Iterator[ParsedBatch]:
        max_lines = 1 if is_interactive else self.block_lines
        batches = line_batches(lines, block_lines=self.block_lines, max_lines=max_lines)
        if self.options.format != "brackets":
            return self._format_trees(batches, name, first)
        if not is_interactive:
            return self._format_brackets(batches, name, first)
        # one call per line: within a call, the parser may read more lines before it returns the first tree
        return chain.from_iterable(
            self._format_brackets([batch], name, number) for number, batch in enumerate(batches, first)
        )

    def _format_brackets(self, batches: Iterable[LineBatch], name: str, first: int) -> Iterator[ParsedBatch]:
        windows = self._windows(batches, name, first)
        parsed = self.parser.brackets_by_key(windows, exact=self.options.exact, mbr=self.options.mbr)
        for (batch, counts), brackets in parsed:
            trees = iter(brackets)
            output = [" ".join(islice(trees, count)) if count != 1 else next(trees) for count in counts]
            yield ParsedBatch(batch, output, sum(counts))

    def _windows(
        self, batches: Iterable[LineBatch], name: str, first: int
    ) -> Iterator[tuple[tuple[LineBatch, list[int]], list[Words]]]:
        """The sentences of each batch. Their key is the batch and the number of sentences in each of its lines."""
        for batch in batches:
            sentences = self._sentences(batch, name, first)
            first += len(batch.lines)
            yield (batch, list(map(len, sentences))), list(chain.from_iterable(sentences))

    def _format_trees(self, batches: Iterable[LineBatch], name: str, first: int) -> Iterator[ParsedBatch]:
        is_optional = self.options.format in ("conllu", *TABLES)  # lines without sentences have no output
        for batch in batches:
            sentences = self._sentences(batch, name, first)
            sentence_lines = [line for line, in_line in zip(batch.lines, sentences, strict=True) for _ in in_line]
            trees = self._parse_sentences(list(chain.from_iterable(sentences)), sentence_lines)
            sources = [Source(name, number, line) for number, line in enumerate(batch.lines, first)]
            output = [
                self._formatter.line(list(islice(trees, len(in_line))), source)
                for in_line, source in zip(sentences, sources, strict=True)
                if in_line or not is_optional
            ]
            first += len(batch.lines)
            yield ParsedBatch(batch, output, len(sentence_lines))

    def _sentences(self, batch: LineBatch, name: str, first: int) -> list[list[Words]]:
        """The sentences of each line."""
        return [self._line_sentences(line, f"{name}:{number}") for number, line in enumerate(batch.lines, first)]

    def _line_sentences(self, line: Line, place: str) -> list[Words]:
        problem, limit = line.problem, self.options.word_limit
        sentences: list[Words] = [] if problem else [line.words] if line.words else self._split(line.text)
        longest = max(map(len, sentences), default=0)
        if longest > limit:
            problem = f"a sentence of {longest:,} words; the limit is {limit:,}" + (
                ", and --max-words raises it" if limit == self.options.max_words else " for this output"
            )
        if not problem:
            self._check_language(sentences)
            return sentences
        if not self.options.skip_bad:
            raise ValueError(f"{place}: {problem}; --skip-bad leaves such lines empty")
        self.warn(f"{place}: {problem}")
        return []

    def _check_language(self, sentences: list[Words]) -> None:
        """Warns once if one of the first sentences is not of the model's language."""
        for sentence in sentences if self._language_check.is_active else ():
            words = [token if isinstance(token, str) else token.tree_word for token in sentence]
            if message := self._language_check.message(words):
                self.warn(message)

    def _parse_sentences(self, sentences: list[Words], lines: list[Line]) -> Iterator[OutputSentence]:
        offsets = map(word_offsets, sentences, lines)
        if self.options.probs or self.options.kbest:
            analyses = self.parser.analyze_many(sentences, k=self.options.kbest, mbr=self.options.mbr)
            return (
                OutputSentence(analysis.tree, its_offsets, analysis)
                for analysis, its_offsets in zip(analyses, offsets, strict=True)
            )
        return map(OutputSentence, self.parser.parse_many(sentences, mbr=self.options.mbr), offsets)


def _write_batch(sink: Sink, lines: list[str], ends_block: bool) -> None:
    sink.write(lines)
    if ends_block:
        sink.end_block()


def line_batches(lines: Iterator[Line], *, block_lines: int, max_lines: int) -> Iterator[LineBatch]:
    """Cuts lines into batches of at most `max_lines` lines; a batch ends with each block of `block_lines` lines.

    The batches of a block depend only on the lines of the block, and so do the rounding errors of its scores.
    """
    batch: list[Line] = []
    size = lines_in_block = 0
    for line in lines:
        batch.append(line)
        size += line.size
        lines_in_block += 1
        if lines_in_block == block_lines or size >= _BATCH_BYTES or len(batch) == max_lines:
            yield LineBatch(batch, lines_in_block == block_lines)
            batch, size, lines_in_block = [], 0, lines_in_block % block_lines
    if batch:
        yield LineBatch(batch, True)


def split_words(text: str) -> list[Words]:
    """Splits a line into the words of one sentence, at spaces, tabs and other ASCII white space."""
    text = text.strip(" ")
    if "  " in text or "\t" in text or "\r" in text or "\f" in text or "\v" in text:
        words = _WORD.findall(text)
    else:
        words = text.split(" ") if text else []
    return [words] if words else []


def split_text(text: str, language: str) -> list[Words]:
    """Splits a line of raw text into sentences and tokens."""
    from treecrf.text import sentences

    return list(sentences(text, language=language))


def word_offsets(words: Words, line: Line) -> list[tuple[int, int]]:
    """The start and the end of each word in its line, in characters."""
    if isinstance(words[0], tuple):
        return [(token.start, token.end) for token in cast("Sequence[Token]", words)]
    if not line.words:
        return [match.span() for match in _WORD.finditer(line.text)]
    ends = list(accumulate(len(word) + 1 for word in line.words))
    return [(end - 1 - len(word), end - 1) for word, end in zip(line.words, ends, strict=True)]
