"""Lines of input to sentences, with checks of their length, their tags and their language."""

from collections.abc import Callable
from pathlib import Path

from treecrf.corpus.inputs import Line, LineBatch, split_words, word_offsets, words_of
from treecrf.corpus.options import ParseOptions
from treecrf.parser import Parser
from treecrf.parser.pipeline import Words
from treecrf.text import LanguageCheck, doubt
from treecrf.trees.treebank.word_table import TokenLines

_REPORT_CHARS = 200


class LineSplitter:
    """Splits lines into sentences, and checks their length and their language. `warn` gets messages about lines.

    `report` gets the place, a reason and the text of each line that is skipped and of each doubtful sentence.
    """

    report: Callable[[str, str, str], object] | None = None

    def __init__(self, options: ParseOptions, parser: Parser, warn: Callable[[str], object]) -> None:
        self._options = options
        self._word_limit = options.word_limit
        self._language, self._split_text = parser.language, parser.split_text
        self._warn = warn
        # a folder's model that only reads words need not state its language
        has_language = not options.tokens or not Path(options.model).is_dir()
        self._language_check = LanguageCheck(parser.language, max_sentences=100 if has_language else 0)

    def split(self, batch: LineBatch, name: str) -> list[list[Words]]:
        """The sentences of each line of the input `name`."""
        is_plain = self._options.tokens and self.report is None and not self._language_check.is_active
        split: list[list[Words]] = []
        for number, line in enumerate(batch.lines, batch.first):
            sentences_of_line = self._sentences(line)
            is_short = len(sentences_of_line) == 1 and len(sentences_of_line[0]) <= self._word_limit
            if not (is_plain and is_short and line.tags is None):  # a line with nothing to check needs no more time
                sentences_of_line = self._check_line(line, sentences_of_line, f"{name}:{number}")
            split.append(sentences_of_line)
        return split

    def check_language(self, sentences: TokenLines) -> None:
        """Warns about the first sentence of tokens in another language."""
        for words in sentences if self._language_check.is_active else ():
            if message := self._language_check.message(words):
                self._warn(message)
            if not self._language_check.is_active:
                return

    def _check_line(self, line: Line, line_sentences: list[Words], place: str) -> list[Words]:
        problem, limit = line.problem, self._word_limit
        longest = max(map(len, line_sentences), default=0)
        if line.tags is not None and len(line.tags) != longest:
            problem = f"{longest} words and {len(line.tags)} tags; expected a tag for each word"
        if longest > limit:
            advice = ", and --max-words raises it" if limit == self._options.max_words else " for this output"
            problem = f"a sentence of {longest:,} words; the limit is {limit:,}{advice}"
        if not problem:
            for sentence in line_sentences:
                if message := self._language_check.message(words_of(sentence)):
                    self._warn(message)
            self._report_doubts(line, line_sentences, place)
            return line_sentences
        if not self._options.skip_bad:
            raise ValueError(f"{place}: {problem}; --skip-bad leaves such lines empty")
        self._warn(f"{place}: {problem}")
        if self.report is not None:
            self.report(place, f"skipped: {problem}", line.text[:_REPORT_CHARS])
        return []

    def _sentences(self, line: Line) -> list[Words]:
        if line.problem:
            return []
        if line.words:
            return [line.words]
        return split_words(line.text) if self._options.tokens else list(self._split_text(line.text))

    def _report_doubts(self, line: Line, line_sentences: list[Words], place: str) -> None:
        for sentence in line_sentences if self.report is not None else ():
            offsets = word_offsets(sentence, line)
            text = line.text[offsets[0][0] : offsets[-1][1]] or " ".join(line.words)
            if self.report and (reason := doubt(text, words_of(sentence), self._language)):
                self.report(place, f"doubtful: {reason}", text[:_REPORT_CHARS])
