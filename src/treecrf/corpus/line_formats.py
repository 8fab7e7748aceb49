"""Output of the sentences of one input line, in each format of `treecrf parse` except brackets.

Dependencies and tables are imported when they are written, so that other formats start sooner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from treecrf.corpus.records import Line
from treecrf.parser.formats import Formatter
from treecrf.trees.analysis import OutputSentence

if TYPE_CHECKING:
    from treecrf.trees.tables import Row, RowKind

Format = Literal["brackets", "json", "pretty", "conllu", "csv", "parquet"]
TABLES = ("csv", "parquet")
# formats with exactly one output line per input line; the others have any number of lines
ONE_LINE = ("brackets", "json")


class Source(NamedTuple):
    """A line of input: the name of its document, its number from 1, and its content."""

    document: str
    number: int
    line: Line


@dataclass(frozen=True, kw_only=True)
class LineFormatter:
    """Formats the sentences of a line. `header` is the first line of an output."""

    format: Format
    formatter: Formatter  # of JSON and drawings
    rows: "RowKind"
    language: str

    def __post_init__(self) -> None:
        if self.format == "conllu" and self.language != "en":
            raise ValueError(
                f"--format conllu has rules for English trees, and the language of the model is {self.language!r}; "
                "choose an English model or another format"
            )

    @property
    def header(self) -> str:
        """The names of a table's columns; other formats have no header."""
        if self.format not in TABLES:
            return ""
        from treecrf.trees.tables import COLUMNS, csv_text

        return csv_text([COLUMNS[self.rows]])

    def line(self, sentences: Sequence[OutputSentence], source: Source) -> str:
        """The output of a line, without a line end; empty if a line without sentences has no output."""
        if self.format in TABLES:
            from treecrf.trees.tables import csv_text

            return csv_text(
                row for number, sentence in enumerate(sentences, 1) for row in self._rows(sentence, source, number)
            )
        if self.format == "conllu":
            texts = [_conllu(sentence, source, number) for number, sentence in enumerate(sentences, 1)]
            return "".join(texts).removesuffix("\n")
        return _add_id(self.formatter.line(sentences), source.line, self.format)

    def _rows(self, sentence: OutputSentence, source: Source, number: int) -> "Iterator[Row]":
        from treecrf.trees.search.heads import HEAD_RULES
        from treecrf.trees.tables import Position, table_rows

        document, line_number, line = source
        position = Position(document, line.id_text, line_number, number)
        rules = HEAD_RULES.get(self.language)
        return table_rows(sentence, position, line.text, kind=self.rows, rules=rules)


def _conllu(sentence: OutputSentence, source: Source, number: int) -> str:
    from treecrf.trees.dependencies import to_dependencies

    offsets = sentence.offsets
    starts = [start for start, _ in offsets[1:]]
    spaces = [end < start for (_, end), start in zip(offsets, starts, strict=False)] + [True]
    return to_dependencies(sentence.tree).conllu(
        text=source.line.text[offsets[0][0] : offsets[-1][1]],
        sentence_id=f"{source.document}-{source.number}-{number}",
        spaces=spaces,
    )


def _add_id(output: str, line: Line, output_format: str) -> str:
    """Adds the id of a record to its JSON object."""
    if output_format != "json" or not line.id_json:
        return output
    return f"{{{line.id_json}, {output[1:]}" if output != "null" else f'{{{line.id_json}, "tree": null}}'
