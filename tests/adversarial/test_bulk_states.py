"""A model of bulk parsing: runs, kills, changed inputs, resumed and concurrent runs in random order.

The invariant is that an output is absent, or whole and right: it has the trees of an input that was there when a run
with these settings began. `make soak` runs 500 sequences (TREECRF_SOAK=1).
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from bulk_runs import Process, parse_command, run, save_model, visible_files, write_lines

SEQUENCES, STEPS = (500, 12) if os.environ.get("TREECRF_SOAK") else (20, 10)
NAMES = st.sampled_from("abc")
VERSIONS = st.integers(0, 5)
SETTINGS = st.sampled_from(((), ("--no-mbr",)))
DELAYS = st.floats(0, 0.6)  # seconds; a run takes about half a second
REFUSALS = (
    "is being written by ",  # a process, or another one whose name is not yet in the file
    "was started with other settings",
    "was started with another version of its input",
    "has no record of the settings",
    "has changed while it was parsed",
)


@cache
def shared_folder() -> Path:
    """A folder with the model and the versions of inputs, for all sequences."""
    folder = Path(tempfile.mkdtemp())
    save_model(folder / "model")
    for version in range(6):
        write_lines(folder / f"{version}.txt", 1 + 130 * version, version)
    return folder


@cache
def right_output(version: int, options: tuple[str, ...]) -> bytes:
    """The output of an undisturbed run."""
    folder = shared_folder()
    out = folder / f"{version}{''.join(options)}.mrg"
    status, messages = run(parse_command(folder / "model", folder / f"{version}.txt", *options, "-o", out))
    assert status == 0, messages
    return out.read_bytes()


class BulkParsing(RuleBasedStateMachine):
    """Runs over one folder of inputs, with one folder of outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "in").mkdir()
        self.versions: dict[str, int] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(version=VERSIONS)
    def first_input(self, version: int) -> None:
        self.write_input("a", version)

    @rule(name=NAMES, version=VERSIONS)
    def write_input(self, name: str, version: int) -> None:
        draft = self.folder / "draft"
        shutil.copyfile(shared_folder() / f"{version}.txt", draft)
        draft.replace(self.folder / "in" / f"{name}.txt")
        self.versions[name] = version

    @precondition(lambda self: len(self.versions) > 1)
    @rule()
    def remove_an_input(self) -> None:
        name = max(self.versions)
        (self.folder / "in" / f"{name}.txt").unlink()
        del self.versions[name]

    @rule(options=SETTINGS, resume=st.booleans())
    def run_to_the_end(self, options: tuple[str, ...], resume: bool) -> None:
        before = self.outputs()
        self.check_end(before, options, self.start(options, resume).finish())

    @rule(options=SETTINGS, resume=st.booleans(), delay=DELAYS)
    def run_and_kill(self, options: tuple[str, ...], resume: bool, delay: float) -> None:
        before, process = self.outputs(), self.start(options, resume)
        process.wait(delay)
        process.kill()
        self.check_outputs(before, options)

    @rule(first=SETTINGS, second=SETTINGS, resume=st.booleans(), delay=DELAYS)
    def run_two(self, first: tuple[str, ...], second: tuple[str, ...], resume: bool, delay: float) -> None:
        before, process = self.outputs(), self.start(first, resume)
        time.sleep(delay)
        other = self.start(second, resume)
        results = [process.finish(), other.finish()]
        self.check_outputs(before, first, second)
        for status, messages in results:
            assert status == 0 or any(refusal in messages for refusal in REFUSALS), messages

    @rule(options=SETTINGS, name=NAMES, version=VERSIONS, delay=DELAYS)
    def change_an_input_during_a_run(self, options: tuple[str, ...], name: str, version: int, delay: float) -> None:
        before, old = self.outputs(), dict(self.versions)
        process = self.start(options, resume=False)
        time.sleep(delay)
        self.write_input(name, version)
        status, messages = process.finish()
        assert status == 0 or "has changed while it was parsed" in messages, messages
        self.check_outputs(before, options, versions=[old, self.versions])

    def start(self, options: tuple[str, ...], resume: bool) -> Process:
        folders = (self.folder / "in", "-o", self.folder / "out")
        return Process(parse_command(shared_folder() / "model", *folders, *options, *(["--resume"] if resume else [])))

    def outputs(self) -> dict[str, bytes]:
        return visible_files(self.folder / "out") if (self.folder / "out").exists() else {}

    def check_end(self, before: dict[str, bytes], options: tuple[str, ...], result: tuple[int, str]) -> None:
        status, messages = result
        if status:
            assert any(refusal in messages for refusal in REFUSALS), messages
            self.check_outputs(before, options)
            return
        right = {f"{name}.mrg": right_output(version, options) for name, version in self.versions.items()}
        assert {name: data for name, data in self.outputs().items() if name in right} == right

    def check_outputs(
        self, before: dict[str, bytes], *options: tuple[str, ...], versions: list[dict[str, int]] | None = None
    ) -> None:
        """Checks that each output is as it was before, or whole and right."""
        for file, data in self.outputs().items():
            name = Path(file).stem
            of_name = {inputs[name] for inputs in versions or [self.versions] if name in inputs}
            allowed = {right_output(version, choice) for version in of_name for choice in options}
            assert data == before.get(file) or data in allowed, f"{file} has {len(data)} bytes"


TestBulkParsing: Callable[[], object] = BulkParsing.TestCase
TestBulkParsing.settings = settings(  # type: ignore[attr-defined]
    max_examples=SEQUENCES,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    derandomize=not os.environ.get("TREECRF_SOAK"),
    suppress_health_check=list(HealthCheck),
)
