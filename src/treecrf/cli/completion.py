"""`treecrf completion`: a script that completes commands and options in a shell."""

import argparse

from treecrf import import_extra


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(args: argparse.Namespace) -> None:
    from treecrf.cli import COMMANDS, build_parsers

    shtab = import_extra("shtab", "completion needs shtab", "completion")
    print(shtab.complete(build_parsers(list(COMMANDS))[0], shell=args.shell))
