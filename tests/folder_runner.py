"""Runs `treecrf` in forked processes with limits on memory and time, for folders that may be hostile.

    python tests/folder_runner.py without-torch|with-torch

Each line of standard input has the arguments of a command as a JSON list. Each line of standard output is a JSON object
with the exit status, the two outputs, and the largest memory of the process. Forking saves the time of the imports.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, NamedTuple

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 5
_WALL_SECONDS = 60.0  # of a process that waits for something


class Result(NamedTuple):
    """The end of a command; a signal has a negative status."""

    status: int
    output: str
    messages: str
    memory_bytes: int


class FolderRunner:
    """The process that runs commands; `precision` are options of `treecrf parse`, with which it uses PyTorch or not."""

    def __init__(self, *, with_torch: bool) -> None:
        self.precision = ["--precision", "float32"] if with_torch else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, __file__, "with-torch" if with_torch else "without-torch"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, encoding="utf-8"
        )

    def __call__(self, *arguments: object) -> Result:
        """Runs one command."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([*map(str, arguments)]) + "\n")
        self._process.stdin.flush()
        return Result(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _run(arguments: list[str]) -> Result:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        pid = os.fork()
        if pid == 0:
            status = 255
            try:
                status = _run_command(arguments, output, messages)
            finally:
                os._exit(status)
        timer = threading.Timer(_WALL_SECONDS, os.kill, (pid, 9))
        timer.start()
        _, status, usage = os.wait4(pid, 0)
        timer.cancel()
        texts = []
        for stream in (output, messages):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "backslashreplace"))
    return Result(os.waitstatus_to_exitcode(status), texts[0], texts[1], usage.ru_maxrss * 1024)


def _run_command(arguments: list[str], output: IO[bytes], messages: IO[bytes]) -> int:
    """Runs a command in this process; its exit status."""
    from treecrf.cli import main

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output.fileno(), 1)
    os.dup2(messages.fileno(), 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    virtual_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (virtual_bytes + 2 * MEMORY_BYTES,) * 2)
    try:
        main(arguments)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # what the interpreter does at the end of a program
        import traceback

        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _import_modules(*, with_torch: bool) -> None:
    if not with_torch:
        sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails
    else:
        import transformers.models.auto.modeling_auto  # noqa: F401

        import treecrf.parser.network
    import tokenizers  # noqa: F401

    import treecrf.corpus.parse_files
    import treecrf.parser  # noqa: F401


if __name__ == "__main__":
    _import_modules(with_torch=sys.argv[1] == "with-torch")
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)
