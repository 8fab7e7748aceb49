"""Records of outputs: the settings, the model and the input that an output was made from.

The record of an output is a hidden file beside it. A run over many inputs has the records in one hidden file of each
folder, a line of JSON for each start of an output, of which the last one counts; a file of its own counts before them.
`--resume` compares the record, and never mixes or keeps outputs of other inputs.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from treecrf.files import file_digest, refuse_link, write_file
from treecrf.parser.models import find_folder
from treecrf.parser.models.model_folder import manifest_digest

RECORDS = ".treecrf.run"
_LIMITS = ("skip_bad", "max_line_bytes", "max_words")


class InputStamp(NamedTuple):
    """The size, the modification time and the checksum of an input file."""

    size: int
    modified_ns: int
    sha256: str

    def has_content_of(self, other: "InputStamp") -> bool:
        """Whether the files of two stamps have the same bytes."""
        return (self.size, self.sha256) == (other.size, other.sha256)

    def check_unchanged(self, path: str) -> None:
        """Raises an error if the file was written after the stamp was made."""
        stat = Path(path).stat()
        if (stat.st_size, stat.st_mtime_ns) != (self.size, self.modified_ns):
            raise ValueError(f"{path} has changed while it was parsed; parse it again, without --resume")


def stamp_file(path: str) -> InputStamp:
    """Reads a file for its stamp."""
    stat = Path(path).stat()
    return InputStamp(stat.st_size, stat.st_mtime_ns, file_digest(path))


def model_digest(model: str) -> str:
    """The checksum of a model's manifest, which has the checksums of its files."""
    return manifest_digest(find_folder(model))


def setting_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Describes each setting whose change makes another output."""
    # without skip_bad, a line beyond a limit stops the run: no output so far depends on the limits
    may_change = () if old.get("skip_bad") else _LIMITS
    for name in new:
        if old.get(name) != new[name] and name not in may_change:
            yield f"{name} was {old.get(name)!r}, not {new[name]!r}"


class OutputRecord(NamedTuple):
    """The origin of an output file."""

    settings: Mapping[str, Any]
    source: str
    stamp: InputStamp | None  # None: the input is a pipe, which cannot be read again

    @staticmethod
    def path_of(output: Path) -> Path:
        """The file of an output's own record."""
        return output.with_name(f".{output.name}.run")

    @staticmethod
    def read(output: Path) -> "OutputRecord | None":
        """Reads the record of an output; None if there is none that can be read."""
        try:
            content = json.loads(_read_line(output))
            stamp = content["input"] and InputStamp(*content["input"])
            return OutputRecord(dict(content["settings"]), str(content["source"]), stamp)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, output: Path, *, is_one_of_many: bool = False) -> None:
        """Writes the record into a file of its own, or into the file of its folder if this user may write it."""
        content = {"output": output.name, "settings": self.settings, "source": self.source, "input": self.stamp}
        data, records = json.dumps(content).encode(), output.with_name(RECORDS)
        if is_one_of_many:
            refuse_link(records)
            with suppress(PermissionError):
                with records.open("ab", buffering=0) as stream:
                    stream.write(b"\n%s\n" % data)  # a crash may have cut off the line before it
                self.path_of(output).unlink(missing_ok=True)
                return
        write_file(self.path_of(output), data)

    def check(self, output: Path) -> None:
        """Raises an error if the existing or partial `output` has another origin than this one."""
        old = OutputRecord.read(output)
        if old is None or old.stamp is None or self.stamp is None:
            raise ValueError(
                f"{output} has no record of the settings and the input that it was made from, so --resume cannot "
                "continue it; start again without --resume"
            )
        changes = list(setting_changes(old.settings, self.settings))
        if changes:
            raise ValueError(
                f"{output} was started with other settings: {', '.join(changes)}; use the same settings, "
                "or start again without --resume"
            )
        if not old.stamp.has_content_of(self.stamp):
            raise ValueError(
                f"{output} was started with another version of its input: {self.source} has changed; "
                "start again without --resume"
            )


def _read_line(output: Path) -> bytes:
    with suppress(FileNotFoundError):
        return OutputRecord.path_of(output).read_bytes()
    records = output.with_name(RECORDS)
    stat = records.stat()
    return _read_records(records, stat.st_size, stat.st_mtime_ns)[output.name]


@lru_cache(maxsize=1)  # resuming reads the records of one folder after the other
def _read_records(path: Path, size: int, modified_ns: int) -> dict[str, bytes]:
    """The last record of each output in a file of this size and modification time."""
    records = {}
    for line in path.read_bytes().split(b"\n"):
        with suppress(ValueError, KeyError, TypeError):
            records[json.loads(line)["output"]] = line
    return records
