"""The log of an annotator: one JSON line per event, append-only, on the disk before the annotator sees the result."""

import errno
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from treecrf.files import DamagedFileError, parse_json, read_regular_file, refuse_link

FIELDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("yes", "no", "label", "attach"), ("require", "forbid")),
    "tag": ("tags",),
    "free": ("start", "end"),
    "tokens": ("start", "end", "words"),
    "done": ("tree", "text"),
    **dict.fromkeys(("partial", "skip", "open", "comment"), ("text",)),
    **dict.fromkeys(("undo", "redo"), ()),
}  # by action
MAX_LOG_BYTES = 1 << 30
Item = tuple[int, int] | tuple[int, int, str | None]
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("require", "forbid", "words"), (list, tuple)),
    **dict.fromkeys(("start", "end"), (int, type(None))),
    **dict.fromkeys(("tree", "text", "time"), (str,)),
    "tags": (dict, type(None)),
}


@dataclass(frozen=True, kw_only=True)
class Event:
    """One action on a sentence; `version` is the number of earlier events on the sentence.

    `yes`, `no`, `label` and `attach` have brackets that the tree must and must not have. `free` takes back what is
    fixed about `words[start:end]`, `tokens` replaces them. `done` has the finished tree.
    """

    sentence: int
    version: int
    action: str
    time: str = ""
    require: Sequence[Item] = ()
    forbid: Sequence[Item] = ()
    tags: Mapping[str, str] | None = None  # by position
    start: int | None = None
    end: int | None = None
    words: Sequence[str] = ()
    tree: str = ""
    text: str = ""  # a comment, or a note for a skipped sentence

    def __post_init__(self) -> None:
        if not isinstance(self.action, str) or self.action not in FIELDS:
            raise ValueError(f"the action is {self.action!r:.40}; expected one of {', '.join(FIELDS)}")
        for name in ("sentence", "version"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)!r:.40}; expected a number from 0 on")
        for name, types in _TYPES.items():
            if not isinstance(getattr(self, name), types):
                raise ValueError(f"{name} is {getattr(self, name)!r:.40}; expected another type")
            if getattr(self, name) not in (None, (), [], {}, "") and name not in (*FIELDS[self.action], "time"):
                raise ValueError(f"{self.action!r} has {name}; expected {' and '.join(FIELDS[self.action]) or 'none'}")

    def line(self) -> bytes:
        values = {name: value for name, value in asdict(self).items() if value or name in ("sentence", "version")}
        if self.start is not None:
            values["start"] = self.start
        return json.dumps(values, ensure_ascii=False).encode() + b"\n"


_FIELDS = {field.name for field in fields(Event)}


def read_event(value: Any) -> Event:
    """An event of parsed JSON."""
    if not isinstance(value, dict) or not {"sentence", "version", "action"} <= value.keys() <= _FIELDS:
        raise ValueError(f"{json.dumps(value)!s:.80} is not an event; expected an object with sentence and action")
    return Event(**value)


class EventLog:
    """A log that is open for writing.

    A write that was interrupted leaves a last line without its end. Such a line is removed unless it is an event, and
    `recovered` has a message. The annotator has not seen the result of the action.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recovered = ""
        refuse_link(path)
        self.events = self._read()
        self._stream = path.open("ab", buffering=0)

    def append(self, event: Event) -> None:
        """Writes an event to the disk; after an error, the log is as before."""
        line, descriptor = event.line(), self._stream.fileno()
        size = os.fstat(descriptor).st_size
        try:
            if size + len(line) > MAX_LOG_BYTES:
                raise OSError(errno.EFBIG, f"a log has at most {MAX_LOG_BYTES:,} bytes")
            if self._stream.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, size)
            reason = f"{error.strerror or error}; the last action is not saved"
            raise OSError(error.errno, reason, str(self.path)) from error
        self.events.append(event)

    def close(self) -> None:
        self._stream.close()

    def _read(self) -> list[Event]:
        if not self.path.exists():
            return []
        content = read_regular_file(self.path, MAX_LOG_BYTES)
        complete, _, rest = content.rpartition(b"\n")
        events = [self._read_line(line, number) for number, line in enumerate(complete.split(b"\n"), 1) if line.strip()]
        return [*events, *self._recover(rest, len(content) - len(rest))] if rest else events

    def _recover(self, rest: bytes, size: int) -> list[Event]:
        """Completes or removes the last line, which begins at byte `size`."""
        try:
            event = self._read_line(rest, 0)
        except DamagedFileError:
            os.truncate(self.path, size)
        else:
            with self.path.open("ab") as stream:
                stream.write(b"\n")
            return [event]
        text = rest.decode(errors="replace")
        self.recovered = (
            f"the last line of {self.path} was incomplete and was removed (its action was not saved): {text:.200}"
        )
        return []

    def _read_line(self, line: bytes, number: int) -> Event:
        try:
            return read_event(parse_json(line, self.path))
        except (ValueError, TypeError) as error:
            raise DamagedFileError(f"{self.path}, line {number}: {error}; repair or remove the line") from None
