"""Reads files that somebody else may have made.

Reading never executes a file's content, reads only regular files, and takes memory in proportion to the bytes that they
have on the disk.
"""

import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 26
_READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
_FILE_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


class DamagedFileError(ValueError):
    """A file differs from what was saved: it was cut short, changed or replaced."""


def real_path(path: str | Path) -> Path:
    """The absolute path without links; only a link to itself stays."""
    return Path(os.path.realpath(path))  # before Python 3.13, Path.resolve has a RuntimeError for a link to itself


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def read_regular_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Reads a file of a folder that somebody else may have made.

    A link could point to any file of this machine, a pipe could block, and a device or a file of holes never ends, so
    all of them are errors. A file with more than `max_bytes` is one as well.
    """
    kind = stat.S_IFMT(path.lstat().st_mode)
    if kind != stat.S_IFREG:
        raise DamagedFileError(
            f"{path} is {_FILE_KINDS.get(kind, 'a device')}; expected a regular file"
            + (" (cp -rL copies a folder with the files that its links point to)" if kind == stat.S_IFLNK else "")
        )
    with os.fdopen(os.open(path, _READ_FLAGS), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFileError(f"{path} was replaced while it was read; expected a regular file")
        if status.st_size > max_bytes:
            raise DamagedFileError(f"{path} has {status.st_size:,} bytes; expected at most {max_bytes:,}")
        if _is_mostly_holes(stream.fileno(), status.st_size):
            raise DamagedFileError(f"{path} was not written completely: most of its bytes are holes; copy it again")
        data = stream.read(status.st_size + 1)
    if len(data) != status.st_size:
        raise DamagedFileError(f"{path} has changed while it was read; copy the folder again")
    return data


def _is_mostly_holes(descriptor: int, size: int) -> bool:
    """Whether less than half of a file is stored on the disk."""
    if size < _CHUNK_BYTES or not hasattr(os, "SEEK_HOLE"):
        return False
    start = stored = 0
    try:
        while stored < size // 2:
            start = os.lseek(descriptor, start, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
            start, stored = end, stored + end - start
    except OSError as error:  # ENXIO: there are no data after `start`; others: the file system does not tell
        return error.errno == errno.ENXIO
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return False


def parse_json(data: bytes, path: Path) -> Any:
    """The value of a JSON file, without NaN and infinity; any problem is one error with the file's name."""
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise DamagedFileError(f"{path} is nested too deeply; expected the JSON that was saved") from None
    except ValueError as error:
        raise DamagedFileError(f"{path} is not JSON: {error!s:.200}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it contains {name}")
