"""`treecrf parse`: text or words in, trees out, line by line."""

import argparse
import gc
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from treecrf import __version__
from treecrf.bulk.inputs import STDIN, Source, is_terminal, read_lines
from treecrf.bulk.outputs import Sink, open_sink, plan
from treecrf.bulk.records import Fields, Line
from treecrf.parser import Parser
from treecrf.parser.formats import SUFFIXES, Parsed, Style
from treecrf.parser.inputs import Words

if TYPE_CHECKING:
    from treecrf.text import Token

_WINDOW_BYTES = 1 << 22  # of input, parsed at a time
_WORD = re.compile(r"[^ \t\r\f\v]+")
# all that lines of output depend on, besides the input
SETTINGS = (
    "model",
    "tokens",
    "field",
    "id",
    "format",
    "probs",
    "kbest",
    "exact",
    "no_mbr",
    "skip_bad",
    "max_line_bytes",
    "max_words",
)

_NOTES = """\
Each line of the input makes one line of the output, an empty line an empty one (in JSON, null, or no sentences).
Without --tokens a line is raw text, of one sentence or several, whose trees stand side by side.

examples:
  echo 'The time for action is now.' | treecrf parse
  treecrf parse --tokens news.txt.gz -o news.mrg.gz
  treecrf parse texts/ -o trees/ --format json --probs --resume
  treecrf parse corpus/*.parquet -o trees/ --engine ray --resume
"""


def what_decides(args: argparse.Namespace) -> dict[str, Any]:
    """All but the input that a run's output depends on: a run that goes on must have the same."""
    return {name: getattr(args, name) for name in SETTINGS} | {"treecrf": __version__}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `treecrf parse`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _NOTES
    add = parser.add_argument
    add("input", nargs="*", metavar="INPUT", help="files, folders or patterns; - is standard input (default: -)")
    add("-o", "--output", default=STDIN, metavar="OUT", help="a file, or for several inputs a folder (default: -)")
    add("--model", default="en", metavar="M", help="a model that came with treecrf, or a folder (default: en)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--text", action="store_true", help="lines are raw text (the default)")
    kind.add_argument("--tokens", action="store_true", help="a line is a sentence, its words between spaces")
    add(
        "--field",
        metavar="F",
        help="of JSON lines and Parquet, what is parsed (default: text or tokens)",
    )
    add("--id", default="id", metavar="F", help="of JSON lines and Parquet, what is copied into JSON (default: id)")
    add("--format", choices=SUFFIXES, default="brackets", help="how trees are written (default: brackets)")
    add("--probs", action="store_true", help="with json or pretty: how probable trees and constituents are")
    add("--kbest", type=int, default=0, metavar="K", help="with json or pretty: the K most probable trees as well")
    add("--exact", action="store_true", help=r"in brackets, write parentheses in words as \u{28}, not as -LRB-")
    add("--no-mbr", action="store_true", help="the best-scoring trees, not those of least expected error")
    add("--resume", action="store_true", help="go on where an interrupted run stopped; leave complete outputs alone")
    add("--skip-bad", action="store_true", help="for a line that cannot be parsed, an empty one and a warning")
    add("--max-line-bytes", type=int, default=1_000_000, metavar="N", help="refuse longer lines (default: 1,000,000)")
    add("--max-words", type=int, default=2000, metavar="N", help="refuse longer sentences (default: 2,000)")
    add("--device", metavar="D", help="cpu, cuda, cuda:1, ...; a GPU if there is one")
    add("--engine", choices=("one", "ray"), default="one", help="one process, or shards on many (default: one)")
    add = parser.add_argument_group("with --engine ray").add_argument
    add("--address", metavar="A", help="of the cluster, or auto on one of its machines (default: this machine alone)")
    add("--workers", type=int, metavar="N", help="how many processes parse (default: what the cluster has room for)")
    add("--cpus-per-worker", type=int, default=1, metavar="N", help="cores of each, and threads (default: 1)")
    add("--gpus-per-worker", type=float, default=1.0, metavar="X", help="its part of a GPU, if any (default: 1)")
    add("--cpu-workers", type=int, default=0, metavar="N", help="so many more without a GPU, where others have one")
    add("--shard-lines", type=int, metavar="N", help="a multiple of 8,192 (default: 65,536 on GPUs, 16,384 on CPUs)")
    add("--retries", type=int, default=3, metavar="N", help="of a shard that failed, on another worker (default: 3)")


def run(args: argparse.Namespace) -> int | None:
    """Parse every input, in order, as lines come; or shards of them on a cluster."""
    _check(args)
    if args.engine == "ray":
        from treecrf.bulk.ray_engine import parse_shards

        return parse_shards(args)
    jobs = plan(args.input or [STDIN], args.output, SUFFIXES[args.format])
    if args.resume:
        jobs = [(source, target) for source, target in jobs if target is None or not target.is_file()]
    command = Command(Parser.load(args.model, args.device), args)
    gc.freeze()  # what is loaded stays: looking through it for garbage again and again would take as long as parsing
    try:
        with _progress([source.size for source, _ in jobs], is_shown=args.output != STDIN) as advance:
            for source, target in jobs:
                command.run(source, target, advance)
    except KeyboardInterrupt:
        hint = "" if args.output == STDIN else "; --resume goes on where it stopped"
        print(f"treecrf parse: interrupted{hint}", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.unfreeze()
    return None


def _check(args: argparse.Namespace) -> None:
    if args.format == "brackets" and (args.kbest or args.probs):
        raise ValueError("brackets hold one tree and no numbers; --kbest and --probs go with --format json or pretty")
    if args.resume and (args.output == STDIN or args.format == "pretty"):
        raise ValueError("--resume needs a file with a line for each line of the input: -o OUT, and not pretty")
    for name, least in (("kbest", 0), ("max_line_bytes", 1), ("max_words", 1)):
        if getattr(args, name) < least:
            raise ValueError(f"--{name.replace('_', '-')} is {getattr(args, name)}; expected {least} or more")


@contextmanager
def _progress(sizes: list[int | None], *, is_shown: bool) -> Iterator[Callable[[int], object]]:
    """A bar on the terminal, where there is one and tqdm to draw it; its argument is how many bytes were read."""
    known = [size for size in sizes if size is not None]
    try:
        bars = import_module("tqdm") if is_shown and sys.stderr.isatty() else None
    except ImportError:
        bars = None
    if bars is None:
        yield lambda size: None
        return
    with bars.tqdm(total=sum(known) if len(known) == len(sizes) else None, unit="B", unit_scale=True) as bar:
        yield bar.update


class Window(NamedTuple):
    """Lines that are parsed together, and whether a block of lines ends with them."""

    lines: list[Line]
    ends_block: bool


class Command:
    """A parser and what is wanted of it; `warn` is told of lines that are skipped."""

    def __init__(self, parser: Parser, args: argparse.Namespace, warn: Callable[[str], object] | None = None) -> None:
        self.parser = parser
        self.args = args
        self.warn = warn or partial(print, "treecrf parse:", file=sys.stderr)
        self.fields = Fields(args.field or ("tokens" if args.tokens else "text"), args.tokens, args.id)
        self.block = parser.batching.window
        self.split = split_words if args.tokens else partial(_split_text, language=parser.language)
        self.style = Style(
            format=args.format, exact=args.exact, probs=args.probs, kbest=args.kbest, is_text=not args.tokens
        )

    def run(self, source: Source, target: Path | None, advance: Callable[[int], object]) -> None:
        """Parse an input, or what an earlier run has left of it."""
        lines = read_lines(source, limit=self.args.max_line_bytes, fields=self.fields)
        settings = what_decides(self.args) | {"block": self.block}
        with (
            closing(lines),
            open_sink(target, settings, resume=self.args.resume, block=self.block) as sink,
        ):
            for line in islice(lines, sink.done):
                advance(line.size)
            self.write(lines, sink, advance, name=source.name, first=sink.done + 1, is_typed=is_terminal(source))

    def write(
        self,
        lines: Iterator[Line],
        sink: Sink,
        advance: Callable[[int], object],
        *,
        name: str,
        first: int,
        is_typed: bool = False,
    ) -> None:
        """Parse lines; a thread writes while the next ones are parsed. `name` and number are for messages."""
        written: Future[None] | None = None
        with ThreadPoolExecutor(1) as writer:
            for window, output in self._parsed(lines, name, first, is_typed):
                if written is not None:
                    written.result()
                written = writer.submit(_write, sink, output, window.ends_block)
                advance(sum(line.size for line in window.lines))
            if written is not None:
                written.result()

    def _parsed(
        self, lines: Iterator[Line], name: str, first: int, is_typed: bool
    ) -> Iterator[tuple[Window, list[str]]]:
        """Windows of lines, and what is to be written for each line."""
        windows = _windows(lines, block=self.block, at_once=1 if is_typed else self.block)
        if self.args.format != "brackets":
            return self._rendered(windows, name, first)
        if not is_typed:
            return self._brackets(windows, name, first)
        # whoever types does not want to type the next line before the answer to this one
        alone = ([window] for window in windows)
        return chain.from_iterable(self._brackets(one, name, n) for n, one in enumerate(alone, first))

    def _brackets(self, windows: Iterable[Window], name: str, first: int) -> Iterator[tuple[Window, list[str]]]:
        begun: deque[tuple[Window, list[int]]] = deque()  # with the number of each line's sentences

        def sentences() -> Iterator[list[Words]]:
            number = first
            for window in windows:
                found = self._sentences(window, name, number)
                number += len(found)
                begun.append((window, list(map(len, found))))
                yield list(chain.from_iterable(found))

        for trees in self.parser.brackets_by_window(sentences(), exact=self.args.exact, mbr=not self.args.no_mbr):
            window, counts = begun.popleft()
            each = iter(trees)
            yield window, [" ".join(islice(each, count)) if count != 1 else next(each) for count in counts]

    def _rendered(self, windows: Iterable[Window], name: str, first: int) -> Iterator[tuple[Window, list[str]]]:
        for window in windows:
            found = self._sentences(window, name, first)
            first += len(found)
            lines = [line for line, own in zip(window.lines, found, strict=True) for _ in own]
            trees = self._trees(list(chain.from_iterable(found)), lines)
            written = [self.style.line(list(islice(trees, len(own)))) for own in found]
            yield window, [self._named(*pair) for pair in zip(written, window.lines, strict=True)]

    def _named(self, text: str, line: Line) -> str:
        """What is written for a line, with the name of its record."""
        if self.args.format != "json" or not line.key:
            return text
        return f"{{{line.key}, {text[1:]}" if text != "null" else f'{{{line.key}, "tree": null}}'

    def _sentences(self, window: Window, name: str, first: int) -> list[list[Words]]:
        """The sentences of each line."""
        limit = self.args.max_words
        found: list[list[Words]] = []
        for number, line in enumerate(window.lines, first):
            problem = line.problem
            own: list[Words] = [] if problem else [line.words] if line.words else self.split(line.text)
            longest = max(map(len, own), default=0)
            if longest > limit:
                problem = f"a sentence of {longest:,} words; the limit is {limit:,}, and --max-words raises it"
            if problem:
                self._refuse(f"{name}:{number}: {problem}")
            found.append([] if problem else own)
        return found

    def _refuse(self, problem: str) -> None:
        if not self.args.skip_bad:
            raise ValueError(f"{problem}; --skip-bad leaves such lines empty")
        self.warn(problem)

    def _trees(self, sentences: list[Words], lines: list[Line]) -> Iterator[Parsed]:
        offsets = map(_offsets, sentences, lines)
        if self.args.probs or self.args.kbest:
            found = self.parser.analyze_many(sentences, k=self.args.kbest, mbr=not self.args.no_mbr)
            return (Parsed(analysis.tree, at, analysis) for analysis, at in zip(found, offsets, strict=True))
        return map(Parsed, self.parser.parse_many(sentences, mbr=not self.args.no_mbr), offsets)


def _write(sink: Sink, lines: list[str], ends_block: bool) -> None:
    sink.write(lines)
    if ends_block:
        sink.end_block()


def _windows(lines: Iterator[Line], *, block: int, at_once: int) -> Iterator[Window]:
    """As many lines as are parsed together, and whether a block ends with them.

    Which these are follows from the lines since the block began, and so does every rounding error.
    """
    window: list[Line] = []
    size = done = 0
    for line in lines:
        window.append(line)
        size += line.size
        done += 1
        if done == block or size >= _WINDOW_BYTES or len(window) == at_once:
            yield Window(window, done == block)
            window, size, done = [], 0, done % block
    if window:
        yield Window(window, True)


def split_words(text: str) -> list[Words]:
    """A line as one sentence: only spaces, tabs and their like stand between words."""
    text = text.strip(" ")
    if "  " in text or "\t" in text or "\r" in text or "\f" in text or "\v" in text:
        words = _WORD.findall(text)
    else:
        words = text.split(" ") if text else []
    return [words] if words else []


def _split_text(text: str, language: str) -> list[Words]:
    from treecrf.text import sentences

    return list(sentences(text, language=language))


def _offsets(words: Words, line: Line) -> list[tuple[int, int]]:
    """Where words stand in their line."""
    if isinstance(words[0], tuple):
        return [(token.start, token.end) for token in cast("Sequence[Token]", words)]
    if not line.words:
        return [match.span() for match in _WORD.finditer(line.text)]
    ends = list(accumulate(len(word) + 1 for word in line.words))
    return [(end - 1 - len(word), end - 1) for word, end in zip(line.words, ends, strict=True)]
