"""The folder of an annotation: sentences, the log of each annotator, and the trees that they export.

sentences.jsonl      {"sentence": 0, "words": ["The", "cat", "sleeps", "."]}
NAME.events.jsonl    every action of an annotator, see `events`; all else follows from these two files
NAME.mrg             finished trees, in the order of the sentences
NAME.partial.jsonl   sentences left partial, with their fixed brackets, as `treecrf.training.partial` reads them
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from treecrf.corpus.annotation.events import Event, EventLog
from treecrf.corpus.annotation.state import SentenceHistory
from treecrf.files import DamagedFileError, lock_folder, parse_json, read_regular_file, write_file
from treecrf.trees.tree import Tree

_SENTENCES = "sentences.jsonl"
_EVENTS = ".events.jsonl"
_NAME = re.compile(r"[\w-]{1,40}")
_MAX_BYTES = 1 << 30
_MAX_ANNOTATORS = 100  # each has an open file


class Project:
    """An annotation folder that is open for writing; no other process can open it.

    `sentences` are the words of a corpus. They are stored when the folder is new. Later they may be left out, and
    sentences at their end are added.
    """

    def __init__(
        self, folder: Path, sentences: Sequence[Sequence[str]] = (), warn: Callable[[str], object] = print
    ) -> None:
        self.folder = folder
        self._warn = warn
        self._logs: dict[str, EventLog] = {}
        self._histories: dict[str, dict[int, SentenceHistory]] = {}
        with ExitStack() as stack:
            stack.enter_context(lock_folder(folder))
            stack.callback(self._close_logs)
            self.sentences = self._store_sentences([list(words) for words in sentences])
            for path in sorted(folder.glob(f"*{_EVENTS}")):
                self._open_log(path.name.removesuffix(_EVENTS))
            self._open = stack.pop_all()

    @property
    def annotators(self) -> list[str]:
        return sorted(self._logs)

    def histories(self, annotator: str) -> dict[int, SentenceHistory]:
        """The histories of an annotator's sentences by number; a new annotator has none."""
        check_name(annotator)
        return self._histories.get(annotator, {})

    def history(self, annotator: str, sentence: int) -> SentenceHistory:
        """The history of a sentence; a sentence without events has one that is not stored."""
        if type(sentence) is not int or not 0 <= sentence < len(self.sentences):
            raise ValueError(f"sentence {sentence!r:.40} is not in the corpus; expected 0 to {len(self.sentences) - 1}")
        return self.histories(annotator).get(sentence) or SentenceHistory(self.sentences[sentence])

    def record(self, annotator: str, event: Event) -> SentenceHistory:
        """Writes an event to the log, then changes the sentence."""
        history = self.history(annotator, event.sentence)
        history.next_state(event)  # an impossible event is an error before it is written
        if annotator not in self._logs:
            if len(self._logs) >= _MAX_ANNOTATORS:
                raise ValueError(f"there are {_MAX_ANNOTATORS} annotators; expected the name of one of them")
            self._open_log(annotator)
        self._logs[annotator].append(event)
        history.record(event)
        self._histories[annotator][event.sentence] = history
        return history

    def finished(self, annotator: str) -> dict[int, Tree]:
        """The finished trees by sentence number."""
        histories = sorted(self.histories(annotator).items())
        return {number: Tree.parse(each.state.tree) for number, each in histories if each.state.status == "done"}

    def export(self, annotator: str) -> None:
        """Writes the files of finished and partial trees."""
        states = [history.state for _, history in sorted(self.histories(annotator).items())]
        trees = "".join(f"{state.tree}\n" for state in states if state.status == "done")
        partial = []
        for state in states:
            if state.status == "partial":
                tags = [(position, position + 1, tag) for position, tag in state.fixed_tags.items()]
                record = {"words": state.words, "require": [*state.require, *tags], "forbid": state.forbid}
                partial.append(json.dumps(record, ensure_ascii=False) + "\n")
        write_file(self.folder / f"{annotator}.mrg", trees.encode())
        write_file(self.folder / f"{annotator}.partial.jsonl", "".join(partial).encode())

    def close(self) -> None:
        self._open.close()

    def _close_logs(self) -> None:
        for log in self._logs.values():
            log.close()

    def _open_log(self, name: str) -> None:
        """Reads the log of an annotator, and exports its trees again in case a kill has prevented it."""
        check_name(name)
        self._logs[name] = log = EventLog(self.folder / f"{name}{_EVENTS}")
        if log.recovered:
            self._warn(log.recovered)
        self._histories[name] = self._replay(log)
        self.export(name)

    def _replay(self, log: EventLog) -> dict[int, SentenceHistory]:
        histories: dict[int, SentenceHistory] = {}
        for number, event in enumerate(log.events, 1):
            if event.sentence >= len(self.sentences):
                raise DamagedFileError(
                    f"{log.path}, event {number} is about sentence {event.sentence}, and {_SENTENCES} has "
                    f"{len(self.sentences)}; put the missing sentences back"
                )
            history = histories.setdefault(event.sentence, SentenceHistory(self.sentences[event.sentence]))
            if event.version != history.version:
                self._warn(f"{log.path}, event {number}: sentence {event.sentence} has two histories; the later counts")
            try:
                history.record(event)
            except (ValueError, TypeError) as error:
                self._warn(f"{log.path}, event {number} is left out: {error}")
        return histories

    def _store_sentences(self, corpus: list[list[str]]) -> list[list[str]]:
        path = self.folder / _SENTENCES
        stored = []
        if path.exists():
            lines = read_regular_file(path, _MAX_BYTES).splitlines()
            stored = [_read_words(line, path) for line in lines if line.strip()]
        for number, (old, new) in enumerate(zip(stored, corpus)):  # noqa: B905 - the corpus may have grown
            if old != new:
                raise ValueError(
                    f"sentence {number + 1}: {' '.join(new)!r:.50} in the corpus and {' '.join(old)!r:.50} in {path}; "
                    "give the same corpus, or choose another folder with -o"
                )
        sentences = corpus if len(corpus) > len(stored) else stored
        if not sentences:
            raise ValueError(f"there are no sentences: the corpus has none, and {self.folder} has no {_SENTENCES}")
        if sentences is not stored:
            records = ({"sentence": number, "words": words} for number, words in enumerate(sentences))
            lines_out = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
            write_file(path, lines_out.encode())
        return sentences


def _read_words(line: bytes, path: Path) -> list[str]:
    record = parse_json(line, path)
    words = record.get("words") if isinstance(record, dict) else None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
        raise DamagedFileError(f"{path}: {json.dumps(record):.80} is no sentence; expected an object with its words")
    return words


def check_name(annotator: str) -> None:
    if not _NAME.fullmatch(annotator):
        raise ValueError(f"the annotator's name is {annotator!r:.60}; expected up to 40 letters, digits, - and _")
