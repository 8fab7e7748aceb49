"""Atomic file writes: a crash at any moment leaves the last complete version of a file readable."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from treecrf.files.locks import IS_WINDOWS, LockedError, open_locked


def write_file(path: Path, data: bytes) -> None:
    """Writes a file atomically: a reader sees the old content or the new content, never a part of it."""
    try:
        with open_atomic(path) as stream:
            stream.write(data)
    except LockedError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            error.errno, f"{reason}, writing {len(data):,} bytes; the previous content is unchanged", str(path)
        ) from error


@contextmanager
def open_atomic(path: Path) -> Iterator[IO[bytes]]:
    """Opens a stream whose content replaces the file `path` at the end of the block, unless there is an exception.

    The content goes to a hidden draft file in the same folder, which is locked against other processes that write the
    same file. A pipe or a device cannot be replaced, so it is written directly.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as stream:
            yield stream
        return
    draft = path.with_name(f".{path.name}.tmp")
    with open_locked(draft, path) as stream:
        try:
            stream.truncate(0)
            yield stream
            sync_stream(stream)
            if not IS_WINDOWS:
                rename_file(draft, path)  # while it is locked: another process must not write into it
        except BaseException:
            if not IS_WINDOWS:
                draft.unlink(missing_ok=True)
            raise
    if IS_WINDOWS:
        rename_file(draft, path)  # only a closed file can be renamed


def sync_stream(stream: IO[bytes]) -> None:
    """Writes a stream's buffers to the disk."""
    stream.flush()
    os.fsync(stream.fileno())


def rename_file(draft: Path, path: Path) -> None:
    """Renames a synced file, replaces `path` if it exists, and writes the change to the disk."""
    draft.replace(path)
    if os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
