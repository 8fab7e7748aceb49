"""`treecrf samples`: copies the sample files of the documentation into a folder."""

import argparse
from pathlib import Path

from treecrf.files import write_file
from treecrf.trees.treebank.samples import FOLDER, names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR", help="(default: this folder)")


def run(args: argparse.Namespace) -> None:
    for name in names():
        target, content = args.folder / name, (FOLDER / name).read_bytes()
        if target.exists() and target.read_bytes() != content:
            raise FileExistsError(f"{target} exists and has other content; choose another folder")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        write_file(args.folder / name, (FOLDER / name).read_bytes())
        print(args.folder / name)
