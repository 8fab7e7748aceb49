"""How a corpus is cut, read and shared out, and what is written down of it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from treecrf.bulk.inputs import Source, read_lines
from treecrf.bulk.manifest import NAME, Manifest, Progress, stamps
from treecrf.bulk.records import Fields
from treecrf.bulk.shards import STEP, Shard, ShardQueue, ShardReader, cut
from treecrf.parser.inputs import DEFAULT_BATCHING


def test_blocks_of_every_device_end_where_shards_do() -> None:
    assert all(STEP % pace.window == 0 for pace in DEFAULT_BATCHING.values())


# a file that begins as gzip's do is read as one of those
LINES = st.binary(max_size=4).filter(lambda raw: b"\n" not in raw and not raw.startswith(b"\x1f\x8b"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([b"\x1f", b"\x8b"], False, True)
@given(st.lists(LINES, max_size=20), st.booleans(), st.booleans())
def test_shards_hold_every_line_once(tmp_path: Path, lines: list[bytes], is_packed: bool, ends: bool) -> None:
    path = tmp_path / "in.txt"
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    path.write_bytes(gzip.compress(data) if is_packed else data)
    expected = list(read_lines(Source(str(path), path), limit=3))
    shards = cut(str(path), Path("a/b.mrg.gz"), 3)
    reader = ShardReader(Fields(), limit=3)
    order = [*shards, *reversed(shards)]  # a shard may be tried again, after others
    found = [list(reader.lines(shard)) for shard in order]
    reader.close()
    assert [line for own in found[: len(shards)] for line in own] == expected
    assert found == [*found[: len(shards)], *reversed(found[: len(shards)])]
    assert [shard.lines for shard in shards[:-1]] == [3] * (len(shards) - 1)
    assert [shard.output for shard in shards] == [f"a/b-{number:06}.mrg.gz" for number in range(max(len(shards), 1))]


def test_rows_of_parquet_are_cut_like_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "in.parquet")
    for rows, sizes in ((0, [0]), (6, [3, 3]), (7, [3, 3, 1])):
        pq.write_table(pa.table({"text": pa.array(map(str, range(rows)), pa.string())}), path, row_group_size=4)
        shards = cut(path, Path("in.mrg"), 3)
        reader = ShardReader(Fields(), limit=9)
        assert [shard.lines for shard in shards] == sizes
        assert [line.text for shard in shards for line in reader.lines(shard)] == list(map(str, range(rows)))


def test_large_files_are_cut_across_the_chunks_they_are_read_in(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{number} {'x' * (number % 97)}\n" for number in range(60_000)))
    shards = cut(str(path), Path("in.mrg"), STEP)
    reader = ShardReader(Fields(), limit=1000)
    for shard in reversed(shards):
        assert next(reader.lines(shard)).text.startswith(f"{shard.first} ")
    reader.close()
    assert sum(shard.lines for shard in shards) == 60_000


def test_an_input_that_lost_lines_is_told(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\nc\n")
    reader = ShardReader(Fields(), limit=9)
    with pytest.raises(ValueError, match=r"in\.txt ends at line 3; it has lost lines since the run began"):
        list(reader.lines(Shard(str(tmp_path / "in.txt"), 2, 2, 4, "out")))
    reader.close()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\nb\nc\n" * 1000)[:-20])
    with pytest.raises(ValueError, match=r"cut\.gz:\d+: the compressed data is damaged"):
        cut(str(tmp_path / "cut.gz"), Path("cut.mrg.gz"), 3)


def shard(source: str, number: int) -> Shard:
    return Shard(source, number, 1, 0, f"{source}-{number}")


def test_workers_stay_with_an_input_and_then_help_others() -> None:
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
def begin(tmp_path: Path) -> Callable[..., Manifest]:
    (tmp_path / "in.txt").write_text("a\nb\n")
    source = str(tmp_path / "in.txt")

    def run(**changed: object) -> Manifest:
        settings = {"model": "en", "skip_bad": False, "max_words": 9} | changed
        return Manifest(tmp_path, settings, [shard(source, 0), shard(source, 1)], inputs=stamps([source]))

    return run


def test_a_manifest_is_read_back_and_outputs_tell_what_is_done(begin: Callable[..., Manifest], tmp_path: Path) -> None:
    manifest = begin()
    first, second = manifest.shards
    manifest.progress[first] = Progress("done", attempts=2, problems=["it died"])
    manifest.progress[second] = Progress("done", attempts=1)
    manifest.save(now=True)
    (tmp_path / first).write_text("a tree")
    again = Manifest.read(tmp_path, manifest.settings, manifest.inputs)
    assert [each.output for each in again.waiting()] == [second]
    assert again.progress[first].attempts == 2 and again.progress[second] == Progress()
    assert again.report()[0] == "2 shards: 1 done (1 lines), 1 of them retried, 0 failed, 1 not tried"
    assert again.run == manifest.run and json.loads((tmp_path / NAME).read_text())["format"] == 1


def test_another_run_is_not_gone_on_with(begin: Callable[..., Manifest], tmp_path: Path) -> None:
    manifest = begin()
    manifest.save(now=True)
    (source,) = manifest.inputs
    Manifest.read(tmp_path, manifest.settings | {"skip_bad": True, "max_words": 10}, [source])  # no line was bad so far
    with pytest.raises(ValueError, match="begun otherwise: model was 'en', not 'zh'; say the same"):
        Manifest.read(tmp_path, {"model": "zh"}, [source])
    Path(tmp_path / "more.txt").write_text("c\n")
    with pytest.raises(ValueError, match=r"more\.txt was not there"):
        Manifest.read(tmp_path, manifest.settings, [source, str(tmp_path / "more.txt")])
    Path(source).write_text("other\n")
    with pytest.raises(ValueError, match=r"in\.txt has changed since"):
        Manifest.read(tmp_path, manifest.settings, [source])
    begin(skip_bad=True).save(now=True)
    with pytest.raises(ValueError, match="max_words was 9, not 10"):
        Manifest.read(tmp_path, {"model": "en", "skip_bad": True, "max_words": 10}, [source])
    (tmp_path / NAME).write_text("{}")
    with pytest.raises(ValueError, match="is no manifest of a run"):
        Manifest.read(tmp_path, manifest.settings, [source])
