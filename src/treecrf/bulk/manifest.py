"""What a run over shards has done and has left to do, in a file that a later run goes on from.

Whether a shard is done its output tells, which appears whole or not at all; the manifest tells how that came about.
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from treecrf.atomic_io import write_file
from treecrf.bulk.shards import Shard

NAME = "manifest.json"
_FORMAT = 1
_LIMITS = ("skip_bad", "max_line_bytes", "max_words")
_PAUSE = 2.0  # seconds between two writings, and more where that takes long


@dataclass
class Progress:
    """How far a shard has come."""

    state: Literal["waiting", "done", "failed"] = "waiting"
    attempts: int = 0
    problems: list[str] = field(default_factory=list)  # one for each attempt that failed
    skipped: int = 0  # lines that could not be parsed
    device: str = ""
    seconds: float = 0.0


class Manifest:
    """The shards of a run by their outputs, and how far each has come."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        shards: Iterable[Shard],
        *,
        inputs: Mapping[str, list[int]],
        run: str | None = None,
        progress: Mapping[str, Progress] | None = None,
    ) -> None:
        self.folder = folder
        self.settings = dict(settings)
        self.shards = {shard.output: shard for shard in shards}
        self.inputs = dict(inputs)
        self.run = run or uuid4().hex
        self.progress = {output: (progress or {}).get(output) or Progress() for output in self.shards}
        self._due = 0.0

    @staticmethod
    def read(folder: Path, settings: Mapping[str, Any], inputs: Iterable[str]) -> "Manifest":
        """The manifest of a run that was begun with the same settings and inputs."""
        path = folder / NAME
        try:
            found = json.loads(path.read_bytes())
            shards = [Shard(**{name: each[name] for name in Shard._fields}) for each in found["shards"]]
            progress = {each["output"]: Progress(**each["progress"]) for each in found["shards"]}
            version, begun, old = found["format"], found["settings"], found["inputs"]
            run = str(found["run"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is no manifest of a run ({error!r}); start anew in another folder") from None
        if version != _FORMAT:
            raise ValueError(f"{path} has format {version!r}; this version of treecrf reads format {_FORMAT}")
        _compare(folder, begun, settings, old, stamps(inputs))
        return Manifest(folder, begun | dict(settings), shards, inputs=old, run=run, progress=progress)

    def waiting(self) -> list[Shard]:
        """The shards that have no output yet, to be tried as if for the first time."""
        left = []
        for output, shard in self.shards.items():
            if (self.folder / output).is_file():
                self.progress[output].state = "done"
            else:
                self.progress[output] = Progress()
                left.append(shard)
        return left

    def save(self, *, now: bool = False) -> None:
        """Write the manifest, unless that was done a moment ago."""
        started = time.monotonic()
        if not now and started < self._due:
            return
        shards = [
            shard._asdict() | {"progress": asdict(self.progress[output])} for output, shard in self.shards.items()
        ]
        head = {"format": _FORMAT, "run": self.run, "settings": self.settings, "inputs": self.inputs}
        lines = ",\n".join(json.dumps(shard) for shard in shards)
        text = json.dumps(head, indent=1).removesuffix("\n}") + f',\n "shards": [\n{lines}\n]}}\n'
        write_file(self.folder / NAME, text.encode())
        self._due = time.monotonic() + max(_PAUSE, 20 * (time.monotonic() - started))

    def report(self) -> list[str]:
        """What became of the shards: first in all, then each that made trouble."""
        progress = self.progress.values()
        done, failed, left = (sum(each.state == state for each in progress) for state in ("done", "failed", "waiting"))
        retried = sum(each.state == "done" and each.attempts > 1 for each in progress)
        skipped = sum(each.skipped for each in progress)
        lines = sum(shard.lines for output, shard in self.shards.items() if self.progress[output].state == "done")
        told = [
            f"{len(progress):,} shards: {done:,} done ({lines:,} lines), {retried:,} of them retried, {failed:,} failed"
            + (f", {left:,} not tried" if left else "")
            + (f"; {skipped:,} bad lines left empty" if skipped else "")
        ]
        for output, each in self.progress.items():
            if each.state == "done" and each.problems:
                told.append(f"retried: {output}: {'; '.join(each.problems)}")
        for output, each in self.progress.items():
            if each.state == "failed":
                told.append(
                    f"failed after {each.attempts} attempts: {output} ({self.shards[output].name}): {each.problems[-1]}"
                )
        return told


def stamps(inputs: Iterable[str]) -> dict[str, list[int]]:
    """The size of each input and when it was changed last."""
    found = {path: Path(path).stat() for path in inputs}
    return {path: [stat.st_size, stat.st_mtime_ns] for path, stat in found.items()}


def _compare(
    folder: Path,
    begun: Mapping[str, Any],
    settings: Mapping[str, Any],
    old: Mapping[str, list[int]],
    new: Mapping[str, list[int]],
) -> None:
    free = () if begun.get("skip_bad") else _LIMITS  # what is done so far has no line beyond them
    changed = [
        f"{name} was {begun.get(name)!r}, not {settings[name]!r}"
        for name in settings
        if begun.get(name) != settings[name] and name not in free
    ]
    changed += [f"{path} was not there" for path in new if path not in old]
    changed += [f"{path} was there too" for path in old if path not in new]
    changed += [f"{path} has changed since" for path in new if path in old and old[path] != new[path]]
    if changed:
        more = f", and {len(changed) - 5:,} more" if len(changed) > 5 else ""
        raise ValueError(
            f"the run in {folder} was begun otherwise: {', '.join(changed[:5])}{more}; "
            "say the same, or start anew in another folder"
        )
