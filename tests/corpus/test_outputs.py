"""Tests of output files that are interrupted and continued, and of their names."""

import errno
import gzip
import io
import os
from collections.abc import Sequence
from concurrent.futures import wait
from pathlib import Path
from threading import Event

import pytest

from treecrf.corpus.inputs import InputFile
from treecrf.corpus.outputs import ColorSink, Finisher, OutputFile, open_file, open_sink, output_paths, partial_size
from treecrf.trees.tables import COLUMNS, csv_text
from treecrf.trees.tree import Tree

KIND = OutputFile(block_lines=2)


def write_blocks(path: Path, blocks: Sequence[Sequence[str]], *, is_complete: bool = True) -> None:
    """Writes blocks of lines; without `is_complete`, stops before the file appears."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_complete:
            patch.setattr("treecrf.corpus.outputs._finish", lambda *_: None)
        with open_file(path, None, KIND) as sink:
            for block in blocks:
                sink.write(block)
                sink.end_block()


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.mrg"
    with open_file(path, None, KIND) as sink:
        sink.write(["a", "b"])
        sink.end_block()
        assert not path.exists() and partial_size(path) == 4
    assert path.read_text() == "a\nb\n" and partial_size(path) is None
    assert [file.name for file in path.parent.iterdir()] == ["out.mrg"]


@pytest.mark.parametrize("name", ["out.mrg", "out.mrg.gz"])
def test_a_partial_file_is_cut_back_to_whole_blocks(tmp_path: Path, name: str) -> None:
    path, part = tmp_path / name, tmp_path / f".{name}.part"
    write_blocks(path, [["a", "b"], ["c", "d"], ["e"]], is_complete=False)
    data, index = part.read_bytes(), (tmp_path / f".{name}.part.blocks").read_bytes()
    ends = [int(end) for end in index.split()]
    assert len(ends) == 3 and ends[-1] == len(data)
    expected = [
        (len(data), 6),
        (len(data) - 1, 4),
        (ends[1], 4),
        (ends[1] - 1, 2),
        (ends[0], 2),
        (ends[0] - 1, 0),
    ]
    for size, lines in expected:
        part.write_bytes(data[:size])
        (tmp_path / f".{name}.part.blocks").write_bytes(index)
        with open_file(path, None, KIND, resume=True) as sink:
            assert sink.lines_written == lines
            if lines < 4:
                sink.write(["c", "d"] if lines == 2 else ["a", "b", "c", "d"])
                sink.end_block()
            if lines < 6:
                sink.write(["e"])
        content = path.read_bytes() if path.suffix != ".gz" else gzip.decompress(path.read_bytes())
        assert content == b"a\nb\nc\nd\ne\n"
        path.unlink()


@pytest.mark.parametrize(("index", "lines"), [(b"4\n8", 2), (b"4\nx\n8\n", 2), (b"", 0), (None, 0), (b"4\n99\n8\n", 2)])
def test_a_damaged_index_keeps_the_blocks_before_the_damage(tmp_path: Path, index: bytes | None, lines: int) -> None:
    path = tmp_path / "out"
    write_blocks(path, [["a", "b"], ["c", "d"]], is_complete=False)
    index_path = tmp_path / ".out.part.blocks"
    if index is None:
        index_path.unlink()
    else:
        index_path.write_bytes(index)
    with open_file(path, None, KIND, resume=True) as sink:
        assert sink.lines_written == lines and partial_size(path) == 2 * lines


def test_without_resume_a_partial_file_is_replaced(tmp_path: Path) -> None:
    write_blocks(tmp_path / "out", [["a", "b"]], is_complete=False)
    write_blocks(tmp_path / "out", [["c"]])
    assert (tmp_path / "out").read_text() == "c\n"


def test_a_block_without_lines_has_no_entry(tmp_path: Path) -> None:
    write_blocks(tmp_path / "out", [["a"]], is_complete=False)
    with open_file(tmp_path / "out", None, KIND, resume=True) as sink:
        sink.end_block()
        assert (tmp_path / ".out.part.blocks").read_bytes() == b"2\n"


def test_an_output_is_beside_its_input_in_the_folder() -> None:
    files = [InputFile(f"texts/{name}", Path(name)) for name in ("a.txt", "deep/b.txt.gz")]
    assert output_paths(files, "out", ".mrg", is_folder=True) == [Path("out/a.mrg"), Path("out/deep/b.mrg.gz")]
    assert output_paths(files, "out", ".parquet", is_folder=True) == [
        Path("out/a.parquet"),
        Path("out/deep/b.parquet"),
    ]
    assert output_paths(files[:1], "x.gz", ".mrg", is_folder=False) == [Path("x.gz")]


def test_no_output_replaces_an_input_or_another_output(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("x")
    file = InputFile(str(tmp_path / "a.mrg"), Path("a.mrg"))
    with pytest.raises(ValueError, match=r"a\.mrg is an input and would be overwritten"):
        output_paths([file], str(tmp_path), ".mrg", is_folder=True)
    with pytest.raises(NotADirectoryError, match="several inputs need a folder"):
        output_paths([file], str(tmp_path / "a.mrg"), ".txt", is_folder=True)
    with pytest.raises(ValueError, match=r"several inputs would be written to out.a\.txt"):
        output_paths([file, file], "out", ".txt", is_folder=True)


def test_a_folder_is_no_output_and_parquet_needs_a_file(tmp_path: Path) -> None:
    with (
        pytest.raises(IsADirectoryError, match="expected a file to write"),
        open_sink(tmp_path, None, KIND, resume=False),
    ):
        pass
    parquet = OutputFile(2, "sentences")
    with pytest.raises(ValueError, match="needs an output file"), open_sink(None, None, parquet, resume=False):
        pass
    with (
        pytest.raises(ValueError, match="Parquet files are compressed themselves"),
        open_sink(tmp_path / "a.gz", None, parquet, resume=False),
    ):
        pass


def test_parquet_replaces_a_file_and_is_not_written_into_a_pipe(tmp_path: Path) -> None:
    parquet, path, pipe = OutputFile(2, "sentences"), tmp_path / "a.parquet", tmp_path / "pipe"
    path.write_bytes(b"before")
    with open_sink(path, None, parquet, resume=False) as sink:
        sink.write([csv_text([COLUMNS["sentences"]])])
    assert path.read_bytes()[:4] == b"PAR1"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="needs an output file"), open_sink(pipe, None, parquet, resume=False):
        pass


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # not a device: a broken `open_sink` would replace it by a file
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_sink(pipe, None, KIND, resume=True) as sink:
        sink.write(["a"])
        assert sink.lines_written == 0
        assert os.read(reader, 10) == b"a\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_labels_on_a_terminal_are_blue() -> None:
    stream = io.BytesIO()
    ColorSink(stream).write(Tree.parse("(S (NP (NN cat)))").pretty().split("\n"))
    blue = ["\x1b[34mS\x1b[0m", "└── \x1b[34mNP\x1b[0m", "    └── \x1b[34mNN\x1b[0m cat", ""]
    assert stream.getvalue().decode() == "\n".join(blue)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (OSError(errno.ENOSPC, "full"), "out"),
        (OSError(errno.ENOSPC, "full", "x"), "x"),
        (OSError(errno.EIO, "p"), None),
    ],
)
def test_the_error_of_a_full_disk_names_the_output(tmp_path: Path, error: OSError, name: str | None) -> None:
    with pytest.raises(OSError) as caught, open_file(tmp_path / "out", None, KIND):
        raise error
    assert caught.value.errno == error.errno
    assert (caught.value.filename and Path(caught.value.filename).name.strip(".").removesuffix(".part")) == name


def test_outputs_that_are_finished_in_threads_appear_and_are_unlocked(tmp_path: Path) -> None:
    with Finisher() as finisher:
        for number in range(300):
            with open_file(tmp_path / f"{number}.mrg", None, OutputFile(4, submit=finisher.submit)) as sink:
                sink.write([str(number)])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {f"{n}.mrg": f"{n}\n" for n in range(300)}


def test_the_error_of_an_earlier_output_is_raised_when_it_is_there() -> None:
    may_fail = Event()

    def fail() -> None:
        may_fail.wait(60)
        raise OSError("the disk is full")

    with Finisher() as finisher:
        finisher.submit(fail)  # does not wait for it
        may_fail.set()
        wait(finisher._outputs)
        with pytest.raises(OSError, match="the disk is full"):
            finisher.submit(lambda: None)


def test_an_error_in_a_finisher_is_raised(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"), Finisher() as finisher:
        finisher.submit(fail)
    with pytest.raises(OSError, match="the disk is full"), Finisher() as finisher:
        for _ in range(1000):
            finisher.submit(fail)
