"""`treecrf completion`: a script that completes commands and options in a shell."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(args: argparse.Namespace) -> None:
    try:
        import shtab
    except ImportError as error:
        raise ImportError("completion needs shtab: pip install 'treecrf[completion]'") from error
    from treecrf.cli import COMMANDS, build_parsers

    print(shtab.complete(build_parsers(list(COMMANDS))[0], shell=args.shell))
