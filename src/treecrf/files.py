"""Files on the disk: atomic writes, locks of outputs, digests, and careful reading.

A crash at any moment leaves the last complete version of a file readable. Reading never executes a file's content,
reads only regular files, and takes memory in proportion to the bytes that they have on the disk. The formats of files
belong to the wings that own them; model folders with their manifest are in `parser.models`.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import socket
import stat
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from treecrf import TreecrfError

_GZIP_MAGIC = b"\x1f\x8b"
DECOMPRESSION_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)

Source = str | os.PathLike[str] | IO[bytes] | IO[str]  # a path, a stream, or "-" for standard input


def write_file(path: Path, data: bytes) -> None:
    """Writes a file atomically: a reader sees the old content or the new content, never a part of it."""
    try:
        with open_atomic(path) as stream:
            stream.write(data)
    except (LockedError, FileExistsError):
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


_LOCK_OF_FOLDER = ".treecrf.lock"
IS_WINDOWS = sys.platform == "win32"
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP)  # errors of file systems that cannot lock files


class LockedError(TreecrfError, OSError):
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


def refuse_link(path: Path) -> None:
    """Raises an error if a hidden file of an output is a link: in a shared folder it could lead to any file."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
            raise FileExistsError(f"{path} is a link, and would be followed; remove it, or choose another output")


def open_locked(path: Path, output: Path) -> IO[bytes]:
    """Opens a file for writing, without truncation, and locks it; a lock of another process is an error."""
    refuse_link(path)
    while True:
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666), "r+b")
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


_CHUNK_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 26
_READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
_FILE_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


class DamagedFileError(TreecrfError, ValueError):
    """A file differs from what was saved: it was cut short, changed or replaced."""


def real_path(path: str | Path) -> Path:
    """The absolute path without links; only a link to itself stays."""
    return Path(os.path.realpath(path))  # before Python 3.13, Path.resolve has a RuntimeError for a link to itself


def isolated_python(program: str) -> list[str]:
    """The command that runs a program of this package without code from the current folder or Python's variables."""
    packages = str(Path(__file__).parents[1])
    folders = [folder for folder in sys.path if not Path(folder).exists() or not Path(folder).samefile(os.curdir)]
    folders = folders if packages in folders else [packages, *folders]
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {folders!r}; {program}"]


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
        return json.loads(data, parse_constant=refuse_constant)
    except RecursionError:
        raise DamagedFileError(f"{path} is nested too deeply; expected the JSON that was saved") from None
    except ValueError as error:
        raise DamagedFileError(f"{path} is not JSON: {error!s:.200}") from None


def refuse_constant(name: str) -> None:
    """Raises an error for NaN and infinity, which Python's reader of JSON takes."""
    raise ValueError(f"{name} is not a value of JSON")


def source_name(source: Source) -> str:
    """The name of a source in messages."""
    if source == "-":
        return "<stdin>"
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def open_stream(source: Source) -> Iterator[Any]:
    """Opens a source as a stream of text or decompressed bytes; a stream of the caller stays open."""
    if isinstance(source, (str, os.PathLike)) and source != "-":
        with Path(source).open("rb") as file:
            yield _decompress(file)
        return
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if source == "-" else source
    yield stream if isinstance(stream.read(0), str) else _decompress(stream)


def _decompress(stream: Any) -> Any:
    if hasattr(stream, "peek"):
        magic = stream.peek(2)[:2]
    else:
        position = stream.tell()
        magic = stream.read(2)
        stream.seek(position)
    if magic != _GZIP_MAGIC:
        return stream
    decompressed: Any = gzip.GzipFile(fileobj=stream)
    return io.BufferedReader(decompressed)  # GzipFile itself is slow line by line
