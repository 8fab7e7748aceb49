"""Files on the disk: atomic writes, locks of outputs, digests, and careful reading.

Here: what any wing needs to write a file that is whole or absent, and to read one that a stranger made. Not here: the
formats of files, which belong to the wings that own them; model folders with their manifest are in `parser.models`.
"""

from treecrf.files.locks import LockedError, lock_file, lock_folder
from treecrf.files.reading import (
    MAX_FILE_BYTES,
    DamagedFileError,
    file_digest,
    parse_json,
    read_regular_file,
    real_path,
)
from treecrf.files.writing import open_atomic, rename_file, sync_stream, write_file

__all__ = [
    "MAX_FILE_BYTES",
    "DamagedFileError",
    "LockedError",
    "file_digest",
    "lock_file",
    "lock_folder",
    "open_atomic",
    "parse_json",
    "read_regular_file",
    "real_path",
    "rename_file",
    "sync_stream",
    "write_file",
]
