"""The manifest of a run over shards: its settings, its inputs, and the progress of each shard.

A shard is done when its output file exists. The manifest records how often it was tried, and what went wrong.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from treecrf.corpus.output_record import InputStamp, setting_changes
from treecrf.corpus.shards import Shard
from treecrf.files import write_file

FILE_NAME = "manifest.json"
_FORMAT = 2  # 2: checksums of the inputs
_SAVE_SECONDS = 2.0  # at least, between two saves
_SHOWN_CHANGES = 5


@dataclass
class ShardProgress:
    state: Literal["waiting", "done", "failed"] = "waiting"
    attempts: int = 0
    problems: list[str] = field(default_factory=list)  # one for each failed attempt
    skipped: int = 0  # lines that could not be parsed
    device: str = ""
    seconds: float = 0.0


@dataclass
class Manifest:
    """The shards of a run and their progress, both by output file."""

    folder: Path
    settings: dict[str, Any]
    shards: dict[str, Shard]
    inputs: Mapping[str, InputStamp]
    run: str = field(default_factory=lambda: uuid4().hex)
    progress: dict[str, ShardProgress] = field(default_factory=dict)
    _next_save: float = 0.0

    def __post_init__(self) -> None:
        for output in self.shards:
            self.progress.setdefault(output, ShardProgress())

    @staticmethod
    def read(folder: Path, settings: Mapping[str, Any], inputs: Mapping[str, InputStamp]) -> "Manifest":
        """Reads the manifest of a run that was started with the same settings and inputs."""
        path = folder / FILE_NAME
        try:
            content = json.loads(path.read_bytes())
            shards = {entry["output"]: Shard(*(entry[name] for name in Shard._fields)) for entry in content["shards"]}
            progress = {entry["output"]: ShardProgress(**entry["progress"]) for entry in content["shards"]}
            version, old_settings, run = content["format"], content["settings"], str(content["run"])
            if version != _FORMAT:
                raise ValueError(f"format {version!r}, expected {_FORMAT}")
            old_inputs = {name: InputStamp(*stamp) for name, stamp in content["inputs"].items()}
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the manifest of a run ({error!r}); choose another folder") from None
        changes = [*setting_changes(old_settings, settings), *_input_changes(old_inputs, inputs)]
        if changes:
            more = len(changes) - _SHOWN_CHANGES
            raise ValueError(
                f"the run in {folder} was started with other settings or inputs: {', '.join(changes[:_SHOWN_CHANGES])}"
                f"{f', and {more:,} more' if more > 0 else ''}; use the same ones, or choose another folder"
            )
        return Manifest(folder, old_settings | dict(settings), shards, inputs, run, progress)

    def unfinished_shards(self) -> list[Shard]:
        """The shards without an output file; their attempts are reset."""
        unfinished = []
        for output, shard in self.shards.items():
            if (self.folder / output).is_file():
                self.progress[output].state = "done"
            else:
                self.progress[output] = ShardProgress()
                unfinished.append(shard)
        return unfinished

    def save(self, *, now: bool = False) -> None:
        """Writes the manifest; without `now`, not more often than every few seconds."""
        started = time.monotonic()
        if not now and started < self._next_save:
            return
        head = {"format": _FORMAT, "run": self.run, "settings": self.settings, "inputs": self.inputs}
        lines = ",\n".join(
            json.dumps(shard._asdict() | {"progress": asdict(self.progress[output])})
            for output, shard in self.shards.items()
        )
        text = json.dumps(head, indent=1).removesuffix("\n}") + f',\n "shards": [\n{lines}\n]}}\n'
        write_file(self.folder / FILE_NAME, text.encode())
        # a large manifest takes long to write, and is written less often
        self._next_save = time.monotonic() + max(_SAVE_SECONDS, 20 * (time.monotonic() - started))

    def report(self) -> list[str]:
        """A summary line, and a line for each shard that was retried or failed."""
        retried, failed = [], []
        for output, shard in self.progress.items():
            name, problems = self.shards[output].name, shard.problems
            if shard.state == "done" and problems:
                retried.append(f"retried: {output}: {'; '.join(problems)}")
            elif shard.state == "failed":
                failed.append(f"failed after {shard.attempts} attempts: {output} ({name}): {problems[-1]}")
        return [self._summary(), *retried, *failed]

    def _summary(self) -> str:
        progress = self.progress.values()
        states = Counter(shard.state for shard in progress)
        retried = sum(shard.state == "done" and shard.attempts > 1 for shard in progress)
        skipped = sum(shard.skipped for shard in progress)
        lines = sum(shard.lines for output, shard in self.shards.items() if self.progress[output].state == "done")
        return (
            f"{len(progress):,} shards: {states['done']:,} done ({lines:,} lines), {retried:,} of them retried, "
            f"{states['failed']:,} failed"
            + (f", {states['waiting']:,} not tried" if states["waiting"] else "")
            + (f"; {skipped:,} bad lines left empty" if skipped else "")
        )


def _input_changes(old: Mapping[str, InputStamp], new: Mapping[str, InputStamp]) -> list[str]:
    changes = [f"{path} was not an input" for path in new if path not in old]
    changes += [f"{path} was an input" for path in old if path not in new]
    return changes + [f"{path} has changed" for path in new if path in old and not old[path].has_content_of(new[path])]
