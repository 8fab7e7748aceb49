"""Parses files in one process: `treecrf parse` without `--engine ray`. Each line becomes one line of the output."""

import csv
import gc
import io
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treecrf.corpus.inputs import (
    InputFile,
    Line,
    LineBatch,
    RecordFields,
    find_inputs,
    has_records,
    has_trees,
    join_paragraphs,
    line_batches,
    read_lines,
    read_stream,
    total_size,
    with_prompt,
    word_offsets,
)
from treecrf.corpus.line_splitter import LineSplitter
from treecrf.corpus.options import SUFFIXES, TABLES, ParseOptions, names_output_file
from treecrf.corpus.outputs import STDOUT, Finisher, OutputFile, Sink, open_sink, output_paths, partial_size
from treecrf.corpus.terminal import Interrupts, ProgressBar, has_colors
from treecrf.corpus.token_batches import TokenBatch, TokenReader
from treecrf.files import lock_folder, open_atomic, open_stream, real_path
from treecrf.parser import Parser
from treecrf.parser.pipeline import Words
from treecrf.trees.analysis import ParsedSentence
from treecrf.trees.treebank import word_table

if TYPE_CHECKING:
    from treecrf.corpus.output_record import OutputRecord

_CPU_BLOCK_LINES = 256  # few, so that the progress moves and an interruption loses little
Job = tuple[list[InputFile], Path | None]  # the output is None for standard output
Batch = LineBatch | TokenBatch
ReportProgress = Callable[[int, int], object]  # gets the numbers of sentences and input bytes of a batch
WhileReading = Callable[[Iterator[Any]], Iterator[Any]]  # `Interrupts.while_reading`
ReadBatches = Callable[[WhileReading], Iterator[Batch]]
Window = tuple[tuple[Batch, list[int]], Sequence[Words], Mapping[str, Any]]


class ParsedBatch(NamedTuple):
    """A batch of lines with the output of each line."""

    batch: Batch
    output: list[str]
    sentences: int


class LineParser:
    """Parses lines and writes their trees. `warn` gets a message for each line that is skipped."""

    def __init__(self, parser: Parser, options: ParseOptions, warn: Callable[[str], object]) -> None:
        self.parser = parser
        self.options = options
        self.warn = warn
        content_field = options.field or ("tokens" if options.tokens else "text")
        self.fields = RecordFields(content_field, options.tokens, options.tags, options.id)
        window = parser.batching.window
        self.block_lines = min(window, _CPU_BLOCK_LINES) if parser.device == "cpu" else window
        self.output_file = OutputFile(self.block_lines, options.rows if options.format == "parquet" else None)
        self.splitter = LineSplitter(options, parser, lambda message: self.warn(message))
        self._formatter = None
        if options.format != "brackets":
            from treecrf.corpus.line_formats import LineFormatter

            self._formatter = LineFormatter(options, parser.language)
        self._has_header_on_stdout = False

    @cached_property
    def _settings(self) -> dict[str, Any]:
        return self.options.output_settings() | {"block": self.block_lines}

    def output_record(self, files: Sequence[InputFile]) -> "OutputRecord":
        """The settings, the model and the inputs of an output; reads the input if there is only one."""
        from treecrf.corpus.output_record import OutputRecord, stamp_file

        can_resume = len(files) == 1 and files[0].is_regular
        names = ", ".join(file.name for file in files)
        return OutputRecord(self._settings, names, stamp_file(files[0].path) if can_resume else None)

    def parse_files(
        self, files: Sequence[InputFile], target: Path | None, report: ReportProgress, *, resume: bool
    ) -> None:
        """Parses inputs into one output; with `resume`, after the lines that an interrupted run has written."""
        record = self.output_record(files) if target is not None else None
        is_colored = self.options.format == "pretty" and has_colors(sys.stdout)
        with open_sink(target, record, self.output_file, resume=resume, is_colored=is_colored) as sink:
            if target is not None or not self._has_header_on_stdout:
                self.write_header(sink)
                self._has_header_on_stdout = target is None
            for file in files:
                self._parse_file(file, sink, report)
            if record is not None and record.stamp is not None:
                record.stamp.check_unchanged(files[0].path)

    def _parse_file(self, file: InputFile, sink: Sink, report: ReportProgress) -> None:
        if self._reads_only_tokens and not (file.is_terminal or has_records(file.path)):
            with open_stream(file.path) as stream:
                _skip(read_stream(stream, file.path, limit=self.options.max_line_bytes), sink, report)
                read = partial(
                    self._token_reader.batches,
                    stream,
                    file.path,
                    first=sink.lines_written + 1,
                    block_lines=self.block_lines,
                )
                self._write_batches(read, sink, report, name=file.name)
            return
        lines = self._read_lines(file)
        if file.is_terminal and sys.stderr.isatty():
            lines = with_prompt(lines)
        with closing(lines):
            _skip(lines, sink, report)
            first = sink.lines_written + 1
            self.write_trees(lines, sink, report, name=file.name, first=first, is_interactive=file.is_terminal)

    @property
    def _reads_only_tokens(self) -> bool:
        """Whether nothing but brackets is made of lines, and nothing but words is in them."""
        options, has_report = self.options, self.splitter.report is not None
        is_plain = options.tokens and not (options.tags or options.paragraphs or has_report)
        return is_plain and self._formatter is None and word_table.available

    @cached_property
    def _token_reader(self) -> TokenReader:
        table, options = self.parser.numericalizer.word_table, self.options
        return TokenReader(table, longest_line=options.max_line_bytes, most_words=options.word_limit)

    def write_header(self, sink: Sink) -> None:
        """Writes the header of a table at the beginning of an output."""
        if self._formatter is not None and self._formatter.header and not sink.lines_written:
            sink.write([self._formatter.header])

    def _read_lines(self, file: InputFile) -> Generator[Line, None, None]:
        lines = read_lines(file, limit=self.options.max_line_bytes, fields=self.fields)
        if not self.options.paragraphs:
            return lines
        if has_records(file.path) and not has_trees(file.path):
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

        Messages have the `name` of the input and the number of the line, which starts at `first`. If the input is
        interactive, each line is answered before the next line is read.
        """
        block, most = self.block_lines, 1 if is_interactive else self.block_lines

        def read(while_reading: WhileReading) -> Iterator[Batch]:
            return line_batches(while_reading(lines), first=first, block_lines=block, max_lines=most)

        self._write_batches(read, sink, report, name=name, is_interactive=is_interactive)

    def _write_batches(
        self, read: ReadBatches, sink: Sink, report: ReportProgress, *, name: str, is_interactive: bool = False
    ) -> None:
        write: Future[None] | None = None
        with Interrupts(self.warn) as interrupts, ThreadPoolExecutor(1) as writer:
            batches = read(interrupts.while_reading)
            for parsed in self._parse(batches, name, is_interactive):
                if write is not None:
                    write.result()
                write = writer.submit(_write_batch, sink, parsed.output, parsed.batch.ends_block)
                report(parsed.sentences, parsed.batch.size)
                if parsed.batch.ends_block:
                    interrupts.check()
            if write is not None:
                write.result()

    @property
    def _tree_settings(self) -> dict[str, Any]:
        options = self.options
        return {"mbr": not options.no_mbr, "functions": options.functions, "empties": options.empties}

    def _parse(self, batches: Iterator[Batch], name: str, is_interactive: bool) -> Iterator[ParsedBatch]:
        if self._formatter is not None:
            return (self._format_trees(batch, name) for batch in batches if isinstance(batch, LineBatch))
        if not is_interactive:
            return self._format_brackets(batches, name)
        # one call per line: within a call, the parser may read more lines before it returns the first tree
        return chain.from_iterable(self._format_brackets([batch], name) for batch in batches)

    def _format_brackets(self, batches: Iterable[Batch], name: str) -> Iterator[ParsedBatch]:
        windows = (self._window(batch, name) for batch in batches)
        parsed = self.parser.brackets_by_key(windows, exact=self.options.exact, **self._tree_settings)
        for (batch, counts), brackets in parsed:
            trees = iter(brackets)
            output = [" ".join(islice(trees, count)) if count != 1 else next(trees) for count in counts]
            yield ParsedBatch(batch, output, sum(counts))

    def _window(self, batch: Batch, name: str) -> Window:
        """The sentences of a batch, with the number of sentences in each line."""
        if isinstance(batch, TokenBatch):
            self.splitter.check_language(batch.sentences)
            return (batch, batch.counts), batch.sentences, {}
        sentences = self.splitter.split(batch, name)
        counts = list(map(len, sentences))
        return (batch, counts), list(chain.from_iterable(sentences)), batch.conditions(sentences)

    def _format_trees(self, batch: LineBatch, name: str) -> ParsedBatch:
        assert self._formatter is not None
        is_optional = self.options.format in ("conllu", *TABLES)  # lines without sentences have no output
        sentences = self.splitter.split(batch, name)
        sentence_lines = [line for line, in_line in zip(batch.lines, sentences, strict=True) for _ in in_line]
        conditions = batch.conditions(sentences)
        trees = self._parse_sentences(list(chain.from_iterable(sentences)), sentence_lines, conditions)
        output = [
            self._formatter.line(list(islice(trees, len(in_line))), name, number, line)
            for number, (line, in_line) in enumerate(zip(batch.lines, sentences, strict=True), batch.first)
            if in_line or not is_optional
        ]
        return ParsedBatch(batch, output, len(sentence_lines))

    def _parse_sentences(
        self, sentences: list[Words], lines: list[Line], conditions: Mapping[str, Any]
    ) -> Iterator[ParsedSentence]:
        offsets = map(word_offsets, sentences, lines)
        settings = {**conditions, **self._tree_settings}
        if not self.options.probs and not self.options.kbest:
            return map(ParsedSentence, self.parser.parse_many(sentences, **settings), offsets)
        analyses = self.parser.analyze_many(sentences, k=self.options.kbest, **settings)
        pairs = zip(analyses, offsets, strict=True)
        return (ParsedSentence(analysis.tree, word_spans, analysis) for analysis, word_spans in pairs)


def _skip(lines: Iterator[Line], sink: Sink, report: ReportProgress) -> None:
    """Reads the lines whose trees an interrupted run has written."""
    for line in islice(lines, sink.lines_written):
        report(0, line.size)


def _write_batch(sink: Sink, lines: list[str], ends_block: bool) -> None:
    sink.write(lines)
    if ends_block:
        sink.end_block()


def parse_files(
    inputs: Sequence[str],
    output: str,
    options: ParseOptions,
    *,
    device: str | None,
    resume: bool,
    warn: Callable[[str], object],
    report: str | None = None,
) -> None:
    """Parses each input in order; with `resume`, continues partial outputs and skips inputs whose output is complete.

    It is an error if an output was made from another input, model or settings. `report` is a file for the places of
    skipped lines and doubtful sentences.
    """
    jobs = _match_outputs(inputs, output, options, warn)
    options = options.with_absolute_model()
    is_folder = output != STDOUT and any(target != Path(output) for _, target in jobs)
    with lock_folder(Path(output)) if is_folder else nullcontext():  # an output file is locked while it is written
        line_parser = LineParser(options.load_parser(device), options, warn)
        if resume:
            jobs = [job for job in jobs if _is_unfinished(line_parser, *job)]
        total = total_size(file for files, _ in jobs for file in files)
        gc.freeze()  # repeated garbage collection over the loaded objects would take as long as parsing
        try:
            with (
                Finisher() as finisher,
                ProgressBar(total, unit="sentences", is_shown=_shows_progress(output, jobs)) as progress,
                _open_report(report, line_parser.splitter),
            ):
                kind = line_parser.output_file._replace(submit=finisher.submit, is_one_of_many=is_folder)
                line_parser.output_file = kind
                line_parser.warn = partial(progress.print_message, warn)
                for files, target in jobs:
                    line_parser.parse_files(files, target, progress.add, resume=resume)
        finally:
            gc.unfreeze()


@contextmanager
def _open_report(path: str | None, splitter: LineSplitter) -> Iterator[None]:
    """Writes what a splitter reports as a table of tab-separated values."""
    if path is None:
        yield
        return
    with open_atomic(Path(path)) as stream:
        writer = csv.writer(io.TextIOWrapper(stream, "utf-8", write_through=True), "excel-tab")
        writer.writerow(("place", "reason", "text"))
        splitter.report = lambda *row: writer.writerow(row)
        yield


def _match_outputs(
    arguments: Sequence[str], output: str, options: ParseOptions, warn: Callable[[str], object]
) -> list[Job]:
    if output == STDOUT:
        return [([file], None) for file in find_inputs(arguments, warn)]
    files = find_inputs(arguments, warn, output=Path(output))
    is_folder = len(files) > 1 or Path(output).is_dir() or output[-1] == os.sep or Path(arguments[0]).is_dir()
    if is_folder and not Path(output).is_dir() and names_output_file(output):
        for file in files:
            output_paths([file], output, "", is_folder=False)  # an error if the output is an input
        return [(files, Path(output))]
    targets = output_paths(files, output, SUFFIXES[options.format], is_folder=is_folder)
    return [([file], target) for file, target in zip(files, targets, strict=True)]


def _is_unfinished(line_parser: LineParser, files: Sequence[InputFile], target: Path | None) -> bool:
    """Whether an input has no complete output; an output of another input, model or settings is an error."""
    if target is None or (target.exists() and not target.is_file()):
        return True
    if len(files) > 1:
        raise ValueError(f"--resume continues one output for each input; {target} has {len(files)}: give -o a folder")
    (file,) = files
    if not file.is_regular:
        raise ValueError(f"--resume reads its inputs again, and {file.name} is not a file; name a file")
    size, is_complete = partial_size(target), target.is_file() and partial_size(target) is None
    if size or is_complete:
        line_parser.output_record(files).check(real_path(target))
    return not is_complete


def _shows_progress(output: str, jobs: Sequence[Job]) -> bool:
    """Whether the terminal is free for a progress bar: neither trees nor typed lines are on it."""
    if not sys.stderr.isatty() or any(file.is_terminal for files, _ in jobs for file in files):
        return False
    return output != STDOUT or stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
