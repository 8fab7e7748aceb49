import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treecrf.corpus.manifest import FILE_NAME, Manifest, ShardProgress
from treecrf.corpus.output_record import stamp_file
from treecrf.corpus.shards import Shard


def shard(source: str, number: int) -> Shard:
    return Shard(source, number, number + 1, 0, f"{source}-{number}")


@pytest.fixture
def make_manifest(tmp_path: Path) -> Callable[..., Manifest]:
    (tmp_path / "in.txt").write_text("a\nb\n")
    source = str(tmp_path / "in.txt")

    def make(**changes: object) -> Manifest:
        settings = {"model": "en", "skip_bad": False, "max_words": 9} | changes
        shards = {each.output: each for each in (shard(source, 0), shard(source, 1))}
        return Manifest(tmp_path, settings, shards, {source: stamp_file(source)})

    return make


def test_a_manifest_is_read_back_and_shards_with_outputs_are_done(
    make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    manifest = make_manifest()
    first, second = manifest.shards
    manifest.progress[first] = ShardProgress("done", attempts=2, problems=["it died"])
    manifest.progress[second] = ShardProgress("done", attempts=1)
    manifest.save(now=True)
    (tmp_path / first).write_text("a tree")
    again = Manifest.read(tmp_path, manifest.settings, manifest.inputs)
    assert [each.output for each in again.unfinished_shards()] == [second]
    assert again.progress[first].attempts == 2 and again.progress[second] == ShardProgress()
    assert again.report()[0] == "2 shards: 1 done (1 lines), 1 of them retried, 0 failed, 1 not tried"
    assert again.run == manifest.run and json.loads((tmp_path / FILE_NAME).read_text())["format"] == 2


def test_a_run_is_only_resumed_with_the_same_settings_and_inputs(
    make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    manifest = make_manifest()
    manifest.save(now=True)
    (source,) = manifest.inputs
    inputs = {source: stamp_file(source)}
    Manifest.read(tmp_path, manifest.settings | {"skip_bad": True, "max_words": 10}, inputs)  # no line was bad so far
    with pytest.raises(ValueError, match="other settings or inputs: model was 'en', not 'zh'; use the same"):
        Manifest.read(tmp_path, {"model": "zh"}, inputs)
    Path(tmp_path / "more.txt").write_text("c\n")
    with pytest.raises(ValueError, match=r"more\.txt was not an input"):
        Manifest.read(tmp_path, manifest.settings, inputs | {str(tmp_path / "more.txt"): inputs[source]})
    os.utime(source)
    Manifest.read(tmp_path, manifest.settings, {source: stamp_file(source)})  # its bytes are the same
    stat = Path(source).stat()
    Path(source).write_text("b\na\n")
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ValueError, match=r"in\.txt has changed"):
        Manifest.read(tmp_path, manifest.settings, {source: stamp_file(source)})
    make_manifest(skip_bad=True).save(now=True)
    with pytest.raises(ValueError, match="max_words was 9, not 10"):
        Manifest.read(tmp_path, {"model": "en", "skip_bad": True, "max_words": 10}, inputs)
    (tmp_path / FILE_NAME).write_text("{}")
    with pytest.raises(ValueError, match="is not the manifest of a run"):
        Manifest.read(tmp_path, manifest.settings, inputs)


def test_the_report_names_shards_that_were_retried_or_failed(make_manifest: Callable[..., Manifest]) -> None:
    manifest = make_manifest()
    first, second = manifest.shards
    manifest.progress[first] = ShardProgress("done", attempts=2, problems=["it died"], skipped=3)
    manifest.progress[second] = ShardProgress("failed", attempts=4, problems=["slow", "no memory"])
    summary, retried, failed = manifest.report()
    assert summary == "2 shards: 1 done (1 lines), 1 of them retried, 1 failed; 3 bad lines left empty"
    assert retried == f"retried: {first}: it died"
    assert failed.startswith(f"failed after 4 attempts: {second} (") and failed.endswith(", lines 2 to 3): no memory")


def test_a_manifest_is_saved_every_few_seconds_or_at_once(
    make_manifest: Callable[..., Manifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, now = make_manifest(), [1000.0]
    monkeypatch.setattr("treecrf.corpus.manifest.time.monotonic", lambda: now[0])
    file = tmp_path / FILE_NAME
    for seconds, is_saved in ((0.0, True), (1.5, False), (0.5, True)):
        now[0] += seconds
        manifest.save()
        assert file.exists() == is_saved
        file.unlink(missing_ok=True)
    manifest.save(now=True)
    assert file.exists()


@pytest.mark.parametrize("count", [5, 7])
def test_a_message_shows_five_changes(make_manifest: Callable[..., Manifest], tmp_path: Path, count: int) -> None:
    manifest = make_manifest()
    manifest.save(now=True)
    more = {f"{tmp_path}/more{number}.txt": next(iter(manifest.inputs.values())) for number in range(count)}
    with pytest.raises(ValueError, match="was not an input") as raised:
        Manifest.read(tmp_path, manifest.settings, {**manifest.inputs, **more})
    assert str(raised.value).count("was not an input") == 5
    assert (", and 2 more" in str(raised.value)) == (count == 7)


def test_a_shard_that_is_done_at_once_is_not_retried(make_manifest: Callable[..., Manifest]) -> None:
    manifest = make_manifest()
    for name in manifest.progress:
        assert manifest.progress[name].attempts == 0
        manifest.progress[name] = ShardProgress("done", attempts=1)
    assert "0 of them retried" in manifest.report()[0]
