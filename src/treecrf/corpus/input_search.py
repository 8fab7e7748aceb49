"""Finds the input files that arguments name: files, folders, patterns and standard input.

A path that is named itself is never skipped. A path that is skipped inside a folder is named in a warning.
"""

import glob
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from treecrf.corpus.inputs import STDIN, InputFile
from treecrf.files import real_path

_SHOWN_PATHS = 5


def find_inputs(
    arguments: Sequence[str], warn: Callable[[str], object], *, output: Path | None = None
) -> list[InputFile]:
    """The files that arguments name. In a folder or a pattern, files inside the folder `output` are skipped."""
    inputs: list[InputFile] = []
    for argument in arguments:
        files = list(_expand(argument, warn, output))
        if not files and Path(argument).is_dir():
            raise FileNotFoundError(f"nothing to read in the folder {argument}: it has no visible files")
        if not files:
            raise FileNotFoundError(
                f"nothing to read at {argument}: no file, folder or pattern has that name{_text_hint(argument)}"
            )
        inputs += files
    return inputs


def _text_hint(argument: str) -> str:
    is_text = " " in argument.strip() or not argument.isascii()
    return f"; to parse a text, write: echo {shlex.quote(argument)} | treecrf parse" if is_text else ""


def _expand(argument: str, warn: Callable[[str], object], output: Path | None) -> Iterator[InputFile]:
    path = Path(argument)
    if argument == STDIN:
        yield InputFile(argument, Path("stdin"))
    elif path.is_dir():
        if output is not None and output.is_dir() and output.samefile(path):
            raise ValueError(f"{argument} is both the input and the output folder; choose another -o")
        yield from _FolderSearch(path, warn, output).find([path])
    elif path.exists():
        yield InputFile(argument, Path(path.name))
    elif path.is_symlink():
        raise FileNotFoundError(f"{argument} is a broken link: it points to {path.readlink()}, which does not exist")
    elif glob.has_magic(argument):
        depth = next(depth for depth, part in enumerate(path.parts) if glob.has_magic(part))
        base = Path(*path.parts[:depth])
        yield from _FolderSearch(base, warn, output).find(sorted(base.glob(str(Path(*path.parts[depth:])))))


class _FolderSearch:
    """Finds the visible files at some paths below a folder, and warns about the others."""

    def __init__(self, base: Path, warn: Callable[[str], object], output: Path | None) -> None:
        self._base = base
        self._warn = warn
        self._output: Path | None = None  # a folder inside `base`, with the outputs of earlier runs
        if output is not None and output.is_dir() and real_path(base) in real_path(output).parents:
            self._output = real_path(output)
        self._hidden: list[str] = []

    def find(self, paths: Sequence[Path]) -> Iterator[InputFile]:
        """The files at these paths and in these folders, each once."""
        files = {str(file): file for path in paths for file in self._files(path)}
        for name, file in files.items():
            yield InputFile(name, file.relative_to(self._base))
        if self._hidden:
            more = len(self._hidden) - _SHOWN_PATHS
            shown = ", ".join(self._hidden[:_SHOWN_PATHS]) + (f" and {more:,} more" if more > 0 else "")
            self._warn(f"skipped hidden files and folders: {shown}")

    def _files(self, path: Path) -> Iterator[Path]:
        if any(part.startswith(".") for part in path.relative_to(self._base).parts):
            self._hidden.append(str(path))
        elif self._output is not None and self._output in (resolved := real_path(path), *resolved.parents):
            if self._output == resolved:
                self._warn(f"skipped {path}: it is the output folder")
        elif path.is_dir() and path.is_symlink() and path != self._base:
            self._warn(f"skipped {path}: it is a link to a folder; name it as an input to parse its files")
        elif path.is_dir():
            for child in _children(path):
                yield from self._files(child)
        elif path.is_file():
            yield path
        elif path.is_symlink():
            self._warn(f"skipped {path}: it is a broken link")
        else:
            self._warn(f"skipped {path}: it is not a file; name it as an input to parse it")


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except PermissionError:
        raise PermissionError(
            f"the folder {folder} cannot be read; change its permissions, or name its files"
        ) from None
