"""Output of the sentences of one input line, in each format of `treecrf parse` except brackets.

Dependencies and tables are imported when they are written, so that other formats start sooner.
"""

from collections.abc import Sequence

from treecrf.corpus.inputs import Line
from treecrf.corpus.options import TABLES, ParseOptions
from treecrf.parser.formats import Formatter
from treecrf.trees.analysis import ParsedSentence


class LineFormatter:
    def __init__(self, options: ParseOptions, language: str) -> None:
        has_predicates = options.format in TABLES and options.rows == "predicates"
        if (options.format == "conllu" or has_predicates) and language != "en":
            raise ValueError(
                f"--{'rows predicates' if has_predicates else 'format conllu'} has rules for English trees, and the "
                f"language of the model is {language!r}; choose an English model or another format"
            )
        self._format = options.format
        self._rows = options.rows
        self._language = language
        self._formatter = Formatter(
            format="pretty" if options.format == "pretty" else "json",
            exact=options.exact,
            probs=options.probs,
            kbest=options.kbest,
            functions=options.functions,
            empties=options.empties,
            is_text=not options.tokens,
        )

    @property
    def header(self) -> str:
        """The first line of an output: the names of a table's columns; other formats have no header."""
        if self._format not in TABLES:
            return ""
        from treecrf.trees.tables import COLUMNS, csv_text

        return csv_text([COLUMNS[self._rows]])

    def line(self, sentences: Sequence[ParsedSentence], document: str, number: int, line: Line) -> str:
        """The output of the line with this number from 1, without a line end; empty if there is no output."""
        if self._format in TABLES:
            return self._table_rows(sentences, document, number, line)
        if self._format == "conllu":
            texts = (
                _conllu(sentence, line, f"{document}-{number}-{sentence_number}")
                for sentence_number, sentence in enumerate(sentences, 1)
            )
            return "".join(texts).removesuffix("\n")
        output = self._formatter.line(sentences)
        if self._format != "json" or not line.id_json:
            return output
        return f"{{{line.id_json}, {output[1:]}" if output != "null" else f'{{{line.id_json}, "tree": null}}'

    def _table_rows(self, sentences: Sequence[ParsedSentence], document: str, number: int, line: Line) -> str:
        from treecrf.trees.search.heads import HEAD_RULES
        from treecrf.trees.tables import Position, csv_text, table_rows

        rules = HEAD_RULES.get(self._language)
        return csv_text(
            row
            for sentence_number, sentence in enumerate(sentences, 1)
            for row in table_rows(
                sentence,
                Position(document, line.id_text, number, sentence_number),
                line.text,
                kind=self._rows,
                rules=rules,
            )
        )


def _conllu(sentence: ParsedSentence, line: Line, sentence_id: str) -> str:
    from treecrf.trees.dependencies import to_dependencies

    offsets = sentence.offsets
    starts = [start for start, _ in offsets[1:]]
    spaces = [end < start for (_, end), start in zip(offsets, starts, strict=False)] + [True]
    text = line.text[offsets[0][0] : offsets[-1][1]]
    return to_dependencies(sentence.tree).conllu(text=text, sentence_id=sentence_id, spaces=spaces)
