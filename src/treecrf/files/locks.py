"""Locks of output files and folders against other processes."""

import errno
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO

_LOCK_OF_FOLDER = ".treecrf.lock"
IS_WINDOWS = sys.platform == "win32"
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP)  # errors of file systems that cannot lock files


class LockedError(OSError):
    """Another process writes the same output."""


def lock_file(path: Path) -> AbstractContextManager[None]:
    """Locks an output file against other processes; an error names the process that has the lock."""
    return _hold_lock(path.with_name(f".{path.name}.lock"), path)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Locks an output folder like `lock_file`. Creates the folder, and removes it again if it stays empty."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _hold_lock(folder / _LOCK_OF_FOLDER, folder):
            yield
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


@contextmanager
def _hold_lock(lock: Path, output: Path) -> Iterator[None]:
    """Holds the lock of an output: a locked file with the name of this process. A crash releases the lock."""
    with open_locked(lock, output) as stream:
        stream.truncate(0)
        started = time.strftime("%Y-%m-%d %H:%M:%S")
        stream.write(f"process {os.getpid()} on {socket.gethostname()} (since {started})".encode())
        stream.flush()
        try:
            yield
        finally:
            with suppress(PermissionError):  # Windows does not remove an open file
                lock.unlink(missing_ok=True)


def open_locked(path: Path, output: Path) -> IO[bytes]:
    """Opens a file for writing, without truncation, and locks it; a lock of another process is an error."""
    while True:
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            _lock_stream(stream)
        except BlockingIOError:
            with stream:
                holder = stream.read().decode(errors="replace") if path.suffix == ".lock" else ""
            raise LockedError(
                f"{output} is being written by {holder or 'another process'}; wait until it ends, "
                "or choose another output"
            ) from None
        if IS_WINDOWS or _is_open_file(path, stream):
            return stream
        stream.close()  # the process that had the lock has removed or renamed the file in the meantime


def _is_open_file(path: Path, stream: IO[bytes]) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(stream.fileno()))
    return False


def _lock_stream(stream: IO[bytes]) -> None:
    """Locks an open file until it is closed; raises `BlockingIOError` if another process has locked it."""
    if sys.platform == "win32":
        return  # Windows refuses to rename or remove a file that another process has open
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        raise
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
