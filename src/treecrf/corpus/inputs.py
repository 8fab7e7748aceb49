"""Inputs: the files that arguments name (files, folders, patterns, standard input), read line by line.

Lines are joined to paragraphs, if these were asked for, and cut into batches.

A path that is named itself is never skipped. A path that is skipped inside a folder is named in a warning.
"""

import glob
import json
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from treecrf.files import DECOMPRESSION_ERRORS, open_stream, real_path, source_name
from treecrf.text import paragraphs
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.lines import WORD

if TYPE_CHECKING:
    from treecrf.parser.decoding.constraints import Constraints
    from treecrf.parser.pipeline import Tags, Words
    from treecrf.text import Token

STDIN = "-"
_JSON_SUFFIXES = (".jsonl", ".ndjson")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_TREE_SUFFIXES = (".mrg", ".ptb", ".psd", ".fid", ".brackets")
_SHOWN_PATHS = 5
BATCH_BYTES = 1 << 22  # input that is parsed at a time
_SAMPLE_BYTES = 1 << 20
_MIN_UTF16 = 6  # bytes; a shorter line does not show its encoding


class Line(NamedTuple):
    """A line of input: its text without the line end, or the reason why it cannot be read."""

    text: str
    problem: str
    size: int  # bytes
    words: Sequence[str] = ()  # if a record lists its words
    id_json: str = ""  # a record's id as a member of a JSON object: `"id": 7`
    tags: "Tags | None" = None  # tags of the words
    constraints: "Constraints | None" = None

    @property
    def id_text(self) -> str | None:
        """The id of a record, as JSON if it is not a string; None if it has none."""
        if not self.id_json:
            return None
        ((_, value),) = json.loads(f"{{{self.id_json}}}").items()
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class RecordFields(NamedTuple):
    """The names of a record's fields."""

    content: str = "text"
    has_words: bool = False  # the content is words instead of raw text
    has_tags: bool = False  # words have tags
    id: str = "id"


_TEXT = RecordFields()


def is_json_lines(path: str | Path) -> bool:
    """Whether the lines of a file are JSON objects, judged by its name."""
    return Path(path).name.removesuffix(".gz").endswith(_JSON_SUFFIXES)


def is_parquet(path: str | Path) -> bool:
    """Whether a file is a Parquet file, judged by its name."""
    return Path(path).suffix in _PARQUET_SUFFIXES


def delimiter(path: str | Path) -> str | None:
    """The character between the cells of a CSV or TSV file, judged by its name; None for another file."""
    return _DELIMITERS.get(Path(Path(path).name.removesuffix(".gz")).suffix)


def has_trees(path: str | Path) -> bool:
    """Whether a file has trees in brackets, judged by its name."""
    return Path(path).name.removesuffix(".gz").endswith(_TREE_SUFFIXES)


def has_records(path: str | Path) -> bool:
    """Whether a file has trees, rows or JSON objects instead of lines of text, judged by its name."""
    return has_trees(path) or is_json_lines(path) or is_parquet(path) or delimiter(path) is not None


def has_line_records(path: str | Path) -> bool:
    """Whether a file can be cut at the ends of lines or rows."""
    return not has_trees(path) and delimiter(path) is None


class InputFile(NamedTuple):
    """A file or standard input."""

    path: str  # or STDIN
    relative: Path  # its path below the folder that was named; the output has the same place in the output folder

    @property
    def name(self) -> str:
        """Its name in messages."""
        return source_name(self.path)

    @property
    def size(self) -> int | None:
        """The size of its text in bytes, estimated if it is compressed; None if it cannot be known."""
        path = Path(self.path)
        if not path.is_file() or is_parquet(path):
            return None
        return round(path.stat().st_size * _compression_ratio(path))

    @property
    def is_terminal(self) -> bool:
        """Whether the lines are typed at a terminal."""
        return self.path == STDIN and sys.stdin.isatty()

    @property
    def is_regular(self) -> bool:
        """Whether it is a file that can be read again, not a pipe or a device."""
        return self.path != STDIN and Path(self.path).is_file()


def total_size(files: Iterable[InputFile]) -> int | None:
    """The size of all files together in bytes; None if one of them cannot be known."""
    sizes = [file.size for file in files]
    return None if None in sizes else sum(filter(None, sizes))


def find_inputs(
    arguments: Sequence[str], warn: Callable[[str], object], *, output: Path | None = None
) -> list[InputFile]:
    """The files that arguments name. In a folder or a pattern, files inside the folder `output` are skipped."""
    inputs: list[InputFile] = []
    for argument in arguments:
        files = list(_expand(argument, warn, output))
        if not files and Path(argument).is_dir():
            raise FileNotFoundError(f"nothing to read in the folder {argument}: it has no visible files")
        if not files:
            raise FileNotFoundError(
                f"nothing to read at {argument}: no file, folder or pattern has that name{_text_hint(argument)}"
            )
        inputs += files
    return inputs


def _text_hint(argument: str) -> str:
    is_text = " " in argument.strip() or not argument.isascii()
    return f"; to parse a text, write: echo {shlex.quote(argument)} | treecrf parse" if is_text else ""


def _expand(argument: str, warn: Callable[[str], object], output: Path | None) -> Iterator[InputFile]:
    path = Path(argument)
    if argument == STDIN:
        yield InputFile(argument, Path("stdin"))
    elif path.is_dir():
        if output is not None and output.is_dir() and output.samefile(path):
            raise ValueError(f"{argument} is both the input and the output folder; choose another -o")
        yield from _FolderSearch(path, warn, output).find([path])
    elif path.exists():
        yield InputFile(argument, Path(path.name))
    elif path.is_symlink():
        raise FileNotFoundError(f"{argument} is a broken link: it points to {path.readlink()}, which does not exist")
    elif glob.has_magic(argument):
        depth = next(depth for depth, part in enumerate(path.parts) if glob.has_magic(part))
        base = Path(*path.parts[:depth])
        yield from _FolderSearch(base, warn, output).find(sorted(base.glob(str(Path(*path.parts[depth:])))))


class _FolderSearch:
    """Finds the visible files at some paths below a folder, and warns about the others."""

    def __init__(self, base: Path, warn: Callable[[str], object], output: Path | None) -> None:
        self._base = base
        self._warn = warn
        self._output: Path | None = None  # a folder inside `base`, with the outputs of earlier runs
        if output is not None and output.is_dir() and real_path(base) in real_path(output).parents:
            self._output = real_path(output)
        self._hidden: list[str] = []

    def find(self, paths: Sequence[Path]) -> Iterator[InputFile]:
        """The files at these paths and in these folders, each once."""
        files = {str(file): file for path in paths for file in self._files(path)}
        for name, file in files.items():
            yield InputFile(name, file.relative_to(self._base))
        if self._hidden:
            more = len(self._hidden) - _SHOWN_PATHS
            shown = ", ".join(self._hidden[:_SHOWN_PATHS]) + (f" and {more:,} more" if more > 0 else "")
            self._warn(f"skipped hidden files and folders: {shown}")

    def _files(self, path: Path) -> Iterator[Path]:
        if any(part.startswith(".") for part in path.relative_to(self._base).parts):
            self._hidden.append(str(path))
        elif self._output is not None and self._output in (resolved := real_path(path), *resolved.parents):
            if self._output == resolved:
                self._warn(f"skipped {path}: it is the output folder")
        elif path.is_dir() and path.is_symlink() and path != self._base:
            self._warn(f"skipped {path}: it is a link to a folder; name it as an input to parse its files")
        elif path.is_dir():
            for child in _children(path):
                yield from self._files(child)
        elif path.is_file():
            yield path
        elif path.is_symlink():
            self._warn(f"skipped {path}: it is a broken link")
        else:
            self._warn(f"skipped {path}: it is not a file; name it as an input to parse it")


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except PermissionError:
        raise PermissionError(
            f"the folder {folder} cannot be read; change its permissions, or name its files"
        ) from None


def with_prompt(lines: Iterator[Line]) -> Generator[Line, None, None]:
    """The same lines, typed at a terminal: asks for each line."""
    print("one sentence a line, Ctrl-D ends", file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = next(lines, None)
        if line is None:
            print(file=sys.stderr)
            return
        yield line


def _compression_ratio(path: Path) -> float:
    """Bytes of text per byte of the file, measured at the beginning of the file."""
    with path.open("rb") as stream, open_stream(stream) as text:
        if text is stream:
            return 1.0
        with suppress(*DECOMPRESSION_ERRORS):  # parsing reports damaged data
            size = len(text.read(_SAMPLE_BYTES))
            return size / max(stream.tell(), 1)
    return 1.0


def read_lines(file: InputFile, *, limit: int, fields: RecordFields = _TEXT) -> Generator[Line, None, None]:
    """Reads the lines or records of an input; a line of more than `limit` bytes has a problem and no text."""
    if is_parquet(file.path):
        from treecrf.corpus.records import read_rows

        yield from read_rows(file.path, fields, limit=limit)
        return
    if has_trees(file.path):
        for tree in read_trees(file.path):
            tags = tree.tags if fields.has_tags else None
            yield Line(" ".join(tree.words), "", len(str(tree)), tree.words, tags=tags)
        return
    with open_stream(file.path) as stream:
        if cell_delimiter := delimiter(file.path):
            from treecrf.corpus.records import read_csv

            yield from read_csv(stream, file.path, cell_delimiter, fields, limit=limit)
            return
        yield from read_stream(stream, file.path, limit=limit, fields=fields)


def read_stream(stream: Any, path: str, *, limit: int, fields: RecordFields = _TEXT, number: int = 0) -> Iterator[Line]:
    """Reads the lines or records of an open stream, split at line feeds only, after `number` lines have been read."""
    if has_records := is_json_lines(path):
        from treecrf.corpus.records import parse_json_line
    try:
        while raw := stream.readline(limit + 2):
            number += 1
            line = _decode_line(raw, stream, number, limit)
            if has_records:
                yield parse_json_line(line, fields)
            else:
                yield _split_tags(line) if fields.has_tags else line
    except DECOMPRESSION_ERRORS as error:
        raise damaged_data(path, number + 1, error) from error


def damaged_data(path: str, number: int, error: BaseException) -> ValueError:
    """The error of a compressed file that cannot be read from line `number` on."""
    return ValueError(f"{source_name(path)}:{number}: the compressed data is damaged: {error}")


def _split_tags(line: Line) -> Line:
    """Splits a line of `word/TAG` at white space and last slashes; a word without a tag gets the model's tag."""
    texts = WORD.findall(line.text)
    pairs = [(word, tag) if word and tag else (text, None) for text in texts for word, _, tag in [text.rpartition("/")]]
    words = [word for word, _ in pairs]
    return line._replace(text=" ".join(words), words=words, tags=[tag for _, tag in pairs])


def _decode_line(raw: bytes, stream: Any, number: int, limit: int) -> Line:
    size, problem, text = len(raw), "", ""
    content = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(content) > limit:
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(1 << 20)
            size += len(raw)
        return Line("", f"a line of {size:,} bytes; the limit is {limit:,}, and --max-line-bytes raises it", size)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        problem = (
            f"byte {error.start + 1} of the line, 0x{content[error.start]:02x}, is not UTF-8 ({error.reason}); "
            "convert the file to UTF-8 first"
        )
    if 0 in content and _is_utf16(content):
        text, problem = "", "every second byte is zero, as in UTF-16; convert the file to UTF-8 first"
    return Line(text.removeprefix("\ufeff") if number == 1 else text, problem, size)


def _is_utf16(content: bytes) -> bool:
    """Whether a line is UTF-16 without a byte order mark: in Latin letters, every second byte is zero."""
    zeros = sorted(half.count(0) / max(len(half), 1) for half in (content[::2], content[1::2]))
    return len(content) >= _MIN_UTF16 and zeros[0] < 0.1 and zeros[1] > 0.9


class LineBatch(NamedTuple):
    """Lines that are parsed together."""

    lines: list[Line]
    first: int  # number of the first line, from 1
    ends_block: bool  # whether a block of the output ends here

    @property
    def size(self) -> int:
        """The number of bytes of the lines."""
        return sum(line.size for line in self.lines)

    def conditions(self, sentences: "Sequence[Sequence[Words]]") -> dict[str, Any]:
        """The tags and the constraints of the sentences of each line, as far as lines have them."""
        lines = [line for line, in_line in zip(self.lines, sentences, strict=True) for _ in in_line]
        columns: dict[str, list[Any]] = {"tags": [line.tags for line in lines]}
        columns["constraints"] = [line.constraints for line in lines]
        return {name: column for name, column in columns.items() if any(column)}


def line_batches(
    lines: Iterator[Line], *, first: int, block_lines: int, max_lines: int, lines_in_block: int = 0
) -> Iterator[LineBatch]:
    """Cuts lines into batches of at most `max_lines` lines; a batch ends with each block of `block_lines` lines.

    The batches of a block depend only on the lines of the block, and so do the rounding errors of its scores. The first
    block has `lines_in_block` lines already.
    """
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += line.size
        lines_in_block += 1
        if lines_in_block == block_lines or size >= BATCH_BYTES or len(batch) == max_lines:
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


def words_of(sentence: "Words") -> list[str]:
    """The words of a sentence of words or tokens."""
    return [token if isinstance(token, str) else token.tree_word for token in sentence]


def split_words(text: str) -> "list[Words]":
    """Splits a line into the words of one sentence, at spaces, tabs and other ASCII white space."""
    text = text.strip(" ")
    if "  " in text or "\t" in text or "\r" in text or "\f" in text or "\v" in text:
        words = WORD.findall(text)
    else:
        words = text.split(" ") if text else []
    return [words] if words else []


def word_offsets(words: "Words", line: Line) -> list[tuple[int, int]]:
    """The start and the end of each word in its line, in characters."""
    if isinstance(words[0], tuple):
        return [(token.start, token.end) for token in cast("Sequence[Token]", words)]
    if not line.words:
        return [match.span() for match in WORD.finditer(line.text)]
    ends = list(accumulate(len(word) + 1 for word in line.words))
    return [(end - 1 - len(word), end - 1) for word, end in zip(line.words, ends, strict=True)]
