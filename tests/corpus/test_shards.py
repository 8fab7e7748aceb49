"""Tests of shards, their queue and their manifest."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from treecrf.corpus.inputs import InputFile, RecordFields, read_lines
from treecrf.corpus.shards import SHARD_STEP, Shard, ShardQueue, ShardReader, cut_shards
from treecrf.parser.pipeline import DEFAULT_BATCHING


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


def test_a_queue_is_true_as_long_as_a_shard_waits() -> None:
    queue = ShardQueue([shard("a", 0)])
    assert queue and not ShardQueue([])
    taken = queue.take("")
    assert not queue
    queue.put_back(taken)
    assert queue


def test_shards_name_their_lines() -> None:
    assert Shard("in.txt", 4, 1500, 0, "out").name == "in.txt, lines 5 to 1,504"


def test_workers_finish_an_input_before_they_take_shards_of_others() -> None:
    queue = ShardQueue([shard("a", 0), shard("a", 1), *(shard("b", number) for number in range(4))])
    first, second = queue.take(""), queue.take("")
    assert (first.output, second.output) == ("a-0", "b-0") and queue
    assert queue.take("a").output == "a-1"
    assert queue.take("a").output == "b-1"
    queue.put_back(first)
    assert queue.take("b").output == "b-2"
    assert queue.take("a").output == "a-0"
    assert queue.take("").output == "b-3" and not queue


@pytest.mark.parametrize("name", ["in.csv", "in.mrg.gz"])
def test_files_whose_records_may_have_several_lines_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="--engine ray reads text, JSON lines and Parquet"):
        cut_shards(str(tmp_path / name), tmp_path / "out.mrg", 8192)
