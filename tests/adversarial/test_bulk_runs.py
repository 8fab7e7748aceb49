"""Hostile inputs, outputs, streams and signals of the command line. `make soak` runs many more cases of `bulk_runs`."""

import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import bulk_runs
from bulk_runs import Process, parse_command, save_model, write_lines
from treecrf.cli import main
from treecrf.corpus import outputs, parse_files
from treecrf.files import LockedError, lock_file, lock_folder, open_atomic, write_file
from treecrf.trees.tree import Tree

EVERY = 1 if os.environ.get("TREECRF_SOAK") else 300  # how many bytes are between two kills

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"))


def parse(model: Path, *arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(parse_command(model, *arguments))
    return ended.value.code


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    """Runs a line of bash in which `treecrf` is the command."""
    function = f'treecrf() {{ "{sys.executable}" -m treecrf "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", function + command], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )


# killed, concurrent and changed runs


@pytest.mark.parametrize("case", [bulk_runs.kill_parse, bulk_runs.kill_train])
def test_a_killed_run_ends_with_the_same_bytes(tmp_path: Path, case: object) -> None:
    case(tmp_path, random.Random(5), kills=2)  # type: ignore[operator]


def test_two_runs_never_mix_their_outputs(tmp_path: Path) -> None:
    bulk_runs.concurrent_parse(tmp_path, random.Random(3))


@pytest.mark.parametrize("change", ["other words", "the same bytes written again", "another model", "--skip-bad added"])
def test_a_changed_run_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setattr(bulk_runs, "CHANGES", {change: bulk_runs.CHANGES[change]})
    bulk_runs.changed_parse(tmp_path, random.Random(change))


def test_training_is_not_resumed_with_other_trees(tmp_path: Path) -> None:
    bulk_runs.changed_train(tmp_path, random.Random(1))


@pytest.mark.parametrize("name", ["out.mrg", "out.mrg.gz", "out.jsonl", "out.conllu", "out.csv", "out.parquet"])
def test_an_output_of_a_run_killed_at_any_byte_is_resumed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`make soak` tries every byte; without it, some bytes and the ends of blocks."""
    monkeypatch.setattr(parse_files, "_CPU_BLOCK_LINES", 2)
    path, out, draft = write_lines(tmp_path / "in.txt", 5, 1), tmp_path / name, tmp_path / f".{name}.part"
    index = draft.with_name(f"{draft.name}.blocks")
    with monkeypatch.context() as patch:
        patch.setattr(outputs, "_finish", lambda *_: None)
        assert not parse(model, path, "-o", out)
    written, ends = draft.read_bytes(), [int(end) for end in index.read_bytes().split()]
    assert not parse(model, path, "-o", tmp_path / f"whole-{name}")
    whole = (tmp_path / f"whole-{name}").read_bytes()
    assert len(ends) == 3 and ends[-1] == len(written)
    for size in sorted({*range(0, len(written), EVERY), *ends}):
        entries = b"".join(b"%d\n" % end for end in ends if end <= size)
        torn = len(str(size)) + 1 if size in ends else 0  # bytes of the last entry, which is written after its block
        for cut in range(torn + 1):
            draft.write_bytes(written[:size])
            index.write_bytes(entries[: len(entries) - cut])
            assert not parse(model, path, "-o", out, "--resume")
            assert out.read_bytes() == whole and not draft.exists() and not index.exists(), (size, cut)
            out.unlink()


def test_a_second_run_names_the_process_that_writes(model: Path, tmp_path: Path) -> None:
    path, out = write_lines(tmp_path / "in.txt", 20, 1), tmp_path / "out.mrg"
    with lock_file(out):
        message = str(parse(model, path, "-o", out))
    assert f"out.mrg is being written by process {os.getpid()} on " in message and not out.exists()
    with lock_folder(tmp_path / "trees"):
        assert "trees is being written by process" in str(parse(model, path, "-o", f"{tmp_path}/trees/"))
    assert not parse(model, path, "-o", out)


def test_a_killed_process_leaves_no_lock(model: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.txt", 20_000, 1)
    process = Process(parse_command(model, path, "-o", tmp_path / "out"))
    while not (tmp_path / ".out.lock").exists():
        assert process.wait(0.01) is None
    assert process.kill() and (tmp_path / ".out.lock").exists()
    path.write_text("the cat\n")
    assert not parse(model, path, "-o", tmp_path / "out")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".out.run", "in.txt", "out"]


def test_two_writers_of_one_file_are_refused(tmp_path: Path) -> None:
    with open_atomic(tmp_path / "file") as stream:
        stream.write(b"first")
        with (
            pytest.raises(LockedError, match="file is being written by another process"),
            open_atomic(tmp_path / "file"),
        ):
            pass
    assert (tmp_path / "file").read_bytes() == b"first"


@pytest.mark.parametrize("name", [".out.mrg.part", ".out.mrg.part.blocks", ".out.mrg.lock", "..out.mrg.run.tmp"])
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_link_in_the_place_of_a_hidden_file_is_not_followed(
    model: Path, tmp_path: Path, name: str, link: Callable[[Path, Path], None]
) -> None:
    path, other = write_lines(tmp_path / "in.txt", 20, 1), tmp_path / "other"
    other.write_text("other")
    link(tmp_path / name, other)
    assert f"{name} is a link, and would be followed" in str(parse(model, path, "-o", tmp_path / "out.mrg"))
    assert parse(model, path, "-o", tmp_path / "out.mrg", "--resume")
    with pytest.raises(FileExistsError, match="is a link"):
        link(tmp_path / ".file.tmp", other)
        write_file(tmp_path / "file", b"data")
    assert other.read_text() == "other" and not (tmp_path / "out.mrg").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_parses_in_a_folder_that_is_read_only(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written beside the model or in the current folder; an output there is an error of one line."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "folder", Path(name) / "out"
        shutil.copytree(model, Path(name) / "model")
        folder.mkdir()
        write_lines(folder / "in.txt", 3, 1)
        out.mkdir()
        for path, mode in ((Path(name), 0o755), (Path(name) / "model", 0o755), (folder, 0o555), (out, 0o777)):
            path.chmod(mode)
        monkeypatch.chdir(folder)
        parse(model, "in.txt", "-o", out / "whole.mrg")  # imports what the other user cannot read
        results = []
        for target in (out / "out.mrg", folder / "out.mrg"):
            arguments = parse_command(Path(name) / "model", "in.txt", "-o", target)
            monkeypatch.setattr(bulk_runs, "main", lambda arguments: (os.setuid(65534), main(arguments)))
            results.append(bulk_runs.run(arguments))
        assert results[0] == (0, "") and (out / "out.mrg").read_bytes() == (out / "whole.mrg").read_bytes()
        assert results[1][0] == 1 and results[1][1].startswith("treecrf parse: no permission to read or write")
        assert [path.name for path in folder.iterdir()] == ["in.txt"]
        assert len(list(model.iterdir())) == len(list((Path(name) / "model").iterdir()))


def test_an_empty_folder_of_a_failed_run_is_removed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), lock_folder(tmp_path / "a"):
        raise RuntimeError
    assert not (tmp_path / "a").exists()


def test_an_input_that_changes_while_it_is_parsed_has_no_output(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, warned = write_lines(tmp_path / "in.txt", 20, 1), []

    def change(lines: list[str], *_: object) -> None:
        warned.append(lines)
        with path.open("a") as stream:
            stream.write("we sang\n")

    monkeypatch.setattr("treecrf.corpus.parse_files._write_batch", change)
    assert "in.txt has changed while it was parsed" in str(parse(model, path, "-o", tmp_path / "out"))
    assert warned and not (tmp_path / "out").exists()


def test_a_newer_partial_file_is_finished_beside_an_older_output(model: Path, tmp_path: Path) -> None:
    path, out = write_lines(tmp_path / "in.txt", 300, 1), tmp_path / "out"
    assert not parse(model, path, "-o", out)
    old = out.read_bytes()
    with path.open("ab") as stream:
        stream.write(b"the cat\n\xff\n")
    assert "is not UTF-8" in str(parse(model, path, "-o", out)) and out.read_bytes() == old
    assert not parse(model, path, "-o", out, "--resume", "--skip-bad")
    assert out.read_bytes().startswith(old) and out.read_bytes().count(b"\n") == 302


# inputs that were dropped


def test_named_inputs_inside_the_output_folder_are_parsed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        write_lines(tmp_path / name, 2, 1)
    assert not parse(model, "a.txt", "b.txt", "-o", ".")
    assert not parse(model, "*.txt", "-o", ".", "--resume")
    assert {path.name for path in tmp_path.glob("*.mrg")} == {"a.mrg", "b.mrg"}
    assert "is both the input and the output folder" in str(parse(model, ".", "-o", "."))


def test_every_skipped_path_is_named(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts"
    (texts / "deep").mkdir(parents=True)
    write_lines(texts / "deep" / "a.txt", 2, 1)
    (texts / "broken.txt").symlink_to("absent")
    (texts / "linked").symlink_to(tmp_path, target_is_directory=True)
    (texts / ".hidden").write_text("the cat\n")
    os.mkfifo(texts / "pipe")
    assert not parse(model, texts, "-o", tmp_path / "out")
    messages = capsys.readouterr().err
    for name in ("broken.txt", "linked", ".hidden", "pipe"):
        assert str(texts / name) in messages, messages
    assert [path.name for path in (tmp_path / "out" / "deep").glob("*.mrg")] == ["a.mrg"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("empty", "nothing to read in the folder empty"),
        ("broken", "broken is a broken link: it points to absent"),
        ("The cat sat.", "no file, folder or pattern has that name; to parse a text, write: echo 'The cat sat.' |"),
    ],
)
def test_nothing_to_do_is_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").symlink_to("absent")
    assert message in str(parse(model, argument, "-o", "out"))


def test_a_link_to_itself_is_no_input_and_can_be_replaced(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "in.txt", 2, 1)
    (tmp_path / "loop").symlink_to("loop")
    assert "loop is a broken link" in str(parse(model, tmp_path / "loop"))
    (tmp_path / "out").mkdir()
    assert not parse(model, tmp_path, "-o", tmp_path / "out")
    assert f"skipped {tmp_path}/loop: it is a broken link" in capsys.readouterr().err
    assert not parse(model, path, "-o", tmp_path / "loop")
    assert (tmp_path / "loop").read_bytes().count(b"\n") == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line_with_the_name_of_the_file(model: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.txt", 2, 1)
    assert "No space left on device: '/dev/full'" in str(parse(model, path, "-o", "/dev/full"))


# encodings and records


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_utf16_is_an_error(model: Path, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in.txt").write_bytes("The cat sang .\nWe waited .\n".encode(encoding))
    assert "convert the file to UTF-8 first" in str(parse(model, tmp_path / "in.txt"))


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "[1e999]"])
def test_an_id_that_is_no_json_is_an_error(model: Path, tmp_path: Path, number: str) -> None:
    (tmp_path / "in.jsonl").write_text(f'{{"tokens": ["we"], "id": {number}}}\n')
    assert "in.jsonl:1: " in str(parse(model, tmp_path / "in.jsonl", "--format", "json"))
    out = tmp_path / "out.jsonl"
    assert not parse(model, tmp_path / "in.jsonl", "--format", "json", "--skip-bad", "-o", out)
    assert json.loads(out.read_text(), parse_constant=pytest.fail) is None


# standard streams and signals


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("treecrf parse --tokens --device cpu --model MODEL <&-", 1, "standard input is closed"),
        ("treecrf parse --tokens --device cpu --model MODEL in.txt >&-", 1, "standard output is closed"),
        ("treecrf parse --tokens --device cpu --model MODEL in.txt > /dev/full", 1, "No space left on device"),
        ("treecrf evaluate - -", 1, "both standard input"),
    ],
)
def test_a_closed_stream_is_one_line(model: Path, tmp_path: Path, command: str, status: int, message: str) -> None:
    write_lines(tmp_path / "in.txt", 3, 1)
    result = shell(command.replace("MODEL", str(model)), tmp_path)
    assert result.returncode == status
    assert message in result.stderr.decode() and result.stderr.count(b"\n") == 1


def test_warnings_never_go_into_the_output(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"the cat\n\xff\nwe sang\n")
    command = f"treecrf parse --tokens --device cpu --model {model} --skip-bad in.txt"
    result = shell(f"{command} 2>&-; {command} -o out 2>&-", tmp_path)
    for output in (result.stdout, (tmp_path / "out").read_bytes()):
        first, second, third = output.decode().splitlines()
        assert Tree.parse(first).words == ["the", "cat"] and second == "" and Tree.parse(third).words == ["we", "sang"]


def test_ctrl_c_keeps_the_current_block(model: Path, tmp_path: Path) -> None:
    path, out = write_lines(tmp_path / "in.txt", 20_000, 1), tmp_path / "out"
    process = Process(parse_command(model, path, "-o", out))
    while not (tmp_path / ".out.part").exists() or not (tmp_path / ".out.part").stat().st_size:
        assert process.wait(0.01) is None
    os.kill(process.pid, signal.SIGINT)
    status, messages = process.finish()
    assert status == 130 and "interrupted; --resume continues the run" in messages, messages
    assert (tmp_path / ".out.part").read_bytes().count(b"\n") % 256 == 0 and not out.exists()


@pytest.mark.parametrize("pause", [0.0, 0.02])
def test_many_ctrl_cs_end_with_the_status_of_an_interrupt(model: Path, tmp_path: Path, pause: float) -> None:
    path = write_lines(tmp_path / "in.txt", 20_000, 1)
    process = Process(parse_command(model, path, "-o", tmp_path / "out"))
    while not (tmp_path / ".out.part").exists():
        assert process.wait(0.01) is None
    while process.wait(pause) is None:
        os.kill(process.pid, signal.SIGINT)
    status, messages = process.finish()
    assert status == 130 and "Traceback" not in messages, messages


def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("")
    command = [sys.executable, "-m", "treecrf", "train", "a.toml", "-o", "b"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        while "/torch/" not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        messages = process.communicate()[1]
    assert process.returncode == 130 and messages == "treecrf train: interrupted\n"


def test_a_terminal_gets_a_prompt(model: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.environ["NO_COLOR"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "treecrf", *parse_command(model)])
    output = b""
    while b"> " not in output:
        output += os.read(terminal, 1000)
    assert b"one sentence a line, Ctrl-D ends" in output
    os.write(terminal, b"the cat\n")
    while b"cat)" not in output:
        output += os.read(terminal, 1000)
    os.write(terminal, b"\x04")
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
