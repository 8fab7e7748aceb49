"""Generators of hostile runs: killed, concurrent, and resumed with a changed input, model or setting.

Each function makes one case from a random generator, checks it, and returns a line about it, or the number of kills.
"""

import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from small import FIFTY, random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.corpus.ray_driver import PARTIAL_FOLDER
from treecrf.corpus.shards import SHARD_STEP

TREES = toy_trees(60, seed=3, max_words=8)
WAIT_SECONDS = 600.0
RECIPE = f"""
[data]
train = "{FIFTY}"
dev = "{FIFTY}"
[model]
word_size = 16
char_embedding_size = 8
char_size = 16
lstm_size = 24
lstm_layers = 1
span_size = 24
label_size = 24
[train]
epochs = 3
batch_words = 200
checkpoint_steps = 1
"""


def save_model(folder: Path, *, dropout: float = 0.1) -> Path:
    """Saves a small parser with random weights; `dropout` changes its settings, not its trees."""
    random_parser(TREES, tag_head=True, dropout=dropout).save(folder)
    return folder


def write_lines(path: Path, count: int, seed: int) -> Path:
    """Writes random sentences."""
    source = random.Random(seed)
    path.write_text("".join(f"{' '.join(source.choice(TREES).words)}\n" for _ in range(count)))
    return path


def parse_command(model: Path, *arguments: object) -> list[str]:
    """The arguments of `treecrf parse` with a model, for lines of words."""
    return ["parse", "--tokens", "--model", str(model), "--device", "cpu", *map(str, arguments)]


class Process:
    """A command in a forked process with a session of its own; forking saves the time of the imports."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  # open until the messages are read
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            status = 255
            try:
                status = self._run(arguments)
            finally:
                os._exit(status)  # without the exit handlers of the parent process

    def _run(self, arguments: Sequence[str]) -> int:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number, target in enumerate((null, null, self._messages.fileno())):
            os.dup2(target, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        try:
            main(arguments)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()  # the interpreter would print it
            status = 1
        sys.stderr.flush()
        return status

    def wait(self, seconds: float) -> int | None:
        """Waits for the end of the process; returns its exit status, or None if it has not ended by then."""
        end = time.monotonic() + seconds
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= end:
                break
            else:
                time.sleep(0.005)
        return self._status

    def kill(self) -> bool:
        """Kills the process and its children; returns whether it was running."""
        is_running = self.wait(0) is None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if is_running:
            os.kill(self.pid, signal.SIGKILL)  # it has no group yet if it has just started
        self.wait(WAIT_SECONDS)
        self._messages.close()
        return is_running

    def finish(self) -> tuple[int, str]:
        """Waits for the process; returns its exit status and its messages."""
        status = self.wait(WAIT_SECONDS)
        self._messages.seek(0)
        messages = self._messages.read().decode()
        self._messages.close()
        assert status is not None, f"no end after {WAIT_SECONDS} s: {messages}"
        return status, messages


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """Runs a command; returns its exit status and its messages."""
    return Process(arguments).finish()


def run_with_kills(
    first: Sequence[str], later: Sequence[str], generator: random.Random, *, kills: int, seconds: float
) -> int:
    """Kills a command at random moments of the `seconds` that it takes, runs it to its end, and counts the kills.

    `first` is the command of the first run, `later` that of the others.
    """
    killed = 0
    for number in range(kills):
        process = Process(first if number == 0 else later)
        process.wait(generator.uniform(0, seconds))
        killed += process.kill()
    status, messages = run(later)
    assert status == 0, (status, messages)
    return killed


def kill_parse(folder: Path, generator: random.Random, *, kills: int) -> int:
    """A run over a file or a folder, killed several times, ends with the bytes of an uninterrupted run."""
    model = save_model(folder / "model")
    suffix, texts = generator.choice(["", ".gz"]), folder / "texts"
    texts.mkdir()
    for name in "abc"[: generator.choice([1, 3])]:
        write_lines(texts / f"{name}.txt", generator.randint(600, 1500), generator.randrange(1000))
    inputs, out, whole = [texts], folder / "out", folder / "whole"
    if suffix:
        inputs, out, whole = [texts / "a.txt"], folder / "out.mrg.gz", folder / "whole.mrg.gz"
    started = time.monotonic()
    assert run(parse_command(model, *inputs, "-o", whole))[0] == 0
    seconds = time.monotonic() - started
    command = parse_command(model, *inputs, "-o", out)
    killed = run_with_kills(command, [*command, "--resume"], generator, kills=kills, seconds=seconds)
    assert visible_files(out) == visible_files(whole)
    return killed


def kill_train(folder: Path, generator: random.Random, *, kills: int) -> int:
    """A training run, killed several times, ends with the weights of an uninterrupted run."""
    (folder / "recipe.toml").write_text(RECIPE)
    command = ["train", str(folder / "recipe.toml"), "--device", "cpu", "-o"]
    started = time.monotonic()
    assert run([*command, str(folder / "whole")])[0] == 0
    seconds = time.monotonic() - started
    resumed = [*command, str(folder / "out"), "--resume"]
    killed = run_with_kills(resumed, resumed, generator, kills=kills, seconds=seconds)
    for name in ("model.safetensors", "config.toml", "vocabulary.json"):
        assert (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
    return killed


def kill_ray(folder: Path, generator: random.Random, *, kills: int) -> int:
    """A run with Ray whose processes are killed several times ends with the bytes of one process."""
    model = save_model(folder / "model")
    path = write_lines(folder / "in.txt", SHARD_STEP + 100, generator.randrange(1000))
    assert run(parse_command(model, path, "-o", folder / "whole.mrg"))[0] == 0
    command = parse_command(model, path, "-o", folder / "out", "--engine", "ray", "--workers", "1")
    command += ["--shard-lines", str(SHARD_STEP), "--resume"]
    started = time.monotonic()
    assert run([*command[:-1], "-o", str(folder / "other")])[0] == 0
    killed = run_with_kills(command, command, generator, kills=kills, seconds=time.monotonic() - started)
    output = b"".join(file.read_bytes() for file in sorted((folder / "out").glob("*.mrg")))
    assert output == (folder / "whole.mrg").read_bytes()
    return killed


def kill_ray_workers(folder: Path, generator: random.Random, *, kills: int) -> int:
    """A run with Ray whose workers are killed at random moments ends with the bytes of one process."""
    model, out = save_model(folder / "model"), folder / "out"
    path = write_lines(folder / "in.txt", 3 * SHARD_STEP + 100, generator.randrange(1000))
    assert run(parse_command(model, path, "-o", folder / "whole.mrg"))[0] == 0
    command = parse_command(model, path, "-o", out, "--engine", "ray", "--workers", "2", "--retries", str(kills))
    process, killed = Process([*command, "--shard-lines", str(SHARD_STEP)]), set[int]()
    while len(killed) < kills and process.wait(generator.uniform(0, 0.5)) is None:
        workers = {int(draft.name.split("-")[-2]) for draft in out.glob(f"{PARTIAL_FOLDER}/*")} - killed
        if workers:
            worker = generator.choice(sorted(workers))
            killed.add(worker)
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
    status, messages = process.finish()
    assert status == 0, messages
    assert b"".join(file.read_bytes() for file in sorted(out.glob("*.mrg"))) == (folder / "whole.mrg").read_bytes()
    return len(killed)


def visible_files(path: Path) -> dict[str, bytes]:
    """The content of a file, or of each file of a folder that is not hidden."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files if not file.name.startswith(".")}


def concurrent_parse(folder: Path, generator: random.Random) -> str:
    """Two runs with the same output: it is that of one of them, and a run that failed names the other."""
    model, is_folder, started = save_model(folder / "model"), generator.random() < 0.4, time.monotonic()
    wholes, commands = [], []
    for number in (1, 2):
        texts = folder / f"texts{number}"
        texts.mkdir()
        for name in "ab" if is_folder else "a":
            write_lines(texts / f"{name}.txt", generator.randint(800, 2000), generator.randrange(1000))
        source = texts if is_folder else texts / "a.txt"
        assert run(parse_command(model, source, "-o", folder / f"whole{number}"))[0] == 0
        wholes.append(visible_files(folder / f"whole{number}"))
        commands.append(parse_command(model, source, "-o", folder / "out"))
    return check_pair(
        commands,
        lambda: visible_files(folder / "out") in wholes,
        generator,
        ("is being written by process",),
        seconds=(time.monotonic() - started) / 2,
    )


def concurrent_train(folder: Path, generator: random.Random) -> str:
    """Two training runs in one folder: one of them trains, the other is refused."""
    (folder / "recipe.toml").write_text(RECIPE)
    command = ["train", str(folder / "recipe.toml"), "--device", "cpu", "-o", str(folder / "out")]
    started = time.monotonic()
    assert run([*command[:-1], str(folder / "whole")])[0] == 0
    seconds = time.monotonic() - started
    weights = (folder / "whole" / "model.safetensors").read_bytes()
    refusals = ("is being written by process", "already holds a training run")
    return check_pair(
        [command, command],
        lambda: (folder / "out" / "model.safetensors").read_bytes() == weights,
        generator,
        refusals,
        seconds=seconds,
    )


def concurrent_ray(folder: Path, generator: random.Random) -> str:
    """Two runs with Ray in one folder: one of them parses, the other is refused."""
    model, path = save_model(folder / "model"), write_lines(folder / "in.txt", 2000, 1)
    assert run(parse_command(model, path, "-o", folder / "whole.mrg"))[0] == 0
    command = parse_command(model, path, "-o", folder / "out", "--engine", "ray", "--workers", "1")
    whole = (folder / "whole.mrg").read_bytes()
    refusals = ("is being written by process", "already has a run")
    return check_pair(
        [command, command],
        lambda: (folder / "out" / "in-000000.mrg").read_bytes() == whole,
        generator,
        refusals,
        seconds=5.0,
    )


def check_pair(
    commands: Sequence[Sequence[str]],
    is_whole: Callable[[], bool],
    generator: random.Random,
    refusals: Sequence[str],
    *,
    seconds: float,
) -> str:
    """Starts a second command within the `seconds` that the first takes, and checks their output and messages."""
    first = Process(commands[0])
    time.sleep(generator.uniform(0, seconds))
    second = Process(commands[1])
    results = [first.finish(), second.finish()]
    assert any(status == 0 for status, _ in results), results
    for status, messages in results:
        assert status == 0 or any(refusal in messages for refusal in refusals), messages
    assert is_whole()
    return f"{commands[0][0]}: statuses {[status for status, _ in results]}"


def changed_parse(folder: Path, generator: random.Random) -> str:
    """A complete or partial output is kept or refused with --resume, by what has changed since it was made."""
    model, path, out = save_model(folder / "model"), folder / "in.txt", folder / "out.mrg"
    write_lines(path, 600, generator.randrange(1000))
    is_partial = generator.random() < 0.5
    if is_partial:
        with path.open("ab") as stream:
            stream.write(b"\xff\n" + b"the cat\n" * 300)
    command = parse_command(model, path, "-o", out)
    status, messages = run(command)
    assert status == (1 if is_partial else 0), messages
    before = {file: file.read_bytes() for file in folder.glob("*out*")}
    change = generator.choice(list(CHANGES))
    options, refusal = CHANGES[change](path, model)
    status, messages = run([*command, "--resume", *options])
    if refusal:
        assert status == 1 and refusal in messages, messages
        assert {file: file.read_bytes() for file in folder.glob("*out*")} == before
    elif is_partial and "--skip-bad" not in options:
        assert status == 1 and "is not UTF-8" in messages and not out.exists(), messages
    else:
        assert status == 0, messages
        assert run([*command, "--skip-bad", "-o", str(folder / "whole.mrg")])[0] == 0
        assert out.read_bytes() == (folder / "whole.mrg").read_bytes()
    return f"{'partial' if is_partial else 'complete'} output, {change}: {'refused' if refusal else 'accepted'}"


Change = tuple[list[str], str]  # more options, and the beginning of the refusal, if there is one
_CHANGED_INPUT = "was started with another version of its input"
_CHANGED_SETTINGS = "was started with other settings"


def _swap_bytes(path: Path, model: Path) -> Change:
    """Changes words, but neither the size nor the modification time."""
    stat, data = path.stat(), path.read_bytes()
    path.write_bytes(data[:1].swapcase() + data[1:])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return [], _CHANGED_INPUT


def _append(path: Path, model: Path) -> Change:
    with path.open("a") as stream:
        stream.write("we sang\n")
    return [], _CHANGED_INPUT


def _truncate(path: Path, model: Path) -> Change:
    os.truncate(path, path.stat().st_size // 2)
    return [], _CHANGED_INPUT


def _touch(path: Path, model: Path) -> Change:
    os.utime(path)
    return [], ""


def _change_model(path: Path, model: Path) -> Change:
    save_model(model, dropout=0.2)
    return [], f"{_CHANGED_SETTINGS}: model_sha256"


def _change_decoding(path: Path, model: Path) -> Change:
    return ["--no-mbr"], f"{_CHANGED_SETTINGS}: no_mbr"


def _change_format(path: Path, model: Path) -> Change:
    return ["--format", "json"], f"{_CHANGED_SETTINGS}: format"


def _skip_bad(path: Path, model: Path) -> Change:
    return ["--skip-bad"], ""


def _move_model(path: Path, model: Path) -> Change:
    shutil.move(model, model.with_name("moved"))
    return ["--model", str(model.with_name("moved"))], f"{_CHANGED_SETTINGS}: model was"


CHANGES: dict[str, Callable[[Path, Path], Change]] = {
    "other words": _swap_bytes,
    "more lines": _append,
    "fewer lines": _truncate,
    "the same bytes written again": _touch,
    "another model": _change_model,
    "a moved model": _move_model,
    "--no-mbr added": _change_decoding,
    "--format json added": _change_format,
    "--skip-bad added": _skip_bad,
}


def changed_train(folder: Path, generator: random.Random) -> str:
    """A training run is not continued with other trees."""
    shutil.copy(FIFTY, folder / "trees.mrg")
    (folder / "recipe.toml").write_text(RECIPE.replace(FIFTY, str(folder / "trees.mrg")))
    command = ["train", str(folder / "recipe.toml"), "--device", "cpu", "-o", str(folder / "out")]
    assert run([*command, "train.epochs=1"])[0] == 0
    before = (folder / "out" / "state.safetensors").read_bytes()
    lines = (folder / "trees.mrg").read_text().splitlines(keepends=True)
    generator.shuffle(lines)
    (folder / "trees.mrg").write_text("".join(lines))
    status, messages = run([*command, "--resume"])
    assert status == 1 and "trees.mrg changed after the run" in messages, messages
    assert (folder / "out" / "state.safetensors").read_bytes() == before
    return "train, other order of trees: refused"


def changed_ray(folder: Path, generator: random.Random) -> str:
    """A run with Ray is not continued with another input."""
    model, path = save_model(folder / "model"), write_lines(folder / "in.txt", 600, generator.randrange(1000))
    command = parse_command(model, path, "-o", folder / "out", "--engine", "ray", "--workers", "1")
    assert run(command)[0] == 0
    before = visible_files(folder / "out")
    change = generator.choice(["other words", "more lines", "fewer lines"])
    CHANGES[change](path, model)
    status, messages = run([*command, "--resume"])
    assert status == 1 and f"{path} has changed" in messages, messages
    assert visible_files(folder / "out") == before
    return f"ray, {change}: refused"
