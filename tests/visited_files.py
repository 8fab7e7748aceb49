"""Counts the source files whose functions run: `echo "She sang." | python tests/visited_files.py parse`.

The arguments are a `treecrf` command. Functions that run during an import do not count.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

SOURCE = f"{Path(__file__).parent.parent / 'src' / 'treecrf'}{os.sep}"


def visited_files(function: Callable[[], object]) -> set[str]:
    """The source files whose functions run while a function runs, in its thread and in new threads."""
    files = set()

    def record_call(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(SOURCE) and not _is_importing(frame):
            files.add(path.removeprefix(SOURCE))

    threading.setprofile(record_call)
    sys.setprofile(record_call)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(SOURCE)


def run_command() -> None:
    from treecrf.cli import main

    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    names = sorted(visited_files(run_command))
    print(*names, f"{len(names)} files", sep="\n", file=sys.stderr)
