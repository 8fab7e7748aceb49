"""Tests of shards, their queue and their manifest."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from treecrf.corpus.inputs import InputFile, read_lines
from treecrf.corpus.manifest import FILE_NAME, Manifest, ShardProgress
from treecrf.corpus.output_record import stamp_file
from treecrf.corpus.records import RecordFields
from treecrf.corpus.shards import SHARD_STEP, Shard, ShardQueue, ShardReader, cut_shards
from treecrf.parser.inputs import DEFAULT_BATCHING


def test_shards_are_whole_blocks_on_every_device() -> None:
    assert all(SHARD_STEP % batching.window == 0 for batching in DEFAULT_BATCHING.values())


# a file that begins with gzip's magic number is read as gzip
LINES = st.binary(max_size=4).filter(lambda raw: b"\n" not in raw and not raw.startswith(b"\x1f\x8b"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([b"\x1f", b"\x8b"], False, True)
@given(st.lists(LINES, max_size=20), st.booleans(), st.booleans())
def test_shards_have_every_line_once(tmp_path: Path, lines: list[bytes], is_compressed: bool, ends: bool) -> None:
    path = tmp_path / "in.txt"
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    path.write_bytes(gzip.compress(data) if is_compressed else data)
    expected = list(read_lines(InputFile(str(path), path), limit=3))
    shards = cut_shards(str(path), Path("a/b.mrg.gz"), 3)
    reader = ShardReader(RecordFields(), limit=3)
    order = [*shards, *reversed(shards)]  # a shard may be tried again, after others
    shard_lines = [list(reader.lines(shard)) for shard in order]
    reader.close()
    assert [line for lines in shard_lines[: len(shards)] for line in lines] == expected
    assert shard_lines == [*shard_lines[: len(shards)], *reversed(shard_lines[: len(shards)])]
    assert [shard.lines for shard in shards[:-1]] == [3] * (len(shards) - 1)
    assert [shard.output for shard in shards] == [f"a/b-{number:06}.mrg.gz" for number in range(max(len(shards), 1))]


def test_rows_of_parquet_are_cut_like_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "in.parquet")
    for rows, sizes in ((0, [0]), (6, [3, 3]), (7, [3, 3, 1])):
        pq.write_table(pa.table({"text": pa.array(map(str, range(rows)), pa.string())}), path, row_group_size=4)
        shards = cut_shards(path, Path("in.mrg"), 3)
        reader = ShardReader(RecordFields(), limit=9)
        assert [shard.lines for shard in shards] == sizes
        assert [line.text for shard in shards for line in reader.lines(shard)] == list(map(str, range(rows)))


def test_files_larger_than_a_chunk_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{number} {'x' * (number % 97)}\n" for number in range(60_000)))
    shards = cut_shards(str(path), Path("in.mrg"), SHARD_STEP)
    reader = ShardReader(RecordFields(), limit=1000)
    for shard in reversed(shards):
        assert next(reader.lines(shard)).text.startswith(f"{shard.first} ")
    reader.close()
    assert sum(shard.lines for shard in shards) == 60_000


def test_an_input_that_lost_lines_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\nc\n")
    reader = ShardReader(RecordFields(), limit=9)
    with pytest.raises(ValueError, match=r"in\.txt ends at line 3; it has lost lines since the run started"):
        list(reader.lines(Shard(str(tmp_path / "in.txt"), 2, 2, 4, "out")))
    reader.close()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\nb\nc\n" * 1000)[:-20])
    with pytest.raises(ValueError, match=r"cut\.gz:\d+: the compressed data is damaged"):
        cut_shards(str(tmp_path / "cut.gz"), Path("cut.mrg.gz"), 3)


def shard(source: str, number: int) -> Shard:
    return Shard(source, number, 1, 0, f"{source}-{number}")


def test_workers_finish_an_input_before_they_take_shards_of_others() -> None:
    queue = ShardQueue([shard("a", 0), shard("a", 1), *(shard("b", number) for number in range(4))])
    first, second = queue.take(""), queue.take("")
    assert (first.output, second.output) == ("a-0", "b-0")
    assert queue.take("a").output == "a-1"
    assert queue.take("a").output == "b-1"
    queue.put_back(first)
    assert queue.take("b").output == "b-2"
    assert queue.take("a").output == "a-0"
    assert queue.take("").output == "b-3" and not queue


@pytest.fixture
def make_manifest(tmp_path: Path) -> Callable[..., Manifest]:
    (tmp_path / "in.txt").write_text("a\nb\n")
    source = str(tmp_path / "in.txt")

    def make(**changes: object) -> Manifest:
        settings = {"model": "en", "skip_bad": False, "max_words": 9} | changes
        return Manifest(tmp_path, settings, [shard(source, 0), shard(source, 1)], inputs={source: stamp_file(source)})

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
