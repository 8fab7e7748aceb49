"""Tests of the Ray engine on a small cluster, with workers and drivers that are killed."""

import gzip
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.corpus import ray_engine
from treecrf.corpus.manifest import FILE_NAME
from treecrf.corpus.options import ClusterOptions
from treecrf.corpus.ray_driver import PARTIAL_FOLDER
from treecrf.corpus.shards import SHARD_STEP
from treecrf.threads import num_threads, set_num_threads

TREES = toy_trees(60, seed=3, max_words=8)
TIMEOUT = 240.0  # seconds, for a busy machine
LINES = 3 * SHARD_STEP + 100
# the cluster accepts only clients with its token
ENVIRONMENT = {
    **os.environ,
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}
HEAD = """
import ray, sys
ray.init(address="local", num_cpus=2, object_store_memory=1 << 27, include_dashboard=False, logging_level="error")
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a cluster with two cores, which ends with this process."""
    with subprocess.Popen(
        [sys.executable, "-c", HEAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as head:
        assert head.stdout is not None
        yield head.stdout.readline().strip()
        head.communicate("", timeout=TIMEOUT)


def corpus() -> list[bytes]:
    source = random.Random(1)
    return [" ".join(source.choice(TREES).words).encode() for _ in range(LINES)]


@pytest.fixture
def parse(model: Path, address: str, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    def start(path: Path, *options: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "treecrf", "parse", "--tokens", str(path), "--model", str(model)]
        command += ["--engine", "ray", "--address", address, "--workers", "2", "--shard-lines", str(SHARD_STEP)]
        command += ["-o", str(tmp_path / "out"), *options]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)

    return start


def parse_in_one_process(path: Path, model: Path, target: Path, *options: str) -> bytes:
    """The output of `treecrf parse` without Ray."""
    threads = num_threads()
    set_num_threads(1)
    try:
        with pytest.raises(SystemExit) as ended:
            main(
                ["parse", "--tokens", str(path), "--model", str(model), "--device", "cpu", "-o", str(target), *options]
            )
    finally:
        set_num_threads(threads)
    assert not ended.value.code
    return target.read_bytes()


def join_outputs(out: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(out.glob("*.mrg*")))


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None and time.monotonic() < end, process.communicate()[1]
        time.sleep(0.02)


def test_no_line_is_lost_after_a_killed_worker_and_a_bad_line(
    model: Path, tmp_path: Path, parse: Callable[..., "subprocess.Popen[str]"]
) -> None:
    lines = corpus()
    lines[-1] = b"\xff"
    path, out = tmp_path / "in.txt.gz", tmp_path / "out"
    path.write_bytes(gzip.compress(b"\n".join(lines)))
    run = parse(path)
    wait_until(lambda: list(out.glob(f"{PARTIAL_FOLDER}/*/.*.part")), run)
    os.kill(int(next(out.glob(f"{PARTIAL_FOLDER}/*")).name.split("-")[-2]), signal.SIGKILL)
    messages = run.communicate(timeout=TIMEOUT)[1]
    assert run.returncode == 1, messages
    assert f"4 shards: 3 done ({3 * SHARD_STEP:,} lines), 1 of them retried, 1 failed" in messages
    assert f"in.txt.gz:{LINES}: byte 1 of the line, 0xff, is not UTF-8" in messages and "the worker died" in messages
    states = [shard["progress"]["state"] for shard in json.loads((out / FILE_NAME).read_text())["shards"]]
    assert states == ["done"] * 3 + ["failed"]

    run = parse(path, "--resume", "--skip-bad")
    messages = run.communicate(timeout=TIMEOUT)[1]
    assert run.returncode == 0 and "1 of 4 shards to do" in messages and "1 bad lines left empty" in messages, messages
    assert join_outputs(out) == parse_in_one_process(path, model, tmp_path / "whole.mrg.gz", "--skip-bad")
    assert sorted(each.name for each in out.iterdir()) == [
        *(f"in-00000{number}.mrg.gz" for number in range(4)),
        FILE_NAME,
    ]


def test_a_run_with_a_killed_driver_can_be_resumed(
    model: Path, tmp_path: Path, parse: Callable[..., "subprocess.Popen[str]"]
) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out"
    path.write_bytes(b"\n".join(corpus()))
    run = parse(path)
    wait_until(lambda: list(out.glob("*.mrg")), run)
    run.kill()
    run.communicate(timeout=TIMEOUT)
    finished = {each: each.stat().st_mtime_ns for each in out.glob("*.mrg")}
    assert 0 < len(finished) < 4

    run = parse(path, "--resume")
    assert run.communicate(timeout=TIMEOUT)[1] and run.returncode == 0
    assert join_outputs(out) == parse_in_one_process(path, model, tmp_path / "whole.mrg")
    assert all(each.stat().st_mtime_ns == time for each, time in finished.items())

    # a folder has the name of an output: every attempt fails
    (out / "in-000001.mrg").unlink()
    (out / "in-000001.mrg").mkdir()
    run = parse(path, "--resume", "--retries", "1")
    messages = run.communicate(timeout=TIMEOUT)[1]
    assert run.returncode == 1 and "failed after 2 attempts: in-000001.mrg" in messages
    assert "IsADirectoryError" in messages


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-", "-o", "out"], "reads files and writes to a folder"),
        (["in.txt"], "reads files and writes to a folder"),
        (["in.txt", "-o", "in.txt"], "in.txt is a file"),
        (["in.txt", "-o", "out", "--shard-lines", "1000"], "--shard-lines is 1,000; expected a multiple of 8,192"),
        (["in.txt", "-o", "out", "--device", "cuda:1"], "expected cpu or cuda, because Ray assigns"),
        (["in.txt", "-o", "out", "--workers", "0"], "--workers is 0; expected 1 or more"),
        (["in.txt", "-o", "out", "--gpus-per-worker", "0"], "--gpus-per-worker is 0.0; expected more than 0"),
        (["in.txt", "-o", "out", "--model", "klingon"], "there is no model 'klingon'"),
    ],
)
def test_invalid_arguments_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("the cat\n")
    with pytest.raises(SystemExit) as ended:
        main(["parse", "--engine", "ray", *options])
    assert message in str(ended.value.code)


def test_a_run_is_not_overwritten(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the cat\n")
    (tmp_path / FILE_NAME).write_text("{}")
    with pytest.raises(SystemExit) as ended:
        main(["parse", "--engine", "ray", str(tmp_path / "in.txt"), "-o", str(tmp_path), "--model", str(model)])
    assert "already has a run; continue it with --resume" in str(ended.value.code)


@pytest.mark.parametrize(
    ("device", "resources", "need"),
    [
        ([], {"CPU": 3.0}, "4 cores"),
        (["--device", "cpu"], {"CPU": 3.0, "GPU": 1.0}, "4 cores"),
        (["--device", "cuda"], {"CPU": 8.0}, "4 cores and a GPU"),
        (["--device", "cuda"], {"CPU": 3.0, "GPU": 1.0}, "4 cores and a GPU"),
        (["--device", "cuda", "--cpus-per-worker", "1"], {"GPU": 1.0}, "1 cores and a GPU"),
    ],
)
def test_a_cluster_without_room_for_a_worker_is_an_error(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: list[str],
    resources: dict[str, float],
    need: str,
) -> None:
    nodes = [{"Alive": True, "Resources": resources}, {"Alive": False, "Resources": {"CPU": 8.0, "GPU": 1.0}}]
    for name, value in (("init", None), ("shutdown", None), ("nodes", nodes)):
        monkeypatch.setattr(f"ray.{name}", lambda value=value, **_: value)
    (tmp_path / "in.txt").write_text("the cat\n")
    options = ["--model", str(model), "--cpus-per-worker", "4", *device]
    with pytest.raises(SystemExit) as ended:
        main(["parse", "--engine", "ray", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out"), *options])
    assert f"no machine of the cluster has {need} for a worker" in str(ended.value.code)


@pytest.mark.parametrize(("address", "starts"), [("local", 2), ("auto", 1)])
def test_a_local_cluster_that_does_not_start_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, address: str, starts: int
) -> None:
    calls: list[object] = []

    def start(**settings: object) -> None:
        calls.append(settings["address"])
        raise RuntimeError("no processes")

    monkeypatch.setattr("ray.init", start)
    monkeypatch.setattr("ray.shutdown", lambda: None)
    with pytest.raises(OSError, match=r"^Ray cannot start: .*no processes.*; run the command again"):
        ray_engine._start_ray({"address": address})
    assert calls == [address] * starts


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, 4), ({"cpu_workers": 4}, 4), ({"workers": 2, "cpu_workers": 1, "cpus_per_worker": 3}, 9)],
)
def test_a_cluster_of_this_machine_has_processors_for_all_workers(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, int], expected: int
) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)
    monkeypatch.setattr(ray_engine, "_start_ray", started.append)
    monkeypatch.setattr("ray.shutdown", lambda: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with ray_engine._connect(ClusterOptions(**options)):  # type: ignore[arg-type]
        assert started[0]["num_cpus"] == expected


def test_processors_help_only_the_workers_with_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"Alive": True, "Resources": {"CPU": 4.0, "GPU": 1.0}}]
    monkeypatch.setattr("ray.nodes", lambda: nodes)
    cluster = ClusterOptions(cpus_per_worker=2, cpu_workers=1)
    for device, expected in (("cpu", ["cpu"] * 2), ("cuda", ["cuda", "cpu"])):
        assert ray_engine._worker_devices(cluster, device, print) == expected
