from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from treecrf.corpus import ray_driver
from treecrf.corpus.manifest import FILE_NAME, Manifest, ShardProgress
from treecrf.corpus.options import ClusterOptions, ParseOptions
from treecrf.corpus.output_record import model_digest, stamp_file
from treecrf.corpus.ray_driver import PARTIAL_FOLDER, Driver, Worker, WorkerResult, summarize_error
from treecrf.corpus.shards import Shard, ShardQueue
from treecrf.corpus.terminal import ProgressBar
from treecrf.threads import num_threads, set_num_threads


def test_a_worker_reports_problems_of_its_machine_and_its_shard(model: Path, tmp_path: Path) -> None:
    out, settings = tmp_path / "out", {"model_sha256": model_digest(str(model))}
    out.mkdir()
    (out / FILE_NAME).write_text("{}")
    options = ParseOptions(model=str(model), tokens=True, skip_bad=True, max_line_bytes=1000, max_words=20)
    (tmp_path / "in.txt").write_bytes(b"the cat\n\xff\n")
    inputs = {str(tmp_path / "in.txt"): stamp_file(str(tmp_path / "in.txt"))}
    without_manifest = Worker().load(options, "cpu", tmp_path, settings, inputs, threads=1)
    assert "all machines need to see the same files" in without_manifest.problem
    other_model = Worker().load(options, "cpu", out, {"model_sha256": ""}, inputs, threads=1)
    assert "this machine has another version of the model" in other_model.problem
    threads = num_threads()
    worker = Worker()
    assert not worker.load(options, "cpu", out, settings, inputs, threads=1).problem
    set_num_threads(threads)
    result = worker.parse(Shard(str(tmp_path / "in.txt"), 0, 2, 0, "very/deep/in-000000.mrg"))
    assert not result.problem and len(result.warnings) == 1
    assert not worker.parse(Shard(str(tmp_path / "in.txt"), 0, 1, 0, "very/deep/in-000001.mrg")).problem
    assert (out / "very/deep/in-000000.mrg").read_text().count("\n") == 2 and not list((out / PARTIAL_FOLDER).iterdir())
    lost = worker.parse(Shard(str(tmp_path / "in.txt"), 0, 3, 0, "in-000001.mrg"))
    assert lost.is_final and "has lost lines" in lost.problem
    (tmp_path / "in.txt").write_bytes(b"we sang\n\xff\n")
    changed = worker.parse(Shard(str(tmp_path / "in.txt"), 0, 2, 0, "in-000001.mrg"))
    assert changed.is_final and "has changed while it was parsed" in changed.problem
    absent = worker.parse(Shard(str(tmp_path / "absent.txt"), 0, 3, 0, "in-000001.mrg"))
    assert not absent.is_final and "FileNotFoundError" in absent.problem and not (out / "in-000001.mrg").exists()


@pytest.mark.parametrize("output_format", ["csv", "parquet"])
def test_shards_of_tables_count_the_lines_of_their_input(model: Path, tmp_path: Path, output_format: str) -> None:
    source, settings = tmp_path / "in.txt", {"model_sha256": model_digest(str(model))}
    source.write_text("the cat\nwe sang\n")
    (tmp_path / FILE_NAME).write_text("{}")
    options = ParseOptions(model=str(model), tokens=True, format=output_format, rows="sentences")
    worker, threads = Worker(), num_threads()
    assert not worker.load(
        options, "cpu", tmp_path, settings, {str(source): stamp_file(str(source))}, threads=1
    ).problem
    set_num_threads(threads)
    assert not worker.parse(Shard(str(source), 1, 1, 8, f"in-000001.{output_format}")).problem
    rows = getattr(pandas, f"read_{output_format}")(tmp_path / f"in-000001.{output_format}")
    assert (rows.line.to_list(), rows.text.to_list()) == ([2], ["we sang"])


def test_an_error_of_ray_is_one_line_with_its_process() -> None:
    error = RuntimeError("The actor died.\n  class_name: Worker\n  pid: 17\n  ip: 10.0.0.2\n")
    assert summarize_error(error) == "The actor died. (pid: 17, ip: 10.0.0.2)"
    assert summarize_error(RuntimeError("no address")) == "no address"


class FakeRay:
    """Ray in this process: a call is done at once, and its reference has the result."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self, load: Callable[[], Any], parse: Callable[[Shard], Any]) -> None:
        self.results: dict[int, Any] = {}
        self.killed = 0
        self.worker_options: list[dict[str, Any]] = []
        self.worker = SimpleNamespace(
            load=self._method(lambda *_, **__: load()), parse=self._method(parse), progress=self._method(lambda: 1)
        )

    def _method(self, call: Callable[..., Any]) -> Any:
        def remote(*arguments: Any, **options: Any) -> int:
            self.results[len(self.results)] = call(*arguments, **options)
            return len(self.results) - 1

        return SimpleNamespace(remote=remote)

    def remote(self, _: type) -> Any:
        def options(**values: Any) -> Any:
            self.worker_options.append(values)
            return SimpleNamespace(remote=lambda: self.worker)

        return SimpleNamespace(options=options)

    def wait(self, references: list[int], *, num_returns: int = 1, timeout: float) -> tuple[list[int], list[int]]:
        return references[:num_returns], references[num_returns:]

    def get(self, reference: int) -> Any:
        if isinstance(self.results[reference], Exception):
            raise self.results[reference]
        return self.results[reference]

    def kill(self, _: Any) -> None:
        self.killed += 1


def drive(monkeypatch: pytest.MonkeyPatch, folder: Path, fake: FakeRay, retries: int = 1) -> tuple[Driver, list[str]]:
    monkeypatch.setattr(ray_driver, "ray", fake)
    shards = {f"in-{number}": Shard("in", 10 * number, number + 1, 0, f"in-{number}") for number in range(4)}
    reports: list[str] = []
    driver = Driver(
        Manifest(folder, {}, shards, {}),
        ShardQueue(shards.values()),
        ParseOptions(),
        ClusterOptions(retries=retries, cpus_per_worker=2),
        ["cpu"],
        reports.append,
        ProgressBar(10, unit="lines", is_shown=False),
    )
    driver.run()
    return driver, reports


def test_shards_are_retried_until_they_are_done_or_have_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    starts = iter([WorkerResult("no memory"), RuntimeError("no machine"), *[WorkerResult()] * 9])
    results = {
        "in-0": iter([WorkerResult(warnings=["line 1"], seconds=2.5)]),
        "in-1": iter([WorkerResult("slow disk"), WorkerResult()]),
        "in-2": iter([RuntimeError("killed")] * 2),
        "in-3": iter([WorkerResult("bad model", is_final=True)]),
    }
    fake = FakeRay(lambda: next(starts), lambda shard: next(results[shard.output]))
    driver, reports = drive(monkeypatch, tmp_path, fake)
    progress = driver.manifest.progress
    assert progress["in-0"] == ShardProgress("done", 1, [], 1, "cpu", 2.5)
    assert progress["in-1"] == ShardProgress("done", 2, ["slow disk"], 0, "cpu")
    died = "the worker died: killed"
    assert progress["in-2"] == ShardProgress("failed", 2, [died, died])
    assert progress["in-3"] == ShardProgress("failed", 1, ["bad model"])
    assert sorted(reports) == [
        f"failed: in-2: {died}",
        "failed: in-3: bad model",
        "line 1",
        "to be retried: in-1: slow disk",
        f"to be retried: in-2: {died}",
    ]
    assert (driver.shards_done, driver.lines_done, driver.failed_starts, driver.shard_lines_done) == (2, 3, 0, {})
    assert fake.killed == 5 and len(fake.worker_options) == 6  # a worker that failed is replaced
    assert fake.worker_options[0] == {"num_cpus": 2, "num_gpus": 0, "max_restarts": 0, "max_concurrency": 2}


def test_workers_that_cannot_start_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeRay(lambda: WorkerResult("no memory"), lambda _: WorkerResult())
    with pytest.raises(OSError, match="no worker can start; the last one failed with: no memory"):
        drive(monkeypatch, tmp_path, fake)
    assert len(fake.worker_options) == 3  # two starts more than workers


def test_a_worker_is_asked_for_its_lines_once_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeRay(WorkerResult, lambda _: WorkerResult())
    driver, _ = drive(monkeypatch, tmp_path, fake)
    shard, calls, lines = Shard("in", 0, 5, 0, "in-9"), len(fake.results), driver.lines_done
    driver.assignments = {0: ray_driver._Assignment(fake.worker, "cpu", "in", shard)}
    driver.shard_lines_done = {"in-9": 0}
    with monkeypatch.context() as slow:
        slow.setattr(fake, "wait", lambda references, **_: ([], references))
        driver._update_progress()
        driver._update_progress()
    assert len(fake.results) == calls + 1 and driver.shard_lines_done == {"in-9": 0}
    driver._update_progress()
    assert driver.shard_lines_done == {"in-9": 1} and driver.progress.text().startswith(f"{lines + 1} lines")
