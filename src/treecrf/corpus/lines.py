"""Lines of input: joined to paragraphs, cut into batches, and split into sentences of words."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from treecrf.corpus.inputs import Line
from treecrf.corpus.options import ParseOptions
from treecrf.parser.inputs import Words
from treecrf.text import LanguageCheck, paragraphs, sentences

if TYPE_CHECKING:
    from treecrf.text import Token

_BATCH_BYTES = 1 << 22  # input that is parsed at a time
_WORD = re.compile(r"[^ \t\r\f\v]+")


class LineBatch(NamedTuple):
    """Lines that are parsed together."""

    lines: list[Line]
    first: int  # number of the first line, from 1
    ends_block: bool  # whether a block of the output ends here


def line_batches(lines: Iterator[Line], *, first: int, block_lines: int, max_lines: int) -> Iterator[LineBatch]:
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
            yield LineBatch(batch, first, lines_in_block == block_lines)
            first += len(batch)
            batch, size, lines_in_block = [], 0, lines_in_block % block_lines
    if batch:
        yield LineBatch(batch, first, True)


def join_paragraphs(lines: Iterator[Line], *, limit: int) -> Generator[Line, None, None]:
    """Joins the lines of each paragraph; a line that cannot be read ends a paragraph and stays a line of its own.

    A paragraph of more than `limit` bytes has a problem and no text.
    """
    unassigned: list[Line] = []  # lines that were read after the last paragraph
    first_number = 1

    def texts() -> Iterator[str]:
        for line in lines:
            unassigned.append(line)
            yield "" if line.problem else line.text

    for paragraph in paragraphs(texts()):
        count = paragraph.last_line - first_number + 1
        paragraph_lines = unassigned[:count]
        del unassigned[:count]
        first_number = paragraph.last_line + 1
        yield from (line for line in paragraph_lines if line.problem)
        size, length = sum(line.size for line in paragraph_lines), len(paragraph.text.encode())
        problem = f"a paragraph of {length:,} bytes; the limit is {limit:,}, and --max-line-bytes raises it"
        yield Line(paragraph.text, "", size) if length <= limit else Line("", problem, size)
    yield from (line for line in unassigned if line.problem)


class LineSplitter:
    """Splits lines into sentences, and checks their length and their language. `warn` gets messages about lines."""

    def __init__(self, options: ParseOptions, language: str, warn: Callable[[str], object]) -> None:
        self._options = options
        self._word_limit = options.word_limit
        self._language = language
        self._warn = warn
        # a folder's model that only reads words need not state its language
        has_language = not options.tokens or not Path(options.model).is_dir()
        self._language_check = LanguageCheck(language, max_sentences=100 if has_language else 0)

    def split(self, batch: LineBatch, name: str) -> list[list[Words]]:
        """The sentences of each line of the input `name`."""
        return [self._split_line(line, f"{name}:{number}") for number, line in enumerate(batch.lines, batch.first)]

    def _split_line(self, line: Line, place: str) -> list[Words]:
        problem, limit, line_sentences = line.problem, self._word_limit, self._sentences(line)
        longest = max(map(len, line_sentences), default=0)
        if longest > limit:
            problem = f"a sentence of {longest:,} words; the limit is {limit:,}" + (
                ", and --max-words raises it" if limit == self._options.max_words else " for this output"
            )
        if not problem:
            self._check_language(line_sentences)
            return line_sentences
        if not self._options.skip_bad:
            raise ValueError(f"{place}: {problem}; --skip-bad leaves such lines empty")
        self._warn(f"{place}: {problem}")
        return []

    def _sentences(self, line: Line) -> list[Words]:
        if line.problem:
            return []
        if line.words:
            return [line.words]
        return split_words(line.text) if self._options.tokens else list(sentences(line.text, language=self._language))

    def _check_language(self, line_sentences: list[Words]) -> None:
        """Warns once if one of the first sentences is not in the model's language."""
        for sentence in line_sentences if self._language_check.is_active else ():
            words = [token if isinstance(token, str) else token.tree_word for token in sentence]
            if message := self._language_check.message(words):
                self._warn(message)


def split_words(text: str) -> list[Words]:
    """Splits a line into the words of one sentence, at spaces, tabs and other ASCII white space."""
    text = text.strip(" ")
    if "  " in text or "\t" in text or "\r" in text or "\f" in text or "\v" in text:
        words = _WORD.findall(text)
    else:
        words = text.split(" ") if text else []
    return [words] if words else []


def word_offsets(words: Words, line: Line) -> list[tuple[int, int]]:
    """The start and the end of each word in its line, in characters."""
    if isinstance(words[0], tuple):
        return [(token.start, token.end) for token in cast("Sequence[Token]", words)]
    if not line.words:
        return [match.span() for match in _WORD.finditer(line.text)]
    ends = list(accumulate(len(word) + 1 for word in line.words))
    return [(end - 1 - len(word), end - 1) for word, end in zip(line.words, ends, strict=True)]
