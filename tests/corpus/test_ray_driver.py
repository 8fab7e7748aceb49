from pathlib import Path

import pandas
import pytest

from treecrf.corpus.manifest import FILE_NAME
from treecrf.corpus.options import ParseOptions
from treecrf.corpus.output_record import model_digest, stamp_file
from treecrf.corpus.ray_driver import PARTIAL_FOLDER, Worker, summarize_error
from treecrf.corpus.shards import Shard
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
    result = worker.parse(Shard(str(tmp_path / "in.txt"), 0, 2, 0, "deep/in-000000.mrg"))
    assert not result.problem and len(result.warnings) == 1
    assert (out / "deep" / "in-000000.mrg").read_text().count("\n") == 2 and not list((out / PARTIAL_FOLDER).iterdir())
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
