"""The time of each part of `treecrf parse --tokens`, from a file to a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from treecrf.corpus.inputs import InputFile, line_batches, read_stream, split_words
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.parse_files import LineParser
from treecrf.corpus.token_batches import TokenBatch, TokenReader
from treecrf.parser import Parser
from treecrf.parser.benchmark import PartTimer, median_seconds
from treecrf.parser.part_times import time_parts
from treecrf.parser.pipeline import Words
from treecrf.trees.treebank import word_table


def file_seconds(parser: Parser, source: Path, target: Path, options: ParseOptions, *, repeats: int) -> float:
    """The median seconds of `treecrf parse` with a loaded parser, after a warm-up."""
    line_parser, file = LineParser(parser, options, lambda _: None), InputFile(str(source), Path(source.name))
    return median_seconds(lambda: line_parser.parse_files([file], target, lambda *_: None, resume=False), repeats)


def part_seconds(parser: Parser, source: Path, target: Path, *, mbr: bool = True) -> dict[str, float]:
    """The seconds of each part, measured one after the other; each line of the source has words."""
    timer = PartTimer(parser.device)
    with source.open("rb") as lines, target.open("wb") as stream:
        time_parts(parser, _read_windows(parser, lines, timer), stream, timer, mbr=mbr)
    return timer.seconds


def _read_windows(parser: Parser, stream: IO[bytes], timer: PartTimer) -> Iterator[Sequence[Words]]:
    options, window = ParseOptions(tokens=True), parser.batching.window
    if word_table.available:
        table = parser.numericalizer.word_table
        reader = TokenReader(table, longest_line=options.max_line_bytes, most_words=options.word_limit)
        batches = reader.batches(stream, stream.name, iter, first=1, block_lines=window)
    else:
        lines = read_stream(stream, stream.name, limit=options.max_line_bytes)
        batches = line_batches(lines, first=1, block_lines=window, max_lines=window)
    while True:
        with timer.measure("read and split"):
            batch = next(batches, None)
            if batch is None:
                return
            if isinstance(batch, TokenBatch):
                sentences: Sequence[Words] = batch.sentences
            else:
                sentences = [split_words(line.text)[0] for line in batch.lines]
        yield sentences
